package kernel

import (
	"math"
	"math/big"
	"time"
)

// naivePause keeps each time that a run waited for people, and adds them up
// anew at each question.
type naivePause struct {
	begin Time
	limit time.Duration
	waits []naiveWait
	open  bool // the last one goes on
}

type naiveWait struct{ from, to Time }

// pass lets time pass.
func (p *naivePause) pass(now Time) {
	if p.open {
		p.waits[len(p.waits)-1].to = now
	}
}

// set says whether the run waits for people from now on.
func (p *naivePause) set(waits bool, now Time) {
	if waits && !p.open {
		p.waits = append(p.waits, naiveWait{now, now})
	}
	p.open = waits
}

// deadline is the begin, the limit and all that people took.
func (p *naivePause) deadline() Time {
	sum := new(big.Int).Add(big.NewInt(int64(p.begin)), big.NewInt(int64(p.limit)))
	for _, w := range p.waits {
		sum.Add(sum, big.NewInt(int64(w.to)))
		sum.Sub(sum, big.NewInt(int64(w.from)))
	}
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return Time(sum.Int64())
}
