package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// job is who the findings of Check are by.
const job = "verification job"

// Checked is what the job found out about one submission.
type Checked struct {
	Effect string         `json:"effect"`
	Key    string         `json:"key"`
	As     kernel.Finding `json:"as"` // still_unknown: nothing was recorded
	Note   string         `json:"note"`
}

// Check asks the service about every submission whose outcome is unknown, and
// records what it finds, with the SHA-256 of the answer. A service that takes a key
// once, and cannot be asked, is sent the order again under the same key: that makes
// no second ticket. What the service does not have, or refuses, counts once no request
// can be under way any more; what it does not say stays unknown. A service that
// promises nothing is not asked: those are for people. The submissions that waited then go on.
func (d *Desk) Check(ctx context.Context) ([]Checked, error) {
	rows, err := d.rt.Journal().Effects(ctx, journal.EffectQuery{State: journal.EffectUnknown})
	if err != nil {
		return nil, err
	}
	all := []Checked{}
	for i := range rows {
		e := &rows[i]
		if e.Tool != SubmitTicket || e.Class != kernel.Reconcilable && e.Class != kernel.Idempotent {
			continue
		}
		found, err := d.check(ctx, e)
		if err != nil {
			return all, err
		}
		all = append(all, found)
	}
	return all, d.Work(ctx)
}

// check asks about one submission.
func (d *Desk) check(ctx context.Context, e *journal.Effect) (Checked, error) {
	var o Order
	if err := json.Unmarshal(e.Arguments, &o); err != nil {
		return Checked{}, err
	}
	c := Checked{Effect: e.ID, Key: o.Ticket, As: kernel.FoundUnknown}
	there, t, err := d.ask(ctx, e, o)
	var result []byte
	switch {
	case err != nil:
		c.Note = err.Error()
		return c, ctx.Err()
	case there == kernel.Present:
		c.As, c.Note = kernel.FoundLanded, "the service has it as "+t.ID
		if result, err = json.Marshal(Receipt{Ticket: o.Ticket, Remote: t.ID}); err != nil {
			return c, err
		}
	case d.config.Now().Sub(e.SettledAt) < d.config.Settle:
		c.Note = fmt.Sprintf("the service does not have it, or refuses it, but a request may be under way for %s", d.config.Settle)
		return c, nil
	default:
		c.As, c.Note = kernel.FoundNoEffect, "the service has no ticket of that key, or refuses it, and no request is under way any more"
	}
	err = d.record(ctx, e, holdfast.Signal{As: c.As, Reason: c.Note, Result: result, Evidence: t.evidence})
	return c, err
}

// ask asks by key, or by the order itself.
func (d *Desk) ask(ctx context.Context, e *journal.Effect, o Order) (kernel.Presence, found, error) {
	if e.Class == kernel.Reconcilable {
		return d.client.byKey(ctx, o)
	}
	t, err := d.client.create(ctx, e.Tenant, e.User, o)
	if err == nil {
		return kernel.Present, t, nil
	}
	if t.evidence != "" { // it is the service that refuses
		return kernel.Absent, t, nil
	}
	return kernel.PresenceUnknown, found{}, err
}

// record appends what the job found. That somebody else was faster is no error.
func (d *Desk) record(ctx context.Context, e *journal.Effect, sig holdfast.Signal) error {
	sig.Kind, sig.Effect, sig.By = holdfast.SignalResolve, e.ID, job
	err := d.rt.Signal(ctx, e.Run, sig)
	if kernel.CodeOf(err) == kernel.CodeConflict {
		return nil
	}
	return err
}
