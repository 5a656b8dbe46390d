package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// crowd is all the people: who ask, approve, look into things, say more and
// cancel. They reach any process that is there, and try again when they learn
// nothing.
type crowd struct {
	*simulation

	questions map[string]int       // asked so far, by run and call
	issued    map[string]time.Time // the latest delivery of a vote, by id
	voters    map[string]*vote     // by id
	about     map[string]string    // the question of a vote, by id
	looks     int
	heard     []heard // wishes that were taken
}

// heard is a wish that was taken.
type heard struct {
	run  *runPlan
	wish *wish
}

func newCrowd(s *simulation) *crowd {
	return &crowd{simulation: s, questions: map[string]int{}, issued: map[string]time.Time{}, voters: map[string]*vote{}, about: map[string]string{}}
}

func background() context.Context { return context.Background() }

// gather lets everybody begin.
func (c *crowd) gather() {
	for _, r := range c.plan.runs {
		c.visit(r.begins, "start "+r.id, func(p *process) bool { return c.start(p, r) })
		for _, w := range slices.Concat(r.wishes, r.notices) {
			for range 1 + times(w.twice) {
				c.visit(r.begins+w.after, w.id, func(p *process) bool { return c.wish(p, r, &w) })
			}
		}
	}
	if f := c.faults.profile; f.leaves+f.jumps > 0 {
		c.queue.minor(5*time.Second, "gremlin", c.gremlin)
	}
}

