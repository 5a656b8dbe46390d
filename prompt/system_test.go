package prompt_test

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/prompt"
)

// The estimate is the stated one wherever in a text its bytes stand.
func TestEstimateTokensOfLongTexts(t *testing.T) {
	for before := range 20 {
		for after := range 20 {
			text := strings.Repeat("a", before) + "é汉" + strings.Repeat("b", after) + "\xff"
			want := int64(before+after+3)/4 + int64(6+1)/2
			if got := prompt.EstimateTokens(text); got != want {
				t.Errorf("%q: %d, want %d", text, got, want)
			}
			if got := prompt.EstimateTokens([]byte(text)); got != want {
				t.Errorf("the bytes of %q: %d, want %d", text, got, want)
			}
		}
	}
}
