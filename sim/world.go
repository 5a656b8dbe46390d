package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// world is what lies outside: what tools change, and how often they did. It
// knows the truth.
type world struct {
	*simulation

	effects map[string]*outside // by id of the ledger
	called  map[string]int      // runs of a tool, by run and call
	done    map[string]bool     // calls whose own run had the effect

	returned map[string]bool // by run, call and text
}

// outside is one effect: whatever has the same tenant, tool and key.
type outside struct {
	id     string
	run    string // that had it first
	landed int    // how often it took place

	late bool     // a tool began for it whose process had lost the run, and could not know
	open []*visit // that may still let it take place
}

// visit is one run of a tool that may still have its effect.
type visit struct {
	*outside

	class kernel.EffectClass // as it was recorded with the call
	proc  *process
	call  *callPlan
	at    string // run and call
}

func newWorld(s *simulation) *world {
	return &world{simulation: s, effects: map[string]*outside{}, called: map[string]int{}, done: map[string]bool{}, returned: map[string]bool{}}
}

// effect returns what is known of an effect.
func (w *world) effect(id string) *outside {
	o := w.effects[id]
	if o == nil {
		o = &outside{id: id}
		w.effects[id] = o
	}
	return o
}

// effectID is the id that the ledger must have for the effect of a call, whose
// key is the tool's own where it has one.
func effectID(c *tool.Call, name string) string {
	key := "call " + c.Run + "/" + c.ID
	if traitsOf(name).keyed {
		key = "key " + c.Key
	}
	return journal.EffectID(c.Tenant, name, key)
}

// land lets an effect take place.
func (w *world) land(v *visit, how string) {
	o := v.outside
	v.close()

	if o.landed > 0 && v.class == kernel.Idempotent {
		return // the same key: nothing changes
	}
	o.landed++
	w.done[v.at] = true
	w.seen["effect"+how]++
	w.tracef(v.proc, "EFFECT %s of %s lands%s", v.call.tool, v.call.id, how)
	if o.landed > 1 && !o.late {
		w.failf("I6", "the effect of %s (%s, class %s) took place %d times", v.call.id, v.call.tool, v.class, o.landed)
	}
}

// lose takes note that a process is gone. What it had sent out may still
// arrive.
func (w *world) lose(p *process) {
	for _, id := range slices.Sorted(maps.Keys(w.effects)) {
		o := w.effects[id]
		for _, v := range slices.Clone(o.open) {
			if v.proc != p {
				continue
			}
			if w.chance.IntN(2) > 0 {
				v.close()
				continue
			}
			v.proc = nil
			w.queue.add(nil, time.Duration(w.chance.IntN(30_000))*time.Millisecond, "arrives", func() { w.land(v, ", long after its process died") })
		}
	}
}

// close takes note that a visit can have no effect any more.
func (v *visit) close() {
	if i := slices.Index(v.open, v); i >= 0 {
		v.open = slices.Delete(v.open, i, i+1)
	}
}

// truth says what is so: present, absent, or that it can still become so.
func (o *outside) truth() kernel.Presence {
	switch {
	case o.landed > 0:
		return kernel.Present
	case len(o.open) > 0:
		return kernel.PresenceUnknown
	}
	return kernel.Absent
}

// agrees reports whether a resolution is true.
func (w *world) agrees(r *journal.Resolution) bool {
	o := w.effects[r.Effect]
	if o == nil {
		return r.As == kernel.FoundNoEffect || r.As == kernel.FoundUnknown
	}
	switch r.As {
	case kernel.FoundLanded:
		return o.landed > 0
	case kernel.FoundNoEffect:
		return o.truth() == kernel.Absent
	}
	return true
}

var errGone = errors.New("the process is gone (simulated)")

// run is one run of a tool.
func (w *world) run(ctx context.Context, t *visitor, c tool.Call) (tool.Result, error) {
	p := w.queue.running.proc
	if p.dead {
		return tool.Result{}, errGone
	}
	r := w.plan.run(c.Run)
	plan := r.call(c.ID)
	if plan == nil || r.tenant != c.Tenant || r.user != c.User {
		w.failf("I1", "tool %s runs for call %s of %s as %s/%s, which nobody planned", t.name, c.ID, c.Run, c.Tenant, c.User)
		return tool.Result{}, errGone
	}
	at := c.Run + "/" + c.ID
	b := plan.does[min(w.called[at], len(plan.does)-1)]
	w.called[at]++
	w.tracef(p, "TOOL %s of %s/%s, attempt %d, run %d", t.name, c.Run, c.ID, c.Attempt, w.called[at])
	v := &visit{outside: &outside{}, class: w.watch.classOf(plan, c.ID), proc: p, call: plan, at: at}
	if v.class != kernel.Read {
		v.outside = w.effect(effectID(&c, t.name))
		v.run = cmp.Or(v.run, c.Run)
		v.open = append(v.open, v)
	}
	w.guard(func() { w.watch.toolBegins(p, v, c.ID, c.Run) })
	result, err := w.act(ctx, v, &b, &c, t)
	if !p.dead {
		v.close()
		w.tracef(p, "tool %s of %s/%s returns %.40q, %v", t.name, c.Run, c.ID, result.Text, err)
		w.returned[at+" "+result.Text] = true
	}
	return result, err
}

