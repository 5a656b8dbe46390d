package cli

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// steps says what a run that does not go on by itself waits for, and exactly
// what to type: for each open approval, for an effect that is unknown, and to
// go on.
func (d *display) steps(ctx context.Context, j journal.Reader, approvals []journal.Approval, r *engine.Run, flags journalFlags) error {
	now, first := time.Now(), true
	for i := len(approvals) - 1; i >= 0; i-- { // the first asked first
		p := &approvals[i]
		if p.State != journal.ApprovalOpen {
			continue
		}
		first = false
		risk, err := rating(ctx, j, p)
		if err != nil {
			return err
		}
		d.printf("\n%s", describeApproval(p, risk, now))
		d.decide(p, flags.again(), now)
	}
	w, waits := r.State.Waiting()
	if waits && w.For == kernel.WaitResolution && r.Head.Pending == 0 { // a signal may be the finding
		first = false
		d.printf("\neffect %s is unknown: nobody knows whether it took place\n", safeLine(w.Effect))
		d.findOut(w.Effect, flags.again())
	}
	if !driven(&r.Head, now) {
		d.printf("%sto go on: holdfast work --once%s\n", pick(first, "", "then, "), flags.again())
	}
	return nil
}

// findOut says what to type about an effect that is unknown.
func (d *display) findOut(effect, again string) {
	d.printf("to see where to look for it: holdfast effects show%s %s\n", again, quoteArgument(effect))
	d.sayFound(effect, again)
}

func (d *display) sayFound(effect, again string) {
	d.printf("to say what was found out: holdfast effects resolve%s %s --landed|--no-effect|--still-unknown --note TEXT\n", again, quoteArgument(effect))
}

// loose says which effects of a run that has stopped nobody knows the outcome
// of, and what to type.
func (d *display) loose(effects []journal.Effect, flags journalFlags) {
	for i := range effects {
		e := &effects[i]
		if e.State != journal.EffectUnknown {
			continue
		}
		d.printf("\neffect %s of call %s (%s) is unknown: nobody knows whether it took place\n", safeLine(e.ID), safeLine(e.Call), safeLine(e.Tool))
		d.findOut(e.ID, flags.again())
	}
}

// waitShown is the command that shows what a run waits for.
func waitShown(h *journal.Head, again string) string {
	if h.Approval != "" {
		return "holdfast approvals show" + again + " " + quoteArgument(h.Approval)
	}
	return "holdfast effects ls --unknown --run " + quoteArgument(h.Run) + again
}

// goesOn says what becomes of a run that somebody has just told something, and
// who takes it up.
func (d *display) goesOn(h *journal.Head, flags journalFlags) {
	run, now := safeLine(h.Run), time.Now()
	switch {
	case h.State == journal.Stopped:
		d.printf("run %s has stopped (%s): nothing goes on by this\n", run, h.Stop)
	case driven(h, now):
		d.printf("run %s is taken up by %s\n", run, driver(h.Lease.Owner))
	default:
		d.printf("run %s is taken up by a holdfast work that is at it, or by: holdfast work --once%s\n", run, flags.again())
	}
}
