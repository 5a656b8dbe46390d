package desk

import (
	"context"
	"fmt"
	"math"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of what an embedder is given.
const (
	MaxEmbedTexts = 64   // in one call
	MaxEmbedText  = 6000 // bytes of a policy: its id, its title and how it begins
	MaxDimensions = 8192
)

// Embedder makes vectors of texts: texts that have to do with each other lie in
// one direction. Implementations are safe for concurrent use.
type Embedder interface {
	// Name says which vectors it makes: those of two names are never compared.
	Name() string
	// Dimensions is the length of its vectors: from 1 to MaxDimensions.
	Dimensions() int
	// Embed returns a vector for each of 1 to MaxEmbedTexts texts, in their
	// order: EMBEDDING_FAILED.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Embed returns a vector of length 1 for each text, whatever their number, of
// what the embedder makes of them. One without any direction stays zero, and is like no
// other. Other numbers of vectors or dimensions than announced, and values that are no
// numbers, are EMBEDDING_FAILED.
func Embed(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	var all [][]float32
	for len(texts) > 0 {
		batch := texts[:min(MaxEmbedTexts, len(texts))]
		texts = texts[len(batch):]
		vectors, err := e.Embed(ctx, batch)
		if err != nil {
			return nil, err
		}
		if len(vectors) != len(batch) {
			return nil, unfit(e, fmt.Sprintf("%d vectors for %d texts", len(vectors), len(batch)))
		}
		for _, v := range vectors {
			if len(v) != e.Dimensions() {
				return nil, unfit(e, fmt.Sprintf("a vector of %d dimensions, not %d", len(v), e.Dimensions()))
			}
			unit, ok := direction(v)
			if !ok {
				return nil, unfit(e, "a vector that holds no numbers")
			}
			all = append(all, unit)
		}
	}
	return all, nil
}

// EmbedText is what an embedder is given of a policy.
func (p *Policy) EmbedText() string { return kernel.Clip(p.ID+" "+p.Title+"\n"+p.Body, MaxEmbedText) }

// direction returns v with length 1.
func direction(v []float32) (unit []float32, ok bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, false
	}
	unit = make([]float32, len(v))
	if length == 0 {
		return unit, true
	}
	for i, x := range v {
		unit[i] = float32(float64(x) / length)
	}
	return unit, true
}

func unfit(e Embedder, what string) error {
	return &kernel.Error{
		Code: CodeEmbeddingFailed, Message: fmt.Sprintf("the embedder %.80q returned %s", e.Name(), what),
		Hint: "check that the model and its number of dimensions are those that were configured",
	}
}
