package sqlite_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
)

// oracle finds policies as the documents say, by looking at every text each time. It
// shares no code with the search.
type oracle struct {
	now      time.Time
	policies []owned // in the order in which they were imported
}

type owned struct {
	desk.Policy
	tenant string
}

type hit struct {
	number int
	score  float64
}

// visible are the positions of what a person may see.
func (o *oracle) visible(who desk.Identity) (numbers []int) {
	for i, p := range o.policies {
		if p.tenant != who.Tenant || p.ValidFrom.After(o.now) || len(p.Viewers) > 0 && !slices.Contains(p.Viewers, who.User) {
			continue
		}
		superseded := false
		for j, q := range o.policies {
			newer := q.ValidFrom.After(p.ValidFrom) || q.ValidFrom.Equal(p.ValidFrom) && j > i
			superseded = superseded || q.tenant == p.tenant && q.ID == p.ID && newer && !q.ValidFrom.After(o.now)
		}
		if !superseded {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// count is how often a word of a query stands in a text, and length how many
// words the text has.
func count(text, word string) (n, length int) {
	for _, run := range regexp.MustCompile(`[a-z0-9]+|[报销差旅]+`).FindAllString(strings.ToLower(text), -1) {
		if run[0] < 0x80 {
			length++
			if run == word {
				n++
			}
			continue
		}
		characters := len([]rune(run))
		length += 2*characters - 1
		for i := range run {
			if strings.HasPrefix(run[i:], word) {
				n++
			}
		}
	}
	return n, length
}

func wordsOf(query string) (words []string) {
	for _, run := range regexp.MustCompile(`[a-z0-9]+|[报销差旅]+`).FindAllString(strings.ToLower(query), -1) {
		r := []rune(run)
		if r[0] < 0x80 || len(r) == 1 {
			words = append(words, run)
			continue
		}
		for i := range len(r) - 1 {
			words = append(words, string(r[i:i+2]))
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(words, func(w string) bool { was := seen[w]; seen[w] = true; return was })
}

func (o *oracle) byWords(visible []int, query string) (hits []hit) {
	scores := make([]float64, len(visible))
	mean := 0.0
	for _, n := range visible {
		mean += float64(o.length(n)) / float64(len(visible))
	}
	for _, word := range wordsOf(query) {
		having := 0.0
		for _, n := range visible {
			if o.often(n, word) > 0 {
				having++
			}
		}
		idf := math.Log(1 + (float64(len(visible))-having+0.5)/(having+0.5))
		for i, n := range visible {
			f := o.often(n, word)
			scores[i] += idf * f * 2.2 / (f + 1.2*(0.25+0.75*float64(o.length(n))/max(mean, 1)))
		}
	}
	for i, n := range visible {
		hits = append(hits, hit{n, scores[i]})
	}
	return best(hits)
}

func (o *oracle) length(n int) int {
	p := o.policies[n]
	_, id := count(p.ID, "")
	_, title := count(p.Title, "")
	_, body := count(p.Body, "")
	return id + title + body
}

func (o *oracle) often(n int, word string) float64 {
	p := o.policies[n]
	id, _ := count(p.ID, word)
	title, _ := count(p.Title, word)
	body, _ := count(p.Body, word)
	return float64(min(8*id+3*title+body, 99))
}

func (o *oracle) byVector(ctx context.Context, visible []int, query string) ([]hit, error) {
	texts := []string{query}
	for _, n := range visible {
		p := o.policies[n]
		texts = append(texts, p.ID+" "+p.Title+"\n"+p.Body)
	}
	vectors, err := hashed.Embedder{}.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	var hits []hit
	for i, n := range visible {
		a, b := vectors[0], vectors[i+1]
		// What single precision cannot tell from nothing is nothing.
		if lengths := math.Sqrt(dot(a, a) * dot(b, b)); lengths > 0 && dot(a, b) > 1e-6*lengths {
			hits = append(hits, hit{n, dot(a, b) / lengths})
		}
	}
	return best(hits), nil
}

func best(hits []hit) []hit {
	hits = slices.DeleteFunc(hits, func(h hit) bool { return h.score <= 0 })
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number)) })
	return hits
}

func fuse(lists ...[]hit) (hits []hit) {
	scores := map[int]float64{}
	for _, list := range lists {
		for i, h := range list[:min(50, len(list))] {
			scores[h.number] += 1 / float64(61+i)
		}
	}
	for n, s := range scores {
		hits = append(hits, hit{n, s})
	}
	return best(hits)
}

func drawText(t *rapid.T, label string, most int) string {
	piece := rapid.SampledFrom([]string{"报", "销", "差", "旅", "报销", "差旅报销", "taxi", "TAXI", "tram", "p1", "7", " ", " ", "%", "-", "，", "_", `"`})
	text := strings.Join(rapid.SliceOfN(piece, 1, most).Draw(t, label), "")
	if strings.TrimSpace(text) == "" {
		return "x"
	}
	return strings.TrimSpace(text)
}

// draw makes policies of two tenants that nobody else has.
func (o *oracle) draw(t *rapid.T, tenants []string) (whose []string, policies []desk.Policy) {
	for i := range rapid.IntRange(1, 12).Draw(t, "policies") {
		p := owned{tenant: rapid.SampledFrom(tenants).Draw(t, "tenant"), Policy: desk.Policy{
			ID: rapid.SampledFrom([]string{"P1", "P2", "报销-3", "taxi-4", "P5", "P6"}).Draw(t, "id"), Version: fmt.Sprint(i),
			Title: drawText(t, "title", 3), Body: drawText(t, "body", 20),
			ValidFrom: o.now.Add(time.Duration(rapid.IntRange(-2, 1).Draw(t, "from")) * time.Hour),
			Viewers:   rapid.SampledFrom([][]string{nil, nil, {"alice"}, {"bob"}, {"alice", "bob"}}).Draw(t, "viewers"),
		}}
		p.Everybody = p.Viewers == nil
		o.policies = append(o.policies, p)
		whose, policies = append(whose, p.tenant), append(policies, p.Policy)
	}
	return whose, policies
}

// Rows 44 and 103, report A45: whatever is kept and asked, each leg returns what a search
// through all texts returns that the person may see, in that order and with
// those scores; so no row of another tenant, viewer or version.
func TestSearchIsBruteForce(t *testing.T) {
	f := open(t).with(t, hashed.Embedder{})
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		tenants := []string{fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)}
		o := &oracle{now: f.Now()}
		whose, policies := o.draw(rt, tenants)
		if _, err := f.PutPolicies(t.Context(), whose, policies); err != nil {
			rt.Fatal(err)
		}
		query := drawText(rt, "query", 5)
		for _, tenant := range tenants {
			for _, user := range []string{"alice", "bob"} {
				o.compare(rt, f, desk.Identity{Tenant: tenant, User: user}, query)
			}
		}
	})
}

