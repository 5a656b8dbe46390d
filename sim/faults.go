package sim

import (
	"math/rand/v2"
	"time"
)

// profile says how much goes wrong in a simulation. The zero value: nothing.
type profile struct {
	name string

	budget int // faults in all

	crash   int // an operation of the journal is the last of its process; per 10,000
	midway  int // a tool, a model, a policy or a verifier is
	broken  int // an operation fails, having done nothing
	torn    int // it fails, having been done
	asleep  int // the process is held up within it
	naps    bool
	laggard bool // spawned closures and timers are late at times
	leaves  int  // processes end in peace
	jumps   int  // of the clock, forward
	steps   bool // of the clock, back too
}

// profiles are the kinds of trouble, the first being none.
func profiles() []profile {
	return []profile{
		{name: "calm"},
		{name: "late", laggard: true},
		{name: "crashes", budget: 8, crash: 200, midway: 500, laggard: true},
		{name: "crashes", budget: 12, crash: 60, midway: 1500, laggard: true},
		{name: "storage", budget: 8, broken: 80, torn: 150},
		{name: "storage and crashes", budget: 14, crash: 100, midway: 300, broken: 300, torn: 100},
		{name: "leases", budget: 6, asleep: 150, naps: true, laggard: true},
		{name: "leaving", budget: 5, leaves: 3, crash: 30, laggard: true},
		{name: "clock", budget: 5, crash: 40, asleep: 30, jumps: 2, laggard: true},
		{name: "clock back", budget: 5, crash: 40, asleep: 40, jumps: 2, steps: true, laggard: true},
		{name: "storm", budget: 60, crash: 150, midway: 800, broken: 60, torn: 100, asleep: 100, naps: true, leaves: 2, laggard: true},
		{name: "everything", budget: 12, crash: 60, midway: 300, broken: 25, torn: 40, asleep: 60, naps: true, leaves: 2, jumps: 1, laggard: true},
	}
}

// faults decides which fault comes when.
type faults struct {
	profile

	chance *rand.Rand
	left   int // of the budget
	calm   bool
}

func newFaults(p profile, chance *rand.Rand) *faults {
	return &faults{profile: p, chance: chance, left: p.budget}
}

// strike reports whether a fault of that likelihood, per 10,000, comes now.
func (f *faults) strike(likelihood int) bool {
	if f.calm || f.left == 0 || likelihood == 0 || f.chance.IntN(10_000) >= likelihood {
		return false
	}
	f.left--
	return true
}

// lag is how late something starts that could start at once.
func (f *faults) lag() time.Duration {
	if !f.laggard || f.chance.IntN(8) > 0 {
		return 0
	}
	if f.chance.IntN(20) == 0 {
		return time.Duration(f.chance.IntN(20_000)) * time.Millisecond
	}
	return time.Duration(f.chance.IntN(300)) * time.Millisecond
}

// trouble is a fault of one journal operation. The zero value is none.
type trouble struct {
	kind  troubleKind
	early bool // it comes before the operation is done
	nap   time.Duration
}

type troubleKind int

const (
	fine troubleKind = iota
	crashing
	failing
	sleeping
)

// journal decides the fault of an operation.
func (f *faults) journal(what string, writes bool) trouble {
	crash, broken, torn, asleep := f.crash, f.broken, f.torn, f.asleep
	if !writes {
		torn = 0
	}
	switch what {
	case "ready", "changes", "heads": // whoever polls asks for them all the time
		crash, broken, asleep = crash/10, broken/10, asleep/10
	}
	early := f.chance.IntN(2) == 0
	switch {
	case f.strike(crash):
		return trouble{kind: crashing, early: early}
	case f.strike(broken):
		return trouble{kind: failing, early: true}
	case f.strike(torn):
		return trouble{kind: failing}
	case f.strike(asleep):
		return trouble{kind: sleeping, early: early, nap: f.nap()}
	}
	return trouble{}
}

// nap is how long a process is held up: often for longer than a lease.
func (f *faults) nap() time.Duration {
	if f.chance.IntN(4) == 0 {
		return time.Duration(1+f.chance.IntN(2_000)) * time.Millisecond
	}
	return time.Duration(5+f.chance.IntN(90)) * time.Second
}

// before and after let the fault happen, and report whether the caller learns
// nothing of the operation.
func (t trouble) before(h *handle, what string) (lost bool) {
	return t.early && t.happen(h, "before "+what)
}

func (t trouble) after(h *handle, what string) (lost bool) {
	return !t.early && t.happen(h, "after "+what)
}

func (t trouble) happen(h *handle, where string) (lost bool) {
	switch t.kind {
	case fine:
		return false
	case crashing:
		h.crash(where)
	case failing:
		h.tracef(h.process, "journal error %s", where)
		h.seen["error "+where]++
		h.watch.disturbed(h.process)
		return true
	case sleeping:
		h.sleep(t.nap)
	}
	return h.dead
}
