package cli

import (
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// steps says what a run that does not go on by itself waits for, and exactly
// what to type: for each open approval, for an effect that is unknown, and to
// go on.
func (d *display) steps(approvals []journal.Approval, r *engine.Run, flags journalFlags) {
	for i := len(approvals) - 1; i >= 0; i-- { // the first asked first
		p := &approvals[i]
		if p.State != journal.ApprovalOpen {
			continue
		}
		d.printf("\n%s", describeApproval(p, time.Now()))
		d.decide(p, flags.again())
	}
	if w, waits := r.State.Waiting(); waits && w.For == kernel.WaitResolution {
		d.printf("\n")
		d.findOut(w.Effect, flags.again())
	}
	if !r.Head.Lease.Held(time.Now()) {
		d.printf("then, to go on: holdfast work --once%s\n", flags.again())
	}
}

// findOut says what to type about an effect that is unknown.
func (d *display) findOut(effect, again string) {
	id := quoteArgument(effect)
	d.printf("find out whether effect %s took place: holdfast effects show%s %s\n", safeLine(effect), again, id)
	d.printf("then say so: holdfast effects resolve%s %s --landed|--no-effect|--still-unknown --note TEXT\n", again, id)
}