func times(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// patience is how often somebody tries again once nothing goes wrong any more.
const patience = 30

// visit lets somebody do something at a process, after d, until it is done.
func (c *crowd) visit(d time.Duration, what string, do func(p *process) (done bool)) {
	c.again(d, what, patience, do)
}

func (c *crowd) again(d time.Duration, what string, left int, do func(p *process) (done bool)) {
	c.queue.add(nil, d, what, func() {
		slot := c.chance.IntN(len(c.slots))
		if c.slots[slot].dead && c.plan.once[slot] { // it is there when somebody wants something
			c.boot(slot)
		}
		p, done := c.slots[slot], false
		if !p.dead && !p.asleep {
			c.queue.running.proc = p
			c.tracef(p, "PEOPLE %s", what)
			done = do(p) && !p.dead
		}
		if c.faults.calm {
			left--
		}
		if !done && left > 0 {
			c.again(time.Duration(1000+c.chance.IntN(4000))*time.Millisecond, what, left, do)
		}
	})
}

func (c *crowd) start(p *process, r *runPlan) bool {
	_, err := p.engine.Start(background(), engine.Start{
		Agent: p.agent(r.id), Question: r.question, Run: r.id, Session: r.session, Tenant: r.tenant, User: r.user,
	})
	if code := kernel.CodeOf(err); err != nil && code != kernel.CodeConflict && code != kernel.CodeLocalStorage && code != kernel.CodeCancelled {
		c.failf("start", "%s cannot be started: %v", r.id, err)
	}
	return c.watch.runs[r.id] != nil
}

func (c *crowd) wish(p *process, r *runPlan, w *wish) bool {
	sig := engine.Signal{ID: w.id, Kind: engine.SignalSay, By: r.user, Text: "and " + w.id}
	if w.kind == wishCancel {
		sig = engine.Signal{ID: w.id, Kind: engine.SignalCancel, By: r.user, Reason: "enough"}
	}
	if w.kind == wishNotice {
		sig = engine.Signal{ID: w.id, Kind: engine.SignalNotice, By: r.user, Text: noticeText(w.id)}
	}
	err := p.engine.Signal(background(), r.id, sig)
	if err == nil && !p.dead {
		c.heard = append(c.heard, heard{r, w})
	}
	return c.over(err, kernel.CodeRunStopped)
}

// over reports that a wish was taken, or answered for good.
func (c *crowd) over(err error, final ...kernel.Code) bool {
	code := kernel.CodeOf(err)
	if slices.Contains(final, code) {
		return true
	}
	if err != nil && code != kernel.CodeLocalStorage && code != kernel.CodeNotFound {
		c.failf("signal", "a wish is answered by %v", err)
	}
	return err == nil
}

// asked lets people vote on a question.
func (c *crowd) asked(r *runPlan, a *journal.Approval) {
	plan := r.call(a.Call)
	at := a.Run + "/" + a.Call
	votes := plan.answers[c.questions[at]%len(plan.answers)]
	c.questions[at]++
	for i := range votes {
		v := &votes[i]
		id := fmt.Sprintf("vote-%s-%s", a.ID, v.by)
		c.voters[id], c.about[id] = v, a.ID
		for n := range 1 + times(v.twice) {
			c.visit(v.after+time.Duration(n)*7*time.Second, id, func(p *process) bool { return c.vote(p, id, v, a) })
		}
	}
}

func (c *crowd) vote(p *process, id string, v *vote, a *journal.Approval) bool {
	sig := engine.Signal{ID: id, Kind: engine.SignalRefuse, By: v.by, Approval: a.ID, Hash: a.Hash, Reason: "not now"}
	if v.yes {
		sig.Kind = engine.SignalApprove
	}
	if v.stale {
		sig.Hash = "0000"
	}
	c.issued[id] = c.wall()
	err := p.engine.Signal(background(), a.Run, sig)
	return c.over(err, kernel.CodeExpired, kernel.CodeAlreadyDecided, kernel.CodeStaleApproval, kernel.CodeForbidden)
}

// inDoubt lets people look into an effect.
func (c *crowd) inDoubt(r *runPlan, e *journal.Effect) {
	plan := r.call(e.Call)
	if plan.looked.after > 0 {
		c.look(plan, e.ID, 0)
	}
}

func (c *crowd) look(plan *callPlan, effect string, before int) {
	c.looks++
	id := fmt.Sprintf("look-%d", c.looks)
	c.visit(plan.looked.after, id, func(p *process) bool {
		e, err := c.base.Effect(background(), effect)
		if err != nil || e.State != journal.EffectUnknown {
			return true
		}
		sig := engine.Signal{Kind: engine.SignalResolve, By: "dee", Effect: effect}
		sig.As, sig.Result = c.finding(plan, effect, before)
		sig.ID = id + " " + string(sig.As) // another finding is another word
		sig.Reason = sig.ID
		err = p.engine.Signal(background(), e.Run, sig)
		if done := c.over(err, kernel.CodeConflict); !done || p.dead {
			return false
		}
		if sig.As == kernel.FoundUnknown {
			c.look(plan, effect, before+1)
		}
		return true
	})
}

// finding is what somebody finds who looks at the world.
func (c *crowd) finding(plan *callPlan, effect string, before int) (kernel.Finding, []byte) {
	truth := kernel.Absent
	if o := c.world.effects[effect]; o != nil {
		truth = o.truth()
	}
	switch {
	case before < plan.looked.vague || truth == kernel.PresenceUnknown:
		return kernel.FoundUnknown, nil
	case truth == kernel.Absent:
		return kernel.FoundNoEffect, nil
	case plan.looked.result:
		return kernel.FoundLanded, []byte("found: " + plan.tool + " for " + plan.run.tenant)
	}
	return kernel.FoundLanded, nil
}

// gremlin sends processes away, and moves the clock.
func (c *crowd) gremlin() {
	if c.faults.calm {
		return
	}
	c.queue.minor(5*time.Second, "gremlin", c.gremlin)
	if c.faults.strike(c.faults.leaves * 300) {
		if p := c.slots[c.chance.IntN(len(c.slots))]; !p.dead {
			c.tracef(p, "is told to leave")
			c.seen["leave"]++
			c.watch.disturbed(p)
			p.leave()
		}
	}
	if c.faults.strike(c.faults.jumps * 300) {
		by := time.Duration(1+c.chance.IntN(60)) * time.Second
		if c.faults.steps && c.chance.IntN(2) == 0 {
			by = -by
		}
		c.tracef(nil, "the clock jumps by %s", by)
		c.seen["clock jump"]++
		c.offset += by
		c.watch.jumped(by)
	}
}
