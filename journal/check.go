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
