package desk

import "context"

// Leg is a way to find policies.
type Leg string

// The legs.
const (
	Keyword Leg = "keyword" // by words, ranked by BM25
	Vector  Leg = "vector"  // by vectors of an embedder, ranked by cosine
	Hybrid  Leg = "hybrid"  // both, by reciprocal rank fusion
)

// Legs are all of them.
func Legs() []Leg { return []Leg{Keyword, Vector, Hybrid} }

// MaxRanked is the most policies that can be asked of a ranking.
const MaxRanked = 50

// Match is a policy in a ranking.
type Match struct {
	ID      string
	Version string
	Score   float64 // higher is better; those of two legs or two queries cannot be compared
}

// PolicyRanker says how policies are ranked, for those who measure it.
type PolicyRanker interface {
	// RankPolicies returns the best k that a person would find by one leg, from 1
	// to MaxRanked, best first. It tells no content, and leaves no line in the
	// audit. INVALID_ARGUMENT; CONFIGURATION without an embedder that made the
	// vectors of all that the person may see; EMBEDDING_FAILED.
	RankPolicies(ctx context.Context, who Identity, leg Leg, query string, k int) ([]Match, error)
}
