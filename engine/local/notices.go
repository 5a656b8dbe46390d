package local

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// notice records a notice for a session, that of a run where one is named, and
// lets the session's run look at it.
func (e *Engine) notice(ctx context.Context, id string, sig *engine.Signal) error {
	var of journal.SessionID
	switch {
	case (id == "") == (sig.Session == nil):
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "a notice is for a run or for a session"}
	case id == "":
		of = *sig.Session
	default:
		head, err := e.journal.Head(ctx, id)
		if err != nil {
			return err
		}
		if head.State == journal.Stopped {
			return journal.OverAlready(id)
		}
		of = head.SessionOf()
	}
	_, err := e.journal.Notify(ctx, journal.Notice{
		ID: sig.ID, Tenant: of.Tenant, User: of.User, Session: of.Session,
		By: kernel.Clip(sig.By, 200), At: e.clock.Now().UTC(), Text: sig.Text,
	})
	if err != nil {
		return err
	}
	if id == "" {
		id = e.open(ctx, of)
	}
	if id != "" {
		e.wake(ctx, id)
	}
	return nil
}

// open is the session's run that has not stopped; empty: there is none, or the
// journal cannot say, which delays the notice at most.
func (e *Engine) open(ctx context.Context, s journal.SessionID) string {
	heads, err := e.journal.Heads(ctx, journal.Query{Owner: &s.Owner, Session: s.Session, Limit: 1})
	if err != nil || len(heads) == 0 || heads[0].State == journal.Stopped {
		return ""
	}
	return heads[0].Run
}

// noticed is the event of a notice that is taken up.
func noticed(at kernel.Time, id, by, text string) (kernel.Event, engine.Content) {
	return kernel.Noticed{At: at, Notice: id, By: by, Size: len(text)}, engine.Content{Said: &engine.Said{Text: text}}
}

// takeUpNotices takes up what the session's earlier runs left, or what was sent
// before the first one, so that the first request has it.
func (r *run) takeUpNotices() error {
	for _, n := range r.left {
		if err := r.take(noticed(r.now(), n.ID, n.By, n.Text)); err != nil {
			return err
		}
		r.batch.noticed = append(r.batch.noticed, n.ID)
	}
	return nil
}

// acknowledge notes which notices a model has seen by an event: those that went
// with the request and are not pending any more.
func (r *run) acknowledge(attached []string) {
	for _, id := range attached {
		if !slices.Contains(r.x.State.Notices, id) {
			r.batch.seen = append(r.batch.seen, id)
		}
	}
}
