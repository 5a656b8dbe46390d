// Package memory is a journal that lives and dies with its process: for tests,
// for benchmarks and for runs that nobody will ask about later.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

var _ journal.Journal = (*Journal)(nil)

// Journal keeps runs in memory. It is safe for concurrent use. It keeps the
// payloads, contents and arguments that it is given, and its readers return the
// same bytes: nobody ever changes them. The zero value is not usable: see New.
//
// A context's error means that nothing was written.
type Journal struct {
	mu      sync.RWMutex
	closed  bool
	changes int64

	runs      map[string]*run
	open      map[string]*run              // that have not stopped
	sessions  map[session]*run             // the last of each: only that can be open
	sealing   []sealing                    // by number of their seals, from 1
	approvals map[string]*journal.Approval // by id; replaced, never changed
	ledger    ledger
	notices   map[session][]journal.Notice // by number

	hashing sync.Mutex     // guards what is computed of the chains: see chain.go
	seals   []journal.Seal // as many of the chain over all runs as were asked for
}

type run struct {
	id      string
	head    journal.Head
	records []journal.Record  // records[i].Seq == i+1
	first   [8]journal.Record // as many as a short run has
	links   []journal.Hash    // of the records, as many as were asked for
	signals []journal.Signal  // signals[i].Number == i+1
	known   map[string]bool   // ids of signals
	taken   int               // signals before it are applied
	before  *run              // in its session; nil: none
	place   int               // in its session, from 1; 0: it has none
}

// session is what runs are serial in.
type session struct{ tenant, user, name string }

func sessionOf(h *journal.Head) session { return session{h.Tenant, h.User, h.Session} }

// New returns an empty journal.
func New() *Journal {
	return &Journal{
		runs:      make(map[string]*run),
		open:      make(map[string]*run),
		sessions:  make(map[session]*run),
		approvals: make(map[string]*journal.Approval),
		ledger:    newLedger(),
		notices:   make(map[session][]journal.Notice),
	}
}

// Close forgets every run.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.runs, j.open, j.sessions, j.sealing, j.seals, j.approvals, j.ledger, j.notices = nil, nil, nil, nil, nil, nil, ledger{}, nil
	return nil
}

// lock takes the journal for writing. Unless it fails, j.mu must be unlocked.
func (j *Journal) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return journal.Closed()
	}
	return nil
}

// rlock takes the journal for reading. Unless it fails, j.mu must be unlocked.
func (j *Journal) rlock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.RLock()
	if j.closed {
		j.mu.RUnlock()
		return journal.Closed()
	}
	return nil
}

// instant drops what a stored instant has not: a location and a reading of the
// monotonic clock.
func instant(t time.Time) time.Time { return t.UTC().Round(0) }

// Changes counts commits. See [journal.Reader].
func (j *Journal) Changes(ctx context.Context) (int64, error) {
	if err := j.rlock(ctx); err != nil {
		return 0, err
	}
	defer j.mu.RUnlock()
	return j.changes, nil
}