func (o *oracle) compare(t *rapid.T, f *fixture, who desk.Identity, query string) {
	var byWords, byVector []hit
	if len(wordsOf(query)) > 0 {
		visible := o.visible(who)
		byWords = o.byWords(visible, query)
		var err error
		if byVector, err = o.byVector(context.Background(), visible, query); err != nil {
			t.Fatal(err)
		}
	}
	// Two scores that differ by rounding alone may change places; fused are
	// those that were found.
	byWords = o.same(t, f, who, desk.Keyword, query, byWords)
	byVector = o.same(t, f, who, desk.Vector, query, byVector)
	o.same(t, f, who, desk.Hybrid, query, fuse(byWords, byVector))
}

// same compares what one leg finds with what it should, and returns it.
func (o *oracle) same(t *rapid.T, f *fixture, who desk.Identity, leg desk.Leg, query string, want []hit) (found []hit) {
	got, err := f.RankPolicies(context.Background(), who, leg, query, desk.MaxRanked)
	if err != nil {
		t.Fatal(err)
	}
	wrong := len(got) != len(want)
	for i := 0; i < len(got) && !wrong; i++ {
		place := slices.IndexFunc(want, func(h hit) bool {
			p := o.policies[h.number]
			return p.tenant == who.Tenant && p.ID == got[i].ID && p.Version == got[i].Version && math.Abs(h.score-got[i].Score) < 1e-6
		})
		wrong = place < 0 || math.Abs(want[i].score-got[i].Score) >= 1e-6
		if !wrong {
			found = append(found, hit{want[place].number, got[i].Score})
		}
	}
	if wrong {
		t.Fatalf("%s, %s, %q: got %v, want %v of %v", who, leg, query, got, want, o.policies)
	}
	return found
}
