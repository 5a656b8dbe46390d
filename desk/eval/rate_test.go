package eval

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The bounds of the interval are where the score test is at its limit.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		passed, trials int
		low, high      float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {8, 10, 0.4902, 0.9433}, {41, 41, 0.9143, 1}, {1, 1, 0.2065, 1}} {
		r := newRate(tt.passed, tt.trials)
		if math.Abs(r.Low-tt.low) > 5e-5 || math.Abs(r.High-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f", tt.passed, tt.trials, r.Low, r.High)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "trials")
		r := newRate(rapid.IntRange(0, n).Draw(t, "passed"), n)
		if r.Low < 0 || r.Low > r.Rate || r.Rate > r.High || r.High > 1 {
			t.Fatalf("%+v", r)
		}
		for _, bound := range []float64{r.Low, r.High} {
			if bound == 0 || bound == 1 {
				continue
			}
			if z := math.Abs(r.Rate-bound) / math.Sqrt(bound*(1-bound)/float64(n)); math.Abs(z-z95) > 1e-6 {
				t.Fatalf("%+v: the test is at %v there", r, z)
			}
		}
	})
}
