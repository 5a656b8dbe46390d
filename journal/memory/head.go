package memory

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// Head returns a run's head. See [journal.Reader].
func (j *Journal) Head(ctx context.Context, run string) (journal.Head, error) {
	if err := j.rlock(ctx); err != nil {
		return journal.Head{}, err
	}
	defer j.mu.RUnlock()
	r := j.runs[run]
	if r == nil {
		return journal.Head{}, journal.NotFound(run)
	}
	return j.headOf(r), nil
}

// Heads returns the heads that match q. See [journal.Reader].
func (j *Journal) Heads(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	var found []*run
	for r := range j.candidates(&q) {
		if matches(&q, &r.head) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *run) int {
		return cmp.Or(b.head.StartedAt.Compare(a.head.StartedAt), strings.Compare(b.id, a.id))
	})
	return copies(first(found, q.Limit), j.headOf), nil
}

// Ready returns the runs that somebody can take up. See [journal.Reader].
func (j *Journal) Ready(ctx context.Context, now time.Time, limit int) ([]journal.Head, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	var found []*run
	for _, r := range j.open {
		if r.head.Ready(now) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *run) int {
		return cmp.Or(a.head.UpdatedAt.Compare(b.head.UpdatedAt), strings.Compare(a.id, b.id))
	})
	return copies(first(found, limit), j.headOf), nil
}

// candidates yields the runs that a query has to look at: those of a session,
// those that have not stopped, or all.
func (j *Journal) candidates(q *journal.Query) iter.Seq[*run] {
	switch {
	case q.Owner != nil && q.Session != "":
		return j.sessions[session{q.Owner.Tenant, q.Owner.User, q.Session}].andBefore
	case q.Signalled || q.State == journal.Running || q.State == journal.Waiting:
		return maps.Values(j.open)
	}
	return maps.Values(j.runs)
}

// andBefore yields a run and those before it in its session; nil yields none.
func (r *run) andBefore(yield func(*run) bool) {
	for r != nil && yield(r) {
		r = r.before
	}
}

func matches(q *journal.Query, h *journal.Head) bool {
	return (q.Owner == nil || *q.Owner == h.Owner()) && passes(q.State, h.State) &&
		passes(q.Tenant, h.Tenant) && passes(q.User, h.User) && passes(q.Session, h.Session) &&
		(!q.Signalled || h.State != journal.Stopped && h.Pending > 0)
}

func passes[T ~string](filter, have T) bool { return filter == "" || filter == have }
