package sim

import (
	"errors"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// row is a row of the ledger as it should be, kept by the words of the design.
type row struct {
	id, tenant, tool string
	request          string // tool and arguments, as planned
	user             string
	run, call        string
	class            kernel.EffectClass
	state            journal.EffectState
	doubted          bool // an earlier claim of the same key may have landed it
	settled          time.Time
}

// classOf is the class that a call was recorded with, whatever its tool says
// since.
func (w *watch) classOf(c *callPlan, id string) kernel.EffectClass {
	if r := w.runs[c.run.id]; r != nil && r.classes[id] != "" {
		return r.classes[id]
	}
	return c.traits().class
}

// requestOf is what makes two calls equal, by the plan.
func requestOf(c *callPlan) string { return c.tool + c.args }

// ruling says whether a claim is to be given: "" or why not.
func (w *watch) ruling(run *runPlan, c *journal.Claim, settled []journal.Settlement) kernel.ClaimWhy {
	plan := run.call(c.Call)
	rows := w.after(settled)
	own := rows(c.ID)
	if own != nil {
		switch mine := own.run == run.id && own.call == c.Call; {
		case own.request != requestOf(plan) || own.user != run.user:
			return kernel.ClaimOther
		case own.state == journal.EffectLanded:
			return kernel.ClaimStored
		case own.state == journal.EffectRunning && !mine:
			return kernel.ClaimBusy
		case own.state == journal.EffectNone:
		case own.class == kernel.Idempotent && c.Class == kernel.Idempotent:
			return ""
		default:
			return kernel.ClaimUnknown
		}
	}
	return w.against(run, plan, c, rows)
}

// against says what other effects of the same tool have against a claim.
func (w *watch) against(run *runPlan, plan *callPlan, c *journal.Claim, rows func(string) *row) kernel.ClaimWhy {
	var unknown, busy, blocked, window bool
	t := plan.traits()
	for _, id := range w.claimed {
		r := rows(id)
		if id == c.ID || r.tenant != run.tenant || r.tool != plan.tool {
			continue
		}
		equal := r.request == requestOf(plan)
		switch r.state {
		case journal.EffectUnknown:
			unknown = unknown || equal
			blocked = blocked || t.exclusive
		case journal.EffectRunning:
			busy = busy || equal && !overlaps(r.class, c.Class, t.window)
		case journal.EffectLanded:
			window = window || equal && t.window > 0 && c.At.Before(r.settled.Add(t.window))
		case journal.EffectNone:
		}
	}
	switch {
	case unknown:
		return kernel.ClaimUnknown
	case busy:
		return kernel.ClaimBusy
	case blocked:
		return kernel.ClaimBlocked
	case window:
		return kernel.ClaimWindow
	}
	return ""
}

// overlaps reports whether two equal requests may be under way at once.
func overlaps(a, b kernel.EffectClass, window time.Duration) bool {
	return a == kernel.Idempotent && b == kernel.Idempotent && window == 0
}

// after returns the rows as they stand behind settlements that are not stored.
func (w *watch) after(settled []journal.Settlement) func(id string) *row {
	if len(settled) == 0 {
		return func(id string) *row { return w.ledger[id] }
	}
	changed := map[string]*row{}
	for i := range settled {
		s := &settled[i]
		old := changed[s.Effect]
		if old == nil {
			old = w.ledger[s.Effect]
		}
		if old != nil {
			changed[s.Effect] = old.settle(s)
		}
	}
	return func(id string) *row {
		if r := changed[id]; r != nil {
			return r
		}
		return w.ledger[id]
	}
}

func (r *row) settle(s *journal.Settlement) *row {
	next := *r
	if r.state != journal.EffectRunning && r.state != journal.EffectUnknown {
		return &next
	}
	state := map[kernel.Disposition]journal.EffectState{
		kernel.Landed: journal.EffectLanded, kernel.DidNotHappen: journal.EffectNone, kernel.InDoubt: journal.EffectUnknown,
	}[s.Disposition]
	if state == journal.EffectNone && r.state == journal.EffectRunning && r.doubted {
		state = journal.EffectUnknown // of this claim alone it is known
	}
	if state != r.state {
		next.state, next.settled = state, s.At
	}
	return &next
}

// checkClaim compares what the ledger says to a claim with what it should say.
func (w *watch) checkClaim(e *journal.Entry, err error) {
	if e.Claim == nil {
		return
	}
	run := w.plan.run(e.Head.Run)
	why := w.ruling(run, e.Claim, e.Settled)
	var no *journal.Refusal
	switch {
	case err == nil && why == "" && w.ledger[e.Claim.ID] != nil:
		w.seen["claimed again"]++
	case err == nil && why != "":
		w.failf("I6", "call %s of %s may begin, although %s", e.Claim.Call, run.id, why)
	case errors.As(err, &no) && no.Why != why && no.Why != kernel.ClaimApproval:
		w.failf("ledger", "call %s of %s is refused as %q, and should be %q", e.Claim.Call, run.id, no.Why, why)
	}
}

// takeEffects keeps the ledger a second time, and compares.
func (w *watch) takeEffects(r *shadow, e *journal.Entry) {
	for i := range e.Settled {
		s := &e.Settled[i]
		old := w.ledger[s.Effect]
		if old == nil || old.run != r.plan.id || old.call != s.Call {
			w.failf("ledger", "%s settles effect %s of call %s, which it has not claimed", r.plan.id, s.Effect, s.Call)
			continue
		}
		next := old.settle(s)
		w.ledger[s.Effect] = next
		if next.state == journal.EffectUnknown && old.state != next.state {
			w.doubt(r, s.Effect)
		}
	}
	if c := e.Claim; c != nil {
		plan := r.plan.call(c.Call)
		if w.ledger[c.ID] == nil {
			w.claimed = append(w.claimed, c.ID)
		}
		before := w.ledger[c.ID]
		w.ledger[c.ID] = &row{
			doubted: before != nil && (before.doubted || before.state == journal.EffectUnknown) && before.state != journal.EffectNone,
			id:      c.ID, tenant: r.plan.tenant, tool: plan.tool, request: requestOf(plan), user: r.plan.user,
			run: r.plan.id, call: c.Call, class: c.Class, state: journal.EffectRunning,
		}
		w.checkRow(w.ledger[c.ID])
	}
	for i := range e.Settled {
		if r := w.ledger[e.Settled[i].Effect]; r != nil {
			w.checkRow(r)
		}
	}
}

// doubt lets people look into an effect.
func (w *watch) doubt(r *shadow, id string) {
	if e, err := w.base.Effect(background(), id); err == nil {
		w.crowd.inDoubt(r.plan, &e)
	}
}

// checkRow compares a row with what is stored, and with the truth.
func (w *watch) checkRow(r *row) {
	stored, err := w.base.Effect(background(), r.id)
	if err != nil || stored.State != r.state || stored.Run != r.run || stored.Call != r.call || stored.Class != r.class {
		w.failf("ledger", "effect %s of %s/%s (%s) should be %s: %+v, %v", r.id, r.run, r.call, r.class, r.state, stored, err)
		return
	}
	landed, late := 0, false
	if o := w.world.effects[r.id]; o != nil {
		landed, late = o.landed, o.late
	}
	switch {
	case r.state == journal.EffectLanded && landed == 0:
		w.failf("ledger", "effect %s of %s/%s has landed by the ledger, and not outside", r.id, r.run, r.call)
	case r.state == journal.EffectNone && landed > 0 && !late:
		w.failf("ledger", "effect %s of %s/%s had no effect by the ledger, and took place outside", r.id, r.run, r.call)
	}
}

// resolved takes a resolution.
func (w *watch) resolved(res *journal.Resolution, err error) {
	r := w.ledger[res.Effect]
	if err != nil || r == nil || w.findings[res.ID] { // delivered again, it changes nothing
		return
	}
	w.findings[res.ID] = true
	w.seen["resolved "+string(res.As)]++
	next := *r
	if r.state == journal.EffectUnknown {
		switch res.As {
		case kernel.FoundLanded:
			next.state, next.settled = journal.EffectLanded, res.At
		case kernel.FoundNoEffect:
			next.state, next.settled = journal.EffectNone, res.At
		case kernel.FoundUnknown:
		}
	}
	w.ledger[res.Effect] = &next
	if s := w.runs[r.run]; s != nil && s.disturbed {
		s.uncertain = true // who finds out first is chance
	}
	w.checkRow(&next)
}

// toolBegins looks at a tool that is about to do something.
func (w *watch) toolBegins(p *process, c *visit, call, run string) {
	r := w.runs[run]
	if r == nil {
		w.failf("records", "a tool runs for %s, which is not recorded", run)
		return
	}
	if r.lease.Owner != p.name {
		if !w.stepsBack {
			w.failf("lease", "%s begins call %s of %s, which %q drives", p.name, call, run, r.lease.Owner)
		}
		c.late = true // it goes by a clock that was set back; a real one has a monotonic one, too
		return
	}
	switch {
	case r.head.State == journal.Stopped:
		w.failf("I4", "call %s of %s begins after its stop", call, run)
	case r.cancelled:
		w.failf("I3", "call %s of %s begins after it was cancelled", call, run)
	case !w.started(r, call):
		w.failf("I6", "call %s of %s begins, and is not recorded as started", call, run)
	}
	if c.class == kernel.Read {
		return
	}
	if row := w.ledger[c.id]; row == nil || row.state != journal.EffectRunning || row.run != run || row.call != call {
		w.failf("I6", "call %s of %s begins without its claim", call, run)
	}
}

// started reports whether a call is running by the records.
func (w *watch) started(r *shadow, call string) bool {
	for i := range r.replay.State.Batch {
		if c := &r.replay.State.Batch[i]; c.Call.ID == call {
			return c.Stage == kernel.StageRunning
		}
	}
	return false
}
