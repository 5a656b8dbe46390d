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
	Owner string    // who drives: a name for people, different for each process
	Token int64     // the fencing token, from 1: each take-over of the run raises it
	Until time.Time // it can be taken over from then on
}

// Held reports whether the lease keeps others from the run at that instant.
// The zero value is no lease.
func (l *Lease) Held(now time.Time) bool { return l.Owner != "" && now.Before(l.Until) }

// Guard is what every implementation asks of the lease that an entry is
// appended under, given the one that is stored: LEASE_LOST when another one
// drives the run. An entry without a lease is taken while nobody holds one.
func Guard(run string, stored Lease, given *Lease, now time.Time) error {
	switch {
	case given == nil && !stored.Held(now):
		return nil
	case given != nil && given.Owner == stored.Owner && given.Token == stored.Token:
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLeaseLost,
		Message: fmt.Sprintf("run %q is driven by %s", run, holder(stored)),
		Hint:    "this process stopped driving it; nothing of what it did since was recorded",
	}
}

// Busy is the answer to a lease that someone else holds: CONFLICT.
func Busy(run string, stored Lease) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("run %q is driven by %s until %s", run, holder(stored), stored.Until.UTC().Format(time.RFC3339)),
		Hint:    "wait until then, or end that process",
	}
}

func holder(l Lease) string {
	if l.Owner == "" {
		return "nobody any more"
	}
	return l.Owner
}
