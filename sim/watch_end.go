package sim

import (
	"bytes"
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// end looks at everything once more, when nothing happens any more.
func (w *watch) end() {
	for _, r := range w.begun {
		w.reread(r)
	}
	for _, h := range w.crowd.heard {
		w.checkWish(h)
	}
	for _, id := range w.claimed {
		w.checkRow(w.ledger[id])
	}
	for _, id := range w.asked {
		w.checkVotes(id)
	}
	for _, r := range w.begun {
		w.compare(r)
		w.checkWords(r)
		w.checkHeard(r)
	}
	w.checkChain()
}

// reread compares a run as it reads from the journal with the one that was
// watched.
func (w *watch) reread(r *shadow) {
	run, err := engine.Load(background(), w.base, r.plan.id)
	if err != nil {
		w.failf("replay", "%s cannot be read: %v", r.plan.id, err)
		return
	}
	got, err1 := kernel.EncodeState(run.State)
	want, err2 := kernel.EncodeState(r.replay.State)
	if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		w.failf("replay", "%s reads as %s, and was watched as %s", r.plan.id, got, want)
	}
}

// checkWish looks what became of a wish that was taken: a cancel ends the run,
// and what was said becomes an event, unless its host failed.
func (w *watch) checkWish(h heard) {
	r := w.runs[h.run.id]
	switch {
	case h.wish.kind == wishNotice:
		w.checkKept(h)
	case h.wish.kind == wishCancel && r.head.State != journal.Stopped:
		w.failf("signals", "%s was cancelled, and is %s", h.run.id, r.head.State)
	case h.wish.kind == wishSay && !r.signals[h.wish.id] && !w.excused(r):
		w.failf("signals", "%s was told %s, and has not heard it", h.run.id, h.wish.id)
	}
}

// excused reports that a run may have come to its end without looking at what it
// was sent: its host, or its journal, failed.
func (w *watch) excused(r *shadow) bool {
	return r.head.Stop == kernel.StopHostError || w.faults.broken+w.faults.torn > 0 && r.disturbed
}

// checkWords looks that the model was not told anything of an effect that is not
// so: a call that was not run has not been run, and one without effect has none.
func (w *watch) checkWords(r *shadow) {
	for _, m := range r.replay.History.Messages() {
		if m.Role != kernel.RoleTool {
			continue
		}
		b := &m.Blocks[0]
		at := r.plan.id + "/" + b.CallID
		without := strings.Contains(b.Text, "had no effect") || strings.Contains(b.Text, "without effect") || strings.Contains(b.Text, "has changed nothing")
		switch {
		case strings.HasPrefix(b.Text, "Not run") && w.world.called[at] > 0:
			w.failf("I2", "%s is told of call %s: %q, and it was run", r.plan.id, b.CallID, b.Text)
		case without && w.world.done[at] && !w.stepsBack:
			w.failf("I2", "%s is told of call %s: %q, and its effect took place", r.plan.id, b.CallID, b.Text)
		case b.IsError && w.world.done[at] && !admits(b.Text):
			w.failf("I2", "%s is told of call %s: %q, and not that it may have taken effect", r.plan.id, b.CallID, b.Text)
		}
	}
}

// checkHeard looks that a run took up all that it was sent before it stopped,
// unless its host failed.
func (w *watch) checkHeard(r *shadow) {
	head, err := w.base.Head(background(), r.plan.id)
	if err != nil || head.State == journal.Stopped && !w.excused(r) && head.Pending > 0 {
		w.failf("signals", "%s stopped (%s), and %d signals wait for it (%v)", r.plan.id, head.Stop, head.Pending, err)
	}
}

// checkChain verifies the chains, which must be those of what was appended.
func (w *watch) checkChain() {
	report, err := journal.VerifyAll(background(), w.reader(), nil)
	switch {
	case err != nil:
		w.failf("chain", "the chains cannot be verified: %v", err)
	case report.Flaw != nil:
		w.failf("chain", "%s", report.Flaw)
	case report.Runs != int64(len(w.begun)) || report.Records != int64(w.records):
		w.failf("chain", "%d runs and %d records are chained, and %d and %d were appended", report.Runs, report.Records, len(w.begun), w.records)
	}
	for _, r := range w.begun {
		if head, err := w.reader().Head(background(), r.plan.id); err != nil || head.Hash != r.hash {
			w.failf("chain", "the head of %s is %s, and its records come to %s (%v)", r.plan.id, head.Hash, r.hash, err)
		}
	}
}

// reader is the journal for whoever verifies it.
func (w *watch) reader() journal.Reader { return w.defect.reader(w.simulation) }

// admits reports whether a text says that an effect took place, or may have.
func admits(text string) bool {
	for _, words := range []string{"may have taken", "took effect", "outcome is unknown", "not known"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
