// Package memory is a journal that lives and dies with its process: for tests,
// for benchmarks and for runs that nobody will ask about later.
package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

var _ journal.Journal = (*Journal)(nil)

// Journal keeps runs in memory. It is safe for concurrent use. It keeps the
// payloads and contents that it is given, and Read returns the same bytes:
// neither side ever changes them. The zero value is not usable: see New.
//
// A context's error means that nothing was written.
type Journal struct {
	mu     sync.RWMutex
	runs   map[string]*run
	closed bool
}

type run struct {
	head    journal.Head
	records []journal.Record // records[i].Seq == i+1
}

// New returns an empty journal.
func New() *Journal {
	return &Journal{runs: make(map[string]*run)}
}

// Append adds records to a run. See [journal.Journal].
func (j *Journal) Append(ctx context.Context, e journal.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := journal.Check(&e); err != nil {
		return err
	}
	e.Head.StartedAt, e.Head.UpdatedAt = instant(e.Head.StartedAt), instant(e.Head.UpdatedAt)

	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return journal.Closed()
	}
	return j.append(&e.Head, e.Records)
}

func (j *Journal) append(head *journal.Head, records []journal.Record) error {
	r, known := j.runs[head.Run]
	if !known {
		r = &run{head: *head, records: make([]journal.Record, 0, 8)} // as many as a short run has
	}
	if last, first := int64(len(r.records)), records[0].Seq; first != last+1 {
		return journal.Conflict(head.Run, last, first)
	}
	if err := journal.SameRun(&r.head, head); err != nil {
		return err
	}
	r.records = append(r.records, records...)
	for i := len(r.records) - len(records); i < len(r.records); i++ {
		r.records[i].At = instant(r.records[i].At)
	}
	r.head = *head
	r.head.LastSeq = int64(len(r.records))
	j.runs[head.Run] = r
	return nil
}

// instant drops what a stored instant has not: a location and a reading of the
// monotonic clock.
func instant(t time.Time) time.Time { return t.UTC().Round(0) }

// Read returns records of a run. See [journal.Reader].
func (j *Journal) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return nil, journal.Closed()
	}
	r, known := j.runs[run]
	if !known {
		return nil, journal.NotFound(run)
	}
	from := min(max(after, 0), int64(len(r.records)))
	tail := r.records[from:]
	if limit > 0 && limit < len(tail) {
		tail = tail[:limit]
	}
	return slices.Clone(tail), nil
}

// Head returns a run's head. See [journal.Reader].
func (j *Journal) Head(ctx context.Context, run string) (journal.Head, error) {
	if err := ctx.Err(); err != nil {
		return journal.Head{}, err
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return journal.Head{}, journal.Closed()
	}
	r, known := j.runs[run]
	if !known {
		return journal.Head{}, journal.NotFound(run)
	}
	return r.head, nil
}

// Heads returns the heads that match q. See [journal.Reader].
func (j *Journal) Heads(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	heads, err := j.matching(q)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(heads, func(a, b journal.Head) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(b.Run, a.Run))
	})
	if q.Limit > 0 && q.Limit < len(heads) {
		heads = heads[:q.Limit:q.Limit]
	}
	return heads, nil
}

func (j *Journal) matching(q journal.Query) ([]journal.Head, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return nil, journal.Closed()
	}
	var heads []journal.Head
	for _, r := range j.runs {
		if matches(&q, &r.head) {
			heads = append(heads, r.head)
		}
	}
	return heads, nil
}

func matches(q *journal.Query, h *journal.Head) bool {
	return (q.Owner == nil || *q.Owner == h.Owner()) &&
		passes(q.Tenant, h.Tenant) && passes(q.User, h.User) && passes(q.Session, h.Session)
}

func passes(filter, have string) bool { return filter == "" || filter == have }

// Close forgets every run.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed, j.runs = true, nil
	return nil
}
