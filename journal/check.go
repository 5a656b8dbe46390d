package journal

import (
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// MaxRecord is the largest payload and content of one record together, in
// bytes.
const MaxRecord = 64 << 20

// Check is what every implementation asks of an append before it looks at the
// run: INVALID_ARGUMENT for an entry that no journal can keep or that
// contradicts itself, CONFLICT for records that leave a gap among themselves.
func Check(e *Entry) error {
	if err := checkHead(&e.Head); err != nil {
		return err
	}
	if err := checkRecords(e.Head.Run, e.Records); err != nil {
		return err
	}
	if err := checkLease(e); err != nil {
		return err
	}
	return checkParts(e)
}

func checkHead(h *Head) error {
	switch {
	case h.Run == "":
		return invalid("a run needs an id")
	case h.State != Running && h.State != Waiting && h.State != Stopped:
		return invalid(fmt.Sprintf("a run is never %.40q", h.State))
	case !storable(h.StartedAt) || !storable(h.UpdatedAt):
		return invalid("a head needs the instants at which its run started and changed")
	case !h.Due.IsZero() && !storable(h.Due):
		return invalid("a run is due from 1678 to 2262, or never")
	}
	return nil
}

func checkRecords(run string, records []Record) error {
	if len(records) == 0 {
		return invalid("an append needs at least one record")
	}
	for i := range records {
		if err := checkRecord(&records[i]); err != nil {
			return err
		}
		if want := records[0].Seq + int64(i); records[i].Seq != want {
			return &kernel.Error{
				Code:    kernel.CodeConflict,
				Message: fmt.Sprintf("record %d of run %q stands where %d belongs", records[i].Seq, run, want),
			}
		}
	}
	return nil
}

func checkRecord(r *Record) error {
	switch {
	case r.Seq < 1:
		return invalid("records are numbered from 1")
	case r.Kind == "" || len(r.Payload) == 0:
		return invalid("a record needs a kind and a payload")
	case !storable(r.At):
		return invalid("a record needs an instant")
	case len(r.Payload)+len(r.Content) > MaxRecord:
		return invalid(fmt.Sprintf("a record holds at most %d bytes", MaxRecord))
	}
	return nil
}

func checkLease(e *Entry) error {
	switch l := e.Lease; {
	case e.Place < 0 || e.Place > 0 && (e.Records[0].Seq != 1 || e.Head.Session == ""):
		return invalid("the place in a session is that of a new run which has one, from 1")
	case l == nil && e.Release:
		return invalid("an entry without a lease has none to give back")
	case l != nil && (l.Owner == "" || l.Token < 1 || !storable(l.Until) || !storable(e.Now)):
		return invalid("a lease needs an owner, a token from 1 and an end, and the entry its own instant")
	}
	return nil
}

// checkParts looks at what an entry carries beside its records.
func checkParts(e *Entry) error {
	for i := range e.Asked {
		if err := checkAsked(&e.Head, &e.Asked[i]); err != nil {
			return err
		}
	}
	for i := range e.Closed {
		if err := checkClose(&e.Closed[i]); err != nil {
			return err
		}
	}
	for i := range e.Settled {
		if err := checkSettlement(&e.Settled[i]); err != nil {
			return err
		}
	}
	if err := checkNotices(e); err != nil {
		return err
	}
	if e.Claim != nil {
		return checkClaim(&e.Head, e.Claim)
	}
	return nil
}

// SameRun reports a head that contradicts the first head of its run, as
// INVALID_ARGUMENT: a run stays with its session, its tenant and its user.
func SameRun(first, next *Head) error {
	if first.Session == next.Session && first.Tenant == next.Tenant && first.User == next.User &&
		first.StartedAt.Equal(next.StartedAt) {
		return nil
	}
	return invalid(fmt.Sprintf("run %q belongs to another session, tenant, user or start", next.Run))
}

// CheckLease is what every implementation asks of an Acquire or a Renew:
// INVALID_ARGUMENT for what is no lease.
func CheckLease(owner string, instants ...time.Time) error {
	for _, t := range instants {
		if !storable(t) {
			return invalid("a lease needs instants within the years 1678 to 2262")
		}
	}
	if owner == "" {
		return invalid("a lease needs an owner")
	}
	return nil
}

// CheckLimit refuses a negative limit, as INVALID_ARGUMENT.
func CheckLimit(limit int) error {
	if limit < 0 {
		return invalid("a limit is 0 for all, or positive")
	}
	return nil
}

// storable says whether t fits in 64 bits of Unix nanoseconds; the zero Time
// does not.
func storable(t time.Time) bool {
	const bound = (1<<63-1)/1_000_000_000 - 1 // seconds
	return t.Unix() >= -bound && t.Unix() <= bound
}

// instant drops what a stored instant has not: a location and a reading of the
// monotonic clock.
func instant(t time.Time) time.Time { return t.UTC().Round(0) }
