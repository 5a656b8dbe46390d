// Package journal is the append-only record of runs.
package journal

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Journal keeps runs. Implementations are safe for concurrent use, and give
// back exactly the bytes and instants that they were given.
type Journal interface {
	Reader
	// Append writes e in one transaction, durable when it returns nil. The
	// first record's Seq must follow the run's last one, from 1 and without a
	// gap: otherwise CONFLICT, and nothing is written. What Check refuses is
	// INVALID_ARGUMENT, as is a head whose Session, Tenant, User or StartedAt
	// differs from that of the run's first append. Any other failure is
	// LOCAL_STORAGE, or the context's error: after either all of e is there, or
	// nothing of it.
	//
	// The journal may keep the slices inside records: never change their bytes.
	// The list of records is the caller's again once Append returns nil.
	Append(ctx context.Context, e Entry) error
	// Close waits for appends under way and releases the journal. Appends and
	// reads after it fail with LOCAL_STORAGE. Closing twice is harmless.
	Close() error
}

// Reader reads runs. Any failure that a method does not name is LOCAL_STORAGE,
// or the context's error; a negative limit is INVALID_ARGUMENT.
type Reader interface {
	// Read returns the records of a run with Seq greater than after, in order,
	// at most limit (0: all). An unknown run is NOT_FOUND. The slice is the
	// caller's; the bytes inside it may be shared and are never changed.
	Read(ctx context.Context, run string, after int64, limit int) ([]Record, error)
	// Head returns a run's head, or NOT_FOUND.
	Head(ctx context.Context, run string) (Head, error)
	// Heads returns the heads that match q, latest started first; of those that
	// started at the same instant, the greater run id first.
	Heads(ctx context.Context, q Query) ([]Head, error)
}

// Entry is one append to a run: all of it is committed, or nothing.
type Entry struct {
	Head    Head     // the run's head from now on
	Records []Record // at least one
}

// Record is one event of a run.
type Record struct {
	Seq     int64            // from 1
	At      time.Time        // UTC, to the nanosecond, from 1678 to 2262
	Kind    kernel.EventKind // of Payload; not empty
	Payload []byte           // the event, as kernel.EncodeEvent wrote it; not empty
	Content []byte           // what the event reports about; nil: nothing, which is not the same as empty
}

// State says where a run is, for lists.
type State string

// The states.
const (
	Running State = "running"
	Stopped State = "stopped"
)

// Head is the one-row summary of a run.
type Head struct {
	Run       string // not empty
	Session   string
	Tenant    string
	User      string
	State     State
	Stop      kernel.Stop    // when stopped
	Verified  kernel.Verdict // when stopped
	Turns     int
	Question  string    // its first 200 bytes or less, on a rune boundary
	StartedAt time.Time // UTC, to the nanosecond, from 1678 to 2262
	UpdatedAt time.Time // likewise
	LastSeq   int64     // filled by the journal; ignored by Append
}

// Owner is the identity that runs belong to. Both names count, also when they
// are empty: the zero value owns the runs that were started without a tenant
// and without a user.
type Owner struct {
	Tenant string
	User   string
}

// Owner returns whose run it is.
func (h *Head) Owner() Owner { return Owner{h.Tenant, h.User} }

// Query selects heads: those of Owner that pass the filters. The zero value
// selects all.
type Query struct {
	// Owner is whose runs these are: no other's are selected, whatever the
	// filters say. nil: everyone's, for whoever operates the journal.
	Owner *Owner
	// Filters; an empty one matches everything.
	Tenant  string
	User    string
	Session string
	Limit   int // 0: all
}
