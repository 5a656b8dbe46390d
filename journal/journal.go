// Package journal is the append-only record of runs.
package journal

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Journal keeps runs. Implementations are safe for concurrent use.
type Journal interface {
	// Append adds records to a run and updates its head in one transaction,
	// durable when it returns nil. The first record's Seq must follow the
	// run's last one, from 1 and without a gap: otherwise CONFLICT, and nothing
	// is written. Any other failure is LOCAL_STORAGE (or the context's error,
	// after which the records may or may not be there).
	Append(ctx context.Context, head Head, records []Record) error
	// Read returns the records of a run with Seq greater than after, in order,
	// at most limit (0: all). An unknown run is NOT_FOUND.
	Read(ctx context.Context, run string, after int64, limit int) ([]Record, error)
	// Head returns a run's head, or NOT_FOUND.
	Head(ctx context.Context, run string) (Head, error)
	// Heads returns the heads that match q, latest started first.
	Heads(ctx context.Context, q Query) ([]Head, error)
	// Close waits for appends under way and releases the journal. Appends and
	// reads after it fail with LOCAL_STORAGE.
	Close() error
}

// Record is one event of a run.
type Record struct {
	Seq     int64            // from 1
	At      time.Time        // UTC
	Kind    kernel.EventKind // of Payload
	Payload []byte           // the event, as kernel.EncodeEvent wrote it
	Content []byte           // what the event reports about; nil: nothing
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
	Run       string
	Session   string
	Tenant    string
	User      string
	State     State
	Stop      kernel.Stop    // when stopped
	Verified  kernel.Verdict // when stopped
	Turns     int
	Question  string // its first 200 bytes or less, on a rune boundary
	StartedAt time.Time
	UpdatedAt time.Time
	LastSeq   int64 // filled by the journal; ignored by Append
}

// Query selects heads. Empty fields match everything.
type Query struct {
	Tenant  string
	User    string
	Session string
	Limit   int // 0: all
}
