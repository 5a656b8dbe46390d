package prompt_test

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/prompt"
)

// The estimate is the stated one wherever in a text its bytes stand, and
// whatever pieces it comes in.
func TestEstimateTokensOfLongTexts(t *testing.T) {
	for before := range 70 {
		for after := range 70 {
			text := strings.Repeat("a", before) + "é汉" + strings.Repeat("b", after) + "\xff"
			want := int64(before+after+3)/4 + int64(6+1)/2
			if got := prompt.EstimateTokens(text); got != want {
				t.Errorf("%q: %d, want %d", text, got, want)
			}
			if got := prompt.EstimateTokens([]byte(text)); got != want {
				t.Errorf("the bytes of %q: %d, want %d", text, got, want)
			}
			if got := prompt.EstimateTokens(text[:after], text[after:]); got != want {
				t.Errorf("%q in pieces: %d, want %d", text, got, want)
			}
		}
	}
	if got := prompt.EstimateTokens(strings.Repeat("é", 1000)); got != 1000 {
		t.Errorf("a thousand characters beyond ASCII: %d", got)
	}
}
