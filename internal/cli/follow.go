package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// follow starts a run and waits until it stops or waits for people, showing
// what happens on the way. The end of ctx cancels the run, which still stops in
// order. No run is returned when none has begun; a run with an error is one
// whose end the journal does not hold, as far as it is known.
func follow(ctx context.Context, eng engine.Engine, start engine.Start, see func(engine.Update)) (*engine.Run, error) {
	id, err := eng.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	rest := context.WithoutCancel(ctx)
	begun, err := eng.Get(rest, id)
	if err != nil { // the rest of it will fail too
		begun = &engine.Run{Head: journal.Head{Run: id, Session: start.Session}}
	}
	defer cancelAtEnd(ctx, eng, id)()
	// A run that waits when it is cancelled comes to its stop all the same.
	w := watcher{eng: eng, run: id, see: see, on: func() bool { return ctx.Err() != nil }}
	for {
		waits, lost := w.watch(rest)
		r, err := eng.Get(rest, id)
		switch {
		case err == nil && (r.Outcome != nil || waits && r.Head.State == journal.Waiting):
			return r, nil
		case err == nil && waits: // somebody decided already, and it goes on
			continue
		case err != nil:
			r, lost = begun, cmp.Or(lost, err)
		case lost == nil: // another process took it over, and is gone as well
			lost = &kernel.Error{Code: kernel.CodeLeaseLost, Message: "nobody drives the run " + safeLine(id) + " any more",
				Hint: "holdfast work goes on with it"}
		}
		r.Outcome = endLost(r, lost)
		return r, lost
	}
}

// cancelAtEnd cancels a run when ctx ends, with its cause for a reason where that
// has one. Call stop when there is nothing left to cancel.
func cancelAtEnd(ctx context.Context, eng engine.Engine, run string) (stop func()) {
	cancelled := make(chan struct{})
	unset := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		reason := "interrupted"
		if why, ok := errors.AsType[*kernel.Error](context.Cause(ctx)); ok {
			reason = why.Message
		}
		// The run may have stopped in this instant, which is as good.
		_ = eng.Signal(context.WithoutCancel(ctx), run, engine.Signal{Kind: engine.SignalCancel, By: "operator", Reason: reason})
	})
	return func() {
		if !unset() {
			<-cancelled
		}
	}
}

// watcher follows one run.
type watcher struct {
	eng  engine.Engine
	run  string
	see  func(engine.Update)
	on   func() bool // whether to watch on when it waits; nil: not
	seen int64       // the last record that was shown
}

// watch shows the run until it stops or waits for people, or ctx ends.
func (w *watcher) watch(ctx context.Context) (waits bool, err error) {
	for u, err := range w.eng.Watch(ctx, w.run, w.seen) {
		switch {
		case err != nil:
			return false, err
		case u.Waiting != nil && (w.on == nil || !w.on()):
			return true, nil
		}
		w.seen = max(w.seen, u.Seq)
		w.see(u)
	}
	return false, nil
}

// endLost is the outcome of a run whose end the journal does not hold, with
// what the journal holds of it.
func endLost(r *engine.Run, lost error) *kernel.Outcome {
	o := standing(r)
	o.Stop, o.Detail, o.FirstBad = kernel.StopHostError, asError(lost).Error(), kernel.LinkHarness
	return &o
}
