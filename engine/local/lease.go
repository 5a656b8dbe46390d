package local

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// abandon lets go of a run that another process drives by now. What is under
// way here is ended; what comes of it is nowhere recorded.
func (r *run) abandon(cause error) {
	r.loses(cause)
	r.close()
}

// loses notes that another process drives the run by now.
func (r *run) loses(cause error) {
	r.eng.log.Warn("run lost to another process", "run", r.id, "error", cause)
	var e *kernel.Error
	if !errors.As(cause, &e) {
		e = &kernel.Error{Code: kernel.CodeLeaseLost, Message: cause.Error()}
	}
	r.lost = e
}

// release lets go of a run that waits, whose lease was kept for someone who
// was asked here.
func (r *run) release() {
	err := r.eng.journal.Release(context.Background(), r.id, r.lease)
	if err != nil {
		r.eng.log.Warn("lease not given back", "run", r.id, "error", err) // it ends by itself
	}
	r.free, r.parked = true, true
	r.close()
}

// ifStillMine runs a tool only while the lease says that nobody else can have
// taken the run over: a process that was held up asks first.
func (r *run) ifStillMine(task engine.Task) engine.Task {
	until := r.lease.Until
	return engine.TaskFunc(func(ctx context.Context, instead engine.Report) (kernel.Event, engine.Content) {
		if !r.stillMine(until) {
			return nil, engine.Content{}
		}
		return task.Do(ctx, instead)
	})
}

// stillMine reports whether the run is still this process's, whose lease held
// until then. It asks again when asking took as long as a lease lasts.
func (r *run) stillMine(until time.Time) bool {
	for now := r.eng.clock.Now(); !now.Before(until); now = r.eng.clock.Now() {
		until = now.Add(r.eng.lease)
		if lost, err := r.eng.renew([]string{r.id}); err != nil || len(lost) > 0 {
			r.mu.Lock()
			if !r.closed {
				r.abandon(&kernel.Error{Code: kernel.CodeLeaseLost, Message: "run " + r.id + " was taken over before a call began, which was not run", Err: err})
			}
			r.mu.Unlock()
			return false
		}
	}
	return true
}

func (e *Engine) renew(ids []string) (lost []string, err error) {
	defer e.containJournal(&err)
	return e.journal.Renew(context.Background(), e.owner, ids, e.clock.Now().UTC().Add(e.lease))
}

// beat renews the leases of the runs under way.
func (e *Engine) beat() {
	e.mu.Lock()
	ids := slices.Sorted(maps.Keys(e.runs))
	e.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	lost, err := e.renew(ids)
	if err != nil {
		e.log.Warn("leases not renewed", "error", err) // each append tries again
		return
	}
	for _, id := range lost {
		r := e.live(id)
		if r == nil {
			continue
		}
		r.mu.Lock()
		// A run that was parked or stopped in the meantime gave its lease back
		// itself, and one that has not appended yet has none.
		if !r.closed && r.head.LastSeq > 0 && r.stillNotMine() {
			r.abandon(&kernel.Error{Code: kernel.CodeLeaseLost, Message: "run " + id + " is driven by another process now"})
		}
		r.mu.Unlock()
	}
}

// stillNotMine looks once more, now that nothing of the run is under way.
func (r *run) stillNotMine() bool {
	head, err := r.journaled(context.Background())
	return err == nil && (head.Lease.Owner != r.lease.Owner || head.Lease.Token != r.lease.Token)
}
