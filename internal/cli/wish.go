package cli

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
)

// delivered is what --json prints of a wish that is journaled.
type delivered struct {
	Run     string `json:"run"`
	Session string `json:"session"`
	State   string `json:"state"` // when it was delivered
	Driver  string `json:"driver,omitempty"`
	Signal  string `json:"signal"`
}

// wish journals a wish for the run that find returns. Whoever drives it takes
// it up.
func (a *app) wish(ctx context.Context, flags journalFlags, find func(journal.Reader) (journal.Head, error), sig engine.Signal) error {
	j, err := a.openJournal(ctx, flags)
	if err != nil {
		return err
	}
	defer j.Close()
	h, err := find(j)
	if err != nil {
		return err
	}
	rt, err := holdfast.Open(ctx, holdfast.Options{Journal: j})
	if err != nil {
		return err
	}
	defer rt.Close()
	if err := rt.Signal(ctx, h.Run, sig); err != nil {
		return err
	}
	now := time.Now()
	out := delivered{Run: h.Run, Session: h.Session, State: string(h.State), Signal: string(sig.Kind)}
	if h.Lease.Held(now) {
		out.Driver = h.Lease.Owner
	}
	if flags.json {
		return writeJSON(a.stdout, out)
	}
	d := newDisplay(a.stdout)
	d.printf("run %s: %s is journaled; the run is %s\n", safeLine(h.Run), sig.Kind, standingOf(&h, now))
	if sig.Kind == engine.SignalSay && h.State == journal.Waiting {
		d.printf("it enters the conversation when the run goes on: `%s` shows what it waits for\n", waitShown(&h, flags.again()))
		return nil
	}
	d.goesOn(&h, flags)
	return nil
}
