package ranking

import (
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MaxWord is the most characters of a word that count: longer ones are cut.
const MaxWord = 64

// Words returns the words of a text in the order in which they stand, in one
// spelling (NFKC, case folded). Letters, digits and marks next to each other are a word.
// In scripts without spaces (Han, Kana, Hangul) each character is a word, and so
// is each pair of neighbours, which is how a term such as 报销 is told from two
// characters that stand apart.
func Words(text string) (words []string) {
	each(text, func(word string) { words = append(words, word) }, func(run []rune) {
		for i, r := range run {
			words = append(words, string(r))
			if i+1 < len(run) {
				words = append(words, string(run[i:i+2]))
			}
		}
	})
	return words
}

// QueryWords returns what to look for, each once: words as in Words, but of a
// run of characters without spaces only the pairs, and the character of a run of
// one. A text without words gives none. Nothing in a query is an operator.
func QueryWords(query string) (words []string) {
	seen := map[string]bool{}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	each(query, add, func(run []rune) {
		if len(run) == 1 {
			add(string(run))
		}
		for i := range len(run) - 1 {
			add(string(run[i : i+2]))
		}
	})
	return words
}

// each calls word for each word of a script with spaces, and run for each run
// of characters of one without.
func each(text string, word func(string), run func([]rune)) {
	text = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text)))
	var letters []rune
	end := func() {
		switch {
		case len(letters) == 0:
		case spaceless(letters[0]):
			run(letters)
		default:
			word(string(letters[:min(len(letters), MaxWord)]))
		}
		letters = letters[:0]
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector): // not seen
		case unicode.Is(unicode.M, r):
			if len(letters) > 0 {
				letters = append(letters, r)
			}
		case unicode.In(r, unicode.L, unicode.N):
			if len(letters) > 0 && spaceless(letters[0]) != spaceless(r) {
				end()
			}
			letters = append(letters, r)
		default:
			end()
		}
	}
	end()
}

// spaceless tells whether r belongs to a script that is written without spaces
// between words. The mark ー, which lengthens a vowel of Kana, has no script.
func spaceless(r rune) bool {
	return r >= 0x1100 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

// The weights of a word by where it stands.
const (
	idWeight    = 8
	titleWeight = 3
	maxWeight   = 99 // more of the same word says nothing new
)

// Document is what is known of one: how much it has to do with each of its
// words, and how many it has.
type Document struct {
	Weights map[string]int // from 1 to maxWeight
	Length  int
}

// NewDocument reads a document. A word in its id or title counts as several in
// the body.
func NewDocument(id, title, body string) Document {
	d := Document{Weights: map[string]int{}}
	for _, part := range []struct {
		text   string
		weight int
	}{{id, idWeight}, {title, titleWeight}, {body, 1}} {
		words := Words(part.text)
		d.Length += len(words)
		for _, w := range words {
			d.Weights[w] = min(d.Weights[w]+part.weight, maxWeight)
		}
	}
	return d
}
