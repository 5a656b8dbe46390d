package engine

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Clock is the time that runs live in. Implementations are safe for concurrent
// use.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f, on a goroutine of its own, once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that a Clock owes.
type Timer interface {
	// Stop takes the call back. It reports whether it did.
	Stop() bool
}

// SystemClock is the clock of this machine.
type SystemClock struct{}

// Now is the present instant.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// complete fills what nobody set.
func (e Env) complete() Env {
	if e.Clock == nil {
		e.Clock = SystemClock{}
	}
	if e.Grace <= 0 {
		e.Grace = DefaultGrace
	}
	if e.Jitter == nil {
		e.Jitter = func() int { return rand.IntN(10_001) }
	}
	return e
}

func (e *Env) at() kernel.Time { return kernel.Time(e.Clock.Now().UnixNano()) }