// hurry lets the effect of a claim take place before the claim is there (a
// defect).
func (w *world) hurry(p *process, e *journal.Entry) {
	if e.Claim == nil {
		return
	}
	r := w.plan.run(e.Head.Run)
	c := r.call(e.Claim.Call)
	v := &visit{outside: w.effect(e.Claim.ID), class: e.Claim.Class, proc: p, call: c, at: r.id + "/" + e.Claim.Call}
	w.watch.toolBegins(p, v, e.Claim.Call, r.id)
	w.land(v, ", too early")
}

// act does what the plan says, with an end of the process before the effect,
// or behind it.
func (w *world) act(ctx context.Context, v *visit, b *behaviour, c *tool.Call, t *visitor) (tool.Result, error) {
	p := v.proc
	done := ctx.Done()
	if b.deaf {
		done = nil
	}
	if !p.pause(b.before, done) {
		return tool.Result{}, errGone
	}
	if done != nil && ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if w.faults.strike(w.faults.midway) {
		p.crash("in a tool, before its effect")
		return tool.Result{}, errGone
	}
	if w.faults.strike(w.faults.asleep) {
		p.sleep(w.faults.nap())
		if p.dead {
			return tool.Result{}, errGone
		}
	}
	if v.class != kernel.Read && b.landing() {
		w.land(v, "")
	}
	v.close()
	if w.faults.strike(w.faults.midway) {
		p.crash("in a tool, behind its effect")
		return tool.Result{}, errGone
	}
	if !p.pause(b.after, done) {
		return tool.Result{}, errGone
	}
	return b.end(says(t, c, v.call))
}

// landing reports whether the effect takes place.
func (b *behaviour) landing() bool {
	switch b.how {
	case succeeds:
		return true
	case stumbles, breaks, panics, doubts:
		return b.lands
	}
	return false
}

func (b *behaviour) end(text string) (tool.Result, error) {
	switch b.how {
	case succeeds:
		return tool.Result{Text: text}, nil
	case declines:
		return tool.Result{Text: "declined", IsError: true, Disposition: kernel.DidNotHappen}, nil
	case hiccups:
		return tool.Result{}, &tool.Error{Message: "busy", Transient: true, Disposition: kernel.DidNotHappen}
	case stumbles:
		return tool.Result{}, &tool.Error{Message: "connection lost", Transient: true, Disposition: kernel.InDoubt}
	case breaks:
		return tool.Result{}, errors.New("broken pipe")
	case panics:
		panic("a simulated panic")
	case doubts:
		return tool.Result{Text: "sent, no answer", Disposition: kernel.InDoubt}, nil
	}
	return tool.Result{}, &tool.Error{Message: "doomed", Fatal: true, Disposition: kernel.DidNotHappen}
}

// lookup tells the truth, where it can be told.
func (w *world) lookup(ctx context.Context, t *visitor, c tool.Call) (tool.Found, error) {
	p := w.queue.running.proc
	if p.dead {
		return tool.Found{}, errGone
	}
	plan := w.plan.run(c.Run).call(c.ID)
	o := w.effect(effectID(&c, t.name))
	if !p.pause(time.Duration(w.chance.IntN(500))*time.Millisecond, ctx.Done()) {
		return tool.Found{}, errGone
	}
	if w.faults.strike(w.faults.midway) {
		p.crash("in a lookup")
		return tool.Found{}, errGone
	}
	found := tool.Found{Presence: o.truth()}
	if plan.vague {
		found.Presence = kernel.PresenceUnknown
	}
	if found.Presence == kernel.Present {
		found.Result = tool.Result{Text: says(t, &c, plan)}
	}
	w.seen["lookup "+string(found.Presence)]++
	w.tracef(p, "lookup of %s/%s says %s", c.Run, c.ID, found.Presence)
	return found, nil
}
