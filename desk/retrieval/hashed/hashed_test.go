package hashed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
)

func embed(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := desk.Embed(t.Context(), hashed.Embedder{}, texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// A word in another form and a text with a slip are near, another text is not.
func TestNearAndFar(t *testing.T) {
	for _, c := range []struct{ text, near, far string }{
		{"travel expenses", "traveling expense", "parking at the office"},
		{"reimbursement", "reimbursment", "annual leave"},
		{"差旅报销制度", "差旅的报销", "办公用品领用"},
		{"ＴＲＡＶＥＬ，expenses!", "travel expenses", "parking"},
	} {
		v := embed(t, c.text, c.near, c.far)
		if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near < far+0.2 {
			t.Errorf("%s: %s is at %.2f, %s at %.2f", c.text, c.near, near, c.far, far)
		}
	}
}

// The same text gives the same vector every time, one without words none of any
// direction, and the name says that no model made it.
func TestSameEveryTime(t *testing.T) {
	long := strings.Repeat("出差审批单 travel ", 500)
	first := embed(t, long, "%%%")
	for range 20 {
		if !slices.Equal(first[0], embed(t, long)[0]) {
			t.Fatal("two vectors of one text")
		}
	}
	if slices.ContainsFunc(first[1], func(x float32) bool { return x != 0 }) {
		t.Error("a text without words has a direction")
	}
	if !strings.Contains(hashed.Embedder{}.Name(), "no semantic model") {
		t.Error("the name does not say what it is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (hashed.Embedder{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
}
