package ranking

import (
	"cmp"
	"math"
	"slices"
)

// The constants of BM25: how soon more of the same word stops to count, and how
// much a long document has to have of it.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// Posting says that a document has a word.
type Posting struct {
	Document int64
	Weight   int
}

// Scored is a document with what it scored.
type Scored struct {
	Document int64
	Score    float64
}

// Collection is what a person may see: the lengths of documents by number.
type Collection map[int64]int

// BM25 returns the documents of the collection that have any of the words, best
// first; of equals the one with the lower number. Each element of words has the
// postings of one word, a document at most once in each; those of documents
// outside of the collection are passed over, also when it is counted how rare
// a word is.
func (c Collection) BM25(words [][]Posting) []Scored {
	total := 0
	for _, length := range c {
		total += length
	}
	mean := max(1, float64(total)/float64(max(1, len(c))))
	scores := map[int64]float64{}
	for _, postings := range words {
		mine := slices.DeleteFunc(slices.Clone(postings), func(p Posting) bool { _, in := c[p.Document]; return !in })
		rarity := math.Log(1 + (float64(len(c)-len(mine))+0.5)/(float64(len(mine))+0.5))
		for _, p := range mine {
			often := float64(p.Weight)
			bias := saturation * (1 - lengthBias + lengthBias*float64(c[p.Document])/mean)
			scores[p.Document] += rarity * often * (saturation + 1) / (often + bias)
		}
	}
	return sorted(scores)
}

func sorted(scores map[int64]float64) []Scored {
	all := make([]Scored, 0, len(scores))
	for n, s := range scores {
		all = append(all, Scored{n, s})
	}
	return Best(all)
}

// Best returns those of a score above 0, best first; of equals the one with the
// lower number.
func Best(all []Scored) []Scored {
	all = slices.DeleteFunc(all, func(s Scored) bool { return s.Score <= 0 })
	slices.SortFunc(all, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Document, b.Document))
	})
	return all
}

// Top returns the first n.
func Top(all []Scored, n int) []Scored { return all[:min(n, len(all))] }
