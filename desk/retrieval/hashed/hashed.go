// Package hashed makes vectors of texts without a model: it counts pieces of two and
// three characters. Such vectors find a word in another form, and a text with
// a slip in it. They know nothing of what words mean: a text that says the same
// in other words is as far away as any other.
package hashed

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/holdfast-run/holdfast/desk"
)

var _ desk.Embedder = Embedder{}

// dimensions of the vectors.
const dimensions = 512

// Embedder counts pieces of texts. It is the same in every process and on every
// machine, needs no network, and is safe for concurrent use. The zero value is ready.
type Embedder struct{}

// Name says what made a vector, and that no model did.
func (Embedder) Name() string { return "hashed-pieces-1 (no semantic model)" }

// Dimensions is 512.
func (Embedder) Dimensions() int { return dimensions }

// Embed returns a vector for each text. It fails only where ctx is over.
func (Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embedding: %w", err)
		}
		vectors[i] = vector(text)
	}
	return vectors, nil
}

// vector adds each piece, once for its first time and less and less for more of
// it, in a place and a direction that its hash says.
func vector(text string) []float32 {
	v := make([]float32, dimensions)
	text = plain(text)
	if text == "" {
		return v
	}
	counts := map[string]int{}
	runes := []rune(" " + text + " ")
	for size := 2; size <= 3; size++ {
		for i := range max(0, len(runes)-size+1) {
			counts[string(runes[i:i+size])]++
		}
	}
	sums := make([]int, dimensions) // whole, so that no order of adding changes a sum
	for piece, n := range counts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(piece))
		sum := h.Sum64()
		value := int(256 * math.Sqrt(float64(n)))
		if sum>>63 == 1 {
			value = -value
		}
		sums[sum%dimensions] += value
	}
	for i := range v {
		v[i] = float32(sums[i])
	}
	return v
}

// plain is a text in one spelling, with one space between words.
func plain(text string) string {
	text = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(text)))
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) }), " ")
}
