package eval

import "math"

// Rate is how many trials passed, with the Wilson score interval of 95 %: where
// the rate of this model on these tasks is likely to lie. Trials of one task are not independent of one
// another, so that the true interval is rather wider.
type Rate struct {
	Trials int     `json:"trials"`
	Passed int     `json:"passed"`
	Rate   float64 `json:"rate"` // 0 without trials
	Low    float64 `json:"low"`  // without trials from 0 …
	High   float64 `json:"high"` // … to 1: nothing is known
}

// z95 is the quantile of the normal distribution for 95 % on both sides.
const z95 = 1.959963984540054

func newRate(passed, trials int) Rate {
	if trials == 0 {
		return Rate{High: 1}
	}
	n, p := float64(trials), float64(passed)/float64(trials)
	scale := 1 + z95*z95/n
	middle := p + z95*z95/(2*n)
	half := z95 * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	r := Rate{Trials: trials, Passed: passed, Rate: p, Low: (middle - half) / scale, High: (middle + half) / scale}
	if passed == 0 {
		r.Low = 0 // what is left there is rounding
	}
	if passed == trials {
		r.High = 1
	}
	return r
}
