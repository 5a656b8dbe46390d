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
// run: INVALID_ARGUMENT for a head or a record that no journal can keep,
// CONFLICT for records that leave a gap among themselves.
func Check(e *Entry) error {
	head, records := &e.Head, e.Records
	if head.Run == "" {
		return invalid("a run needs an id")
	}
	if len(records) == 0 {
		return invalid("an append needs at least one record")
	}
	if !storable(head.StartedAt) || !storable(head.UpdatedAt) {
		return invalid("a head needs the instants at which its run started and changed")
	}
	for i := range records {
		if err := checkRecord(&records[i]); err != nil {
			return err
		}
		if want := records[0].Seq + int64(i); records[i].Seq != want {
			return &kernel.Error{
				Code:    kernel.CodeConflict,
				Message: fmt.Sprintf("record %d of run %q stands where %d belongs", records[i].Seq, head.Run, want),
			}
		}
	}
	return checkFacts(e)
}

// checkFacts looks at what an entry carries beside its records.
func checkFacts(e *Entry) error {
	if l := e.Lease; l != nil && (l.Owner == "" || !storable(l.Until) || !storable(e.Now)) {
		return invalid("a lease needs an owner, an end, and the instant of the entry")
	}
	if !e.Head.Due.IsZero() && !storable(e.Head.Due) {
		return invalid("a run is due within the years 1678 to 2262")
	}
	for i := range e.Asked {
		if err := checkAsked(&e.Head, &e.Asked[i]); err != nil {
			return err
		}
	}
	for _, c := range e.Closed {
		if !storable(c.At) {
			return invalid("an approval is closed at an instant")
		}
	}
	for _, s := range e.Settled {
		if !storable(s.At) {
			return invalid("an effect is settled at an instant")
		}
	}
	if e.Claim != nil {
		return checkClaim(&e.Head, e.Claim)
	}
	return nil
}

func checkAsked(h *Head, a *Approval) error {
	switch {
	case a.ID == "" || a.State != ApprovalOpen || len(a.Votes) > 0 || !a.Decided.IsZero():
		return invalid("an approval needs an id, and is open when it is asked for")
	case a.Run != h.Run || a.Session != h.Session || a.Tenant != h.Tenant || a.User != h.User:
		return invalid("approval " + a.ID + " is not of the run that asks for it")
	case !storable(a.Asked) || !a.Expires.IsZero() && !storable(a.Expires):
		return invalid("an approval is asked for, and expires, within the years 1678 to 2262")
	case a.Hash != a.ContentHash():
		return invalid("the hash of approval " + a.ID + " is not that of its content")
	}
	return nil
}

func checkClaim(h *Head, c *Claim) error {
	switch {
	case c.Call == "" || c.Tool == "" || c.Key == "" || c.Fingerprint == "" || c.Request == "" || c.Class == "":
		return invalid("a claim needs a call, a tool, a key, a fingerprint, a request and a class")
	case c.ID != EffectID(h.Tenant, c.Tool, c.Key):
		return invalid("the id of a claim is that of its tenant, tool and key: EffectID")
	case !storable(c.At) || c.Window < 0:
		return invalid("a claim needs an instant, and a window that is not negative")
	}
	return nil
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

// CheckVote is what every implementation asks of a vote: INVALID_ARGUMENT for
// one that cannot be kept.
func CheckVote(v *Vote) error {
	if v.ID == "" || v.Approval == "" || !storable(v.At) {
		return invalid("a vote needs an id, an approval and an instant")
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

// SameRun reports a head that contradicts the first head of its run, as
// INVALID_ARGUMENT: a run stays with its session, its tenant and its user.
func SameRun(first, next *Head) error {
	if first.Session == next.Session && first.Tenant == next.Tenant && first.User == next.User &&
		first.StartedAt.Equal(next.StartedAt) {
		return nil
	}
	return invalid(fmt.Sprintf("run %q belongs to another session, tenant, user or start", next.Run))
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

func invalid(message string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: message}
}
