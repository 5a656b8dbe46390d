package sim

import (
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// Bounds of a simulation: whatever is not over by then never is.
const (
	maxSteps   = 30_000
	maxRecords = 600 // of a run
	maxTime    = 30 * time.Hour
)

// step lets one thing happen; false: nothing is left.
func (s *simulation) step() bool {
	if t := s.queue.ready(func(t *thread) bool { return t.proc == nil || !t.proc.asleep && !t.proc.dead }); t != nil {
		s.queue.steps++
		s.queue.resume(t)
	} else if !s.next() {
		return false
	}
	for len(s.graves) > 0 {
		p := s.graves[0]
		s.graves = s.graves[1:]
		s.bury(p)
	}
	if s.broken == nil && (s.queue.steps > maxSteps || s.queue.now > maxTime) {
		s.failf("liveness", "it goes on for ever: %d steps, %s", s.queue.steps, s.queue.now)
	}
	return true
}

// next carries out the next entry of the queue.
func (s *simulation) next() bool {
	e := s.queue.pop()
	if e == nil {
		return false
	}
	p := e.proc
	switch {
	case (s.over || s.broken != nil) && e.goes == nil, p != nil && p.dead && e.goes == nil: // it is not begun any more
	case p != nil && p.asleep && e.goes != p.inside:
		p.held = append(p.held, e)
	default:
		s.queue.do(e)
	}
	return true
}

// calm ends all faults.
func (s *simulation) calm() {
	s.tracef(nil, "no more faults")
	s.faults.calm = true
}

// quiet reports that nothing will happen any more of itself, apart from looking
// after what might.
func (s *simulation) quiet() bool {
	if s.queue.busy > 0 {
		return false
	}
	for _, p := range s.slots {
		if p.asleep {
			return false
		}
	}
	for _, r := range s.plan.runs {
		if !s.rests(r) {
			return false
		}
	}
	return true
}

// rests reports that a run has stopped, or waits for people who will not come.
func (s *simulation) rests(r *runPlan) bool {
	head, err := s.base.Head(background(), r.id)
	if kernel.CodeOf(err) == kernel.CodeNotFound {
		return true // its session is busy for ever
	}
	return head.State == journal.Stopped || head.State == journal.Waiting && head.Due.IsZero() && head.Pending == 0
}

// again lets another process look at everything once more, which must change
// nothing.
func (s *simulation) again() {
	before := s.watch.records
	for _, p := range s.slots {
		p.end()
	}
	s.tracef(nil, "a second recovery")
	s.calm()
	until := s.queue.now + 20*time.Second + 3*s.plan.poll + s.plan.lease
	s.boot(0)
	for on := true; on && s.broken == nil && s.queue.now < until; {
		on = s.step()
	}
	if s.broken == nil && s.watch.records != before {
		s.failf("recovery", "a second recovery added %d records", s.watch.records-before)
	}
}

// agent is the agent of a run: the same for whoever drives it, but for the
// version of its tools.
func (p *process) agent(run string) *engine.Agent {
	s := p.simulation
	if a := s.agents[p.tools][run]; a != nil {
		return a
	}
	r := s.plan.run(run)
	a := &engine.Agent{
		Model: &mind{s, r}, Instructions: "Do what you are told.", Tools: s.rig.tools[p.tools], Policy: &law{s, r, map[string]policy.Decision{}},
		Unknown: r.unknown, Limits: r.limits, Retry: r.retry, Continue: r.goOn,
	}
	a.Context = engine.Context{Summarize: r.summarizes, Notices: engine.NoticeLimits{Max: journal.MaxNotices}}
	if r.observed {
		a.Hooks.After = []policy.AfterHook{{Name: "observer", Tool: "*", Timeout: policy.MaxHookTimeout, Hook: &observer{s, r}}}
	}
	if r.verify != kernel.VerifyNever {
		a.Verifier, a.VerifyEachTurn = &judge{s, r}, r.verify == kernel.VerifyEachTurn
	}
	s.agents[p.tools][run] = a
	return a
}

// digest is of all that was recorded.
func (s *simulation) digest() string {
	seals, err := s.base.Seals(background(), 0, 0)
	if err != nil || len(seals) == 0 {
		return ""
	}
	return seals[len(seals)-1].Hash.String()
}
