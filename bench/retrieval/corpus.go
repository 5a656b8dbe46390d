// Package retrieval measures how the ticket desk finds policies among many.
package retrieval

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
)

// Corpus makes policies of invented words, common ones and rare ones (Zipf), in
// Chinese and in English in turn. The same one is made every time.
type Corpus struct {
	Tenants, Each int // companies, and policies of each of them
	Bytes         int // of a body, about

	chinese, english, function []string
}

// NewCorpus returns a corpus with its words.
func NewCorpus(tenants, each, size int) *Corpus {
	c := &Corpus{Tenants: tenants, Each: each, Bytes: size, function: strings.Fields("the of to and in a is for that by may you must not be on with are or it")}
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		c.chinese = append(c.chinese, string([]rune{rune(0x4e00 + r.IntN(800)), rune(0x4e00 + r.IntN(800))}))
	}
	syllables := strings.Fields("ba ce di fo gu ha ke li mo nu pa re si to vu xa")
	for range 4000 {
		word := ""
		for range 2 + r.IntN(3) {
			word += syllables[r.IntN(len(syllables))]
		}
		c.english = append(c.english, word)
	}
	return c
}

// Name is that of a tenant.
func Name(tenant int) string { return fmt.Sprintf("company-%02d", tenant) }

// Person is one of ten of a tenant.
func Person(tenant, n int) desk.Identity {
	return desk.Identity{Tenant: Name(tenant), User: fmt.Sprintf("user-%d", n%10)}
}

// Policies are those of one tenant. Each fifth has two viewers.
func (c *Corpus) Policies(tenant int) []desk.Policy {
	w := c.writer(2, tenant)
	all := make([]desk.Policy, c.Each)
	for i := range all {
		write := w.english
		if i%2 == 0 {
			write = w.chinese
		}
		all[i] = desk.Policy{ID: fmt.Sprintf("P%d", 1000+i), Version: "1", Title: write(20), Body: write(c.Bytes)}
		if i%5 == 0 {
			all[i].Viewers = []string{Person(tenant, w.IntN(5)).User, Person(tenant, 5+w.IntN(5)).User}
		}
	}
	return all
}

// writer writes texts of a corpus, those of a seed the same every time.
type writer struct {
	*rand.Rand
	*Corpus
	characters, words *rand.Zipf // places in the lists of words, the first ones most often
}

func (c *Corpus) writer(kind, number int) writer {
	r := rand.New(rand.NewPCG(uint64(kind), uint64(number)))
	return writer{r, c, rand.NewZipf(r, 1.2, 20, uint64(len(c.chinese)-1)), rand.NewZipf(r, 1.2, 20, uint64(len(c.english)-1))}
}

func (w writer) chinese(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(w.Corpus.chinese[w.characters.Uint64()])
		switch w.IntN(10) {
		case 0:
			b.WriteString("的")
		case 1:
			b.WriteString("，")
		}
	}
	return b.String()
}

func (w writer) english(size int) string {
	var b strings.Builder
	for b.Len() < size {
		if w.IntN(5) < 2 {
			b.WriteString(w.function[w.IntN(len(w.function))])
		} else {
			b.WriteString(w.Corpus.english[w.words.Uint64()])
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// Query is one of five kinds in turn: a word, a question in Chinese, one in English,
// an id, and a single character.
func (c *Corpus) Query(n int) string {
	w := c.writer(3, n)
	word := c.chinese[w.characters.Uint64()]
	switch n % 5 {
	case 0:
		return word
	case 1:
		return w.chinese(36) + "？"
	case 2:
		return "how " + w.english(45)
	case 3:
		return fmt.Sprintf("P%d", 1000+w.IntN(c.Each))
	}
	return string([]rune(word)[:1])
}
