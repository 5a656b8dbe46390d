package sim

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// handle is the journal as one process has it: the one that all share, behind
// whatever can go wrong on the way there and back.
type handle struct {
	*process

	base journal.Journal
}

var _ journal.Journal = (*handle)(nil)

// unreachable is all that a dead process, or one with a fault, learns.
func unreachable() error {
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the journal cannot be reached (simulated)"}
}

// through carries out one operation, with the fault that is due. A fault behind
// it hides what it returned.
func (h *handle) through(what string, writes bool, op func() error) error {
	if h.dead || h.broken != nil {
		return unreachable()
	}
	f := h.faults.journal(what, writes)
	if f.before(h, what) {
		return unreachable()
	}
	err := unreachable()
	h.guard(func() { err = op() })
	if f.after(h, what) {
		return unreachable()
	}
	return err
}

// Append passes an entry on, and shows it to the watch.
func (h *handle) Append(_ context.Context, e journal.Entry) error {
	begun := h.wall()
	return h.through("append", true, func() error {
		err := h.defect.append(h, e)
		h.watch.appended(h.process, &e, begun, err)
		return err
	})
}

// Acquire takes a lease.
func (h *handle) Acquire(_ context.Context, run, owner string, now, until time.Time) (l journal.Lease, err error) {
	err = h.through("acquire", true, func() (err error) {
		l, err = h.base.Acquire(context.Background(), run, owner, h.defect.take(now), until)
		h.watch.acquired(h.process, run, now, l, err)
		return err
	})
	return l, err
}

// Renew renews leases.
func (h *handle) Renew(_ context.Context, owner string, runs []string, until time.Time) (lost []string, err error) {
	err = h.through("renew", true, func() (err error) {
		lost, err = h.base.Renew(context.Background(), owner, runs, until)
		if err == nil {
			h.watch.renewed(h.process, runs, lost, until)
		}
		return err
	})
	return lost, err
}

// Release gives a lease back.
func (h *handle) Release(_ context.Context, run string, l journal.Lease) error {
	return h.through("release", true, func() error {
		err := h.base.Release(context.Background(), run, l)
		if err == nil {
			h.watch.released(run, l)
		}
		return err
	})
}

// Send records a signal.
func (h *handle) Send(_ context.Context, sig journal.Signal) (fresh bool, err error) {
	err = h.through("send", true, func() (err error) {
		fresh, err = h.base.Send(context.Background(), sig)
		return err
	})
	return fresh, err
}

// Notify records a notice.
func (h *handle) Notify(_ context.Context, n journal.Notice) (fresh bool, err error) {
	err = h.through("notify", true, func() (err error) {
		fresh, err = h.base.Notify(context.Background(), n)
		return err
	})
	return fresh, err
}

// Notices reads the notices of a session.
func (h *handle) Notices(_ context.Context, s journal.SessionID) (waiting []journal.Notice, err error) {
	err = h.through("notices", false, func() (err error) {
		waiting, err = h.base.Notices(context.Background(), s)
		return err
	})
	return waiting, err
}

// AllNotices reads the notices of a session, those that were seen included.
func (h *handle) AllNotices(_ context.Context, s journal.SessionID) (all []journal.Notice, err error) {
	err = h.through("notices", false, func() (err error) {
		all, err = h.base.AllNotices(context.Background(), s)
		return err
	})
	return all, err
}

// Decide takes a vote.
func (h *handle) Decide(_ context.Context, v journal.Vote) (a journal.Approval, err error) {
	err = h.through("decide", true, func() (err error) {
		a, err = h.defect.vote(h, v)
		h.watch.voted(v.ID, err)
		return err
	})
	return a, err
}

// Resolve records what was found out. Whoever found it looks once more as it is
// recorded, so that what people say is true at that instant.
func (h *handle) Resolve(_ context.Context, r journal.Resolution) (e journal.Effect, err error) {
	err = h.through("resolve", true, func() (err error) {
		if !h.world.agrees(&r) {
			return &kernel.Error{Code: kernel.CodeConflict, Message: "it is not so any more (simulated)"}
		}
		e, err = h.base.Resolve(context.Background(), r)
		h.watch.resolved(&r, err)
		return err
	})
	return e, err
}

// Read reads records.
func (h *handle) Read(_ context.Context, run string, after int64, limit int) (r []journal.Record, err error) {
	err = h.through("read", false, func() (err error) {
		r, err = h.base.Read(context.Background(), run, after, limit)

		return err
	})
	return r, err
}

// Head reads a head.
func (h *handle) Head(_ context.Context, run string) (head journal.Head, err error) {
	err = h.through("head", false, func() (err error) {
		head, err = h.base.Head(context.Background(), run)
		return err
	})
	return head, err
}

// Heads reads heads.
func (h *handle) Heads(_ context.Context, q journal.Query) (heads []journal.Head, err error) {
	err = h.through("heads", false, func() (err error) {
		heads, err = h.base.Heads(context.Background(), q)
		return err
	})
	return heads, err
}

// Ready reads which runs can be taken up.
func (h *handle) Ready(_ context.Context, now time.Time, limit int) (heads []journal.Head, err error) {
	err = h.through("ready", false, func() (err error) {
		heads, err = h.base.Ready(context.Background(), now, limit)
		return err
	})
	return heads, err
}

// Signals reads the signals that wait.
func (h *handle) Signals(_ context.Context, run string) (s []journal.Signal, err error) {
	err = h.through("signals", false, func() (err error) {
		s, err = h.base.Signals(context.Background(), run)
		return err
	})
	return s, err
}

// Approval reads an approval.
func (h *handle) Approval(_ context.Context, id string) (a journal.Approval, err error) {
	err = h.through("approval", false, func() (err error) {
		a, err = h.base.Approval(context.Background(), id)
		return err
	})
	return a, err
}

// Approvals reads approvals.
func (h *handle) Approvals(_ context.Context, q journal.ApprovalQuery) (a []journal.Approval, err error) {
	err = h.through("approvals", false, func() (err error) {
		a, err = h.base.Approvals(context.Background(), q)
		return err
	})
	return a, err
}

// Effect reads a row of the ledger.
func (h *handle) Effect(_ context.Context, id string) (e journal.Effect, err error) {
	err = h.through("effect", false, func() (err error) {
		e, err = h.base.Effect(context.Background(), id)
		return err
	})
	return e, err
}

// Effects reads the ledger.
func (h *handle) Effects(_ context.Context, q journal.EffectQuery) (e []journal.Effect, err error) {
	err = h.through("effects", false, func() (err error) {
		e, err = h.base.Effects(context.Background(), q)
		return err
	})
	return e, err
}

// Links reads a run's chain.
func (h *handle) Links(_ context.Context, run string, after int64, limit int) (l []journal.Hash, err error) {
	err = h.through("links", false, func() (err error) {
		l, err = h.base.Links(context.Background(), run, after, limit)
		return err
	})
	return l, err
}

// Seals reads the chain over all runs.
func (h *handle) Seals(_ context.Context, after int64, limit int) (s []journal.Seal, err error) {
	err = h.through("seals", false, func() (err error) {
		s, err = h.base.Seals(context.Background(), after, limit)
		return err
	})
	return s, err
}

// Changes reads the number of changes.
func (h *handle) Changes(context.Context) (n int64, err error) {
	err = h.through("changes", false, func() (err error) {
		n, err = h.base.Changes(context.Background())
		return err
	})
	return n, err
}

// Close does nothing: the journal outlives its processes.
func (h *handle) Close() error { return nil }
