package memory

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// Acquire takes the lease of a run. See [journal.Journal].
func (j *Journal) Acquire(ctx context.Context, run, owner string, now, until time.Time) (journal.Lease, error) {
	if err := journal.CheckLease(owner, now, until); err != nil {
		return journal.Lease{}, err
	}
	if err := j.lock(ctx); err != nil {
		return journal.Lease{}, err
	}
	defer j.mu.Unlock()
	r := j.runs[run]
	if r == nil {
		return journal.Lease{}, journal.NotFound(run)
	}
	l, err := journal.Take(&r.head, owner, now, until)
	if err != nil {
		return journal.Lease{}, err
	}
	r.head.Lease = l
	j.changes++
	return l, nil
}

// Renew moves the end of leases. See [journal.Journal].
func (j *Journal) Renew(ctx context.Context, owner string, runs []string, until time.Time) (lost []string, err error) {
	if err := journal.CheckLease(owner, until); err != nil {
		return nil, err
	}
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	for _, id := range runs {
		r := j.runs[id]
		if r == nil || r.head.Lease.Owner != owner {
			lost = append(lost, id)
			continue
		}
		r.head.Lease.Until = instant(until)
		j.changes++
	}
	return lost, nil
}

// Release gives a lease back. See [journal.Journal].
func (j *Journal) Release(ctx context.Context, run string, l journal.Lease) error {
	if err := j.lock(ctx); err != nil {
		return err
	}
	defer j.mu.Unlock()
	r := j.runs[run]
	if r == nil {
		return journal.NotFound(run)
	}
	if r.head.Lease.Is(l) {
		r.head.Lease = r.head.Lease.Free()
		j.changes++
	}
	return nil
}
