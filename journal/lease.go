package journal

import (
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Lease is the right to drive one run. Whoever holds it appends with it, which
// renews it; once someone else has taken the run over, appends under the old
// one are LEASE_LOST.
type Lease struct {
	Owner string    // who drives: a name for people, different for each process; empty: nobody
	Token int64     // the fencing token, from 1: each take-over of the run raises it
	Until time.Time // it can be taken over from then on
}

// MaxLease is how long a lease can last. One that ends later was taken by a clock
// that was wrong, and keeps nobody from the run: else it would until then.
const MaxLease = time.Hour

// Held reports whether the lease keeps others from the run at that instant.
// The zero value is no lease, and the zero instant is none: no clock says then
// that the lease has ended.
func (l *Lease) Held(now time.Time) bool {
	return l.Owner != "" && (now.IsZero() || now.Before(l.Until) && !l.Until.After(now.Add(MaxLease)))
}

// Guard is what every implementation asks of the lease that an entry is
// appended under, given the one that is stored: LEASE_LOST when another one
// drives the run, or the lease was given back. An entry without a lease is
// taken while nobody holds one. A lease that has ended holds on until someone
// else takes it.
func Guard(run string, stored Lease, given *Lease, now time.Time) error {
	switch {
	case given == nil && !stored.Held(now):
		return nil
	case given != nil && stored.Is(*given):
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLeaseLost,
		Message: fmt.Sprintf("run %q is driven by %s", run, holder(stored)),
		Hint:    "this process stopped driving it; nothing of what it did since was recorded",
	}
}

// Follow decides whether an entry that Check let pass may follow what is stored
// of its run, nil where there is nothing yet. It returns the lease as it stands
// once the entry is there, or LEASE_LOST, CONFLICT, INVALID_ARGUMENT or
// RUN_STOPPED, in this order, and at last CONFLICT for what is Unheard.
func Follow(stored *Head, e *Entry) (Lease, error) {
	run, first := e.Head.Run, e.Records[0].Seq
	if stored == nil {
		if first != 1 {
			return Lease{}, Conflict(run, 0, first)
		}
		return begin(e)
	}
	if err := Guard(run, stored.Lease, e.Lease, e.Now); err != nil {
		return Lease{}, err
	}
	if first != stored.LastSeq+1 {
		return Lease{}, Conflict(run, stored.LastSeq, first)
	}
	if err := SameRun(stored, &e.Head); err != nil {
		return Lease{}, err
	}
	if stored.State == Stopped {
		return Lease{}, OverAlready(run)
	}
	if e.Heard && e.Head.State == Stopped && stored.Pending > len(e.Applied) {
		return Lease{}, Unheard(run)
	}
	return e.leave(stored.Lease), nil
}

// begin takes the first lease of a run.
func begin(e *Entry) (Lease, error) {
	if e.Lease == nil {
		return Lease{}, nil
	}
	if e.Lease.Owner == "" || e.Lease.Token != 1 {
		return Lease{}, invalid("the first lease of a run has an owner and the token 1")
	}
	return e.leave(*e.Lease), nil
}

// leave renews the lease that stands, or gives it back.
func (e *Entry) leave(stands Lease) Lease {
	switch {
	case e.Lease == nil:
		return stands
	case e.Release:
		return stands.Free()
	}
	stands.Until = instant(e.Lease.Until)
	return stands
}

// Free is the lease once it was given back: nobody's, and with the token that
// the next one raises.
func (l Lease) Free() Lease { return Lease{Token: l.Token} }

// Take is what every implementation asks of an Acquire for a run at stored: the
// lease that stands from now on, or RUN_STOPPED, or CONFLICT when someone else
// holds it. Whoever holds it keeps the token; anything else is a take-over,
// also by an owner whose lease has ended: what it still runs is fenced off.
func Take(stored *Head, owner string, now, until time.Time) (Lease, error) {
	l := stored.Lease
	switch {
	case stored.State == Stopped:
		return Lease{}, OverAlready(stored.Run)
	case !l.Held(now):
		return Lease{Owner: owner, Token: l.Token + 1, Until: instant(until)}, nil
	case l.Owner == owner:
		l.Until = instant(until)
		return l, nil
	}
	return Lease{}, Busy(stored.Run, l)
}

// Is says whether l is still the lease o, which may have been renewed since.
func (l Lease) Is(o Lease) bool { return l.Owner != "" && l.Owner == o.Owner && l.Token == o.Token }

// Busy is the answer to a lease that someone else holds: CONFLICT.
func Busy(run string, stored Lease) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("run %q is driven by %s until %s", run, holder(stored), stamp(stored.Until)),
		Hint:    "wait until then, or end that process",
	}
}

func holder(l Lease) string {
	if l.Owner == "" {
		return "nobody any more"
	}
	return l.Owner
}
