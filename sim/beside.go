package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
)

// attend decides what goes beside the runs of a plan: observers, notices, and
// requests that are too long. None of it changes what a run comes to, but the
// last.
func attend(p *plan, chance *rand.Rand) {
	of := func(percent int) bool { return chance.IntN(100) < percent }
	upTo := func(d time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(d))) }
	for _, r := range p.runs {
		r.observed, r.grumbles = of(35), of(50)
		for i := range max(0, chance.IntN(5)-2) {
			r.notices = append(r.notices, wish{kind: wishNotice, id: fmt.Sprintf("note-%d-%s", i, r.id), after: upTo(40 * time.Second), twice: of(40)})
		}
		alone := !slices.ContainsFunc(p.runs, func(other *runPlan) bool { return other != r && other.session == r.session })
		if r.tight = alone && !r.smooth && of(25); !r.tight {
			continue
		}
		r.summarizes = of(70)
		for _, s := range r.steps {
			if s.index >= 2 && of(50) { // there is something that can go
				s.failures = append([]kernel.FailureKind{kernel.FailContext}, s.failures...)
			}
		}
	}
}

func noticeText(id string) string { return "there is " + id + " to know" }

// observer is the after-hook of one run. It takes its time, and may find fault.
type observer struct {
	*simulation

	run *runPlan
}

// After looks at a call.
func (o *observer) After(ctx context.Context, r policy.Request, a policy.Answered) error {
	p := o.queue.running.proc
	if p.dead || !p.pause(time.Duration(max(0, o.chance.IntN(1200)-600))*time.Millisecond, ctx.Done()) {
		return errGone
	}
	if o.faults.strike(o.faults.midway) {
		p.crash("while an observer looked")
		return errGone
	}
	o.guard(func() { o.watch.lookedAt(o.run, &r, &a) })
	o.seen["observer looked"]++
	if o.run.grumbles && o.chance.IntN(2) == 0 {
		o.defect.grumbled(r.Run)
		return errors.New("the observer finds fault")
	}
	return nil
}

// summarize is what the model makes of a request for a summary.
func (m *mind) summarize(ctx context.Context, p *process, req *model.Request) (*model.Reply, error) {
	m.tracef(p, "MODEL summarizes %s, turn %d", m.run.id, req.Turn)
	m.guard(func() { m.watch.summaryAsked(p, m.run, req) })
	if !p.pause(time.Duration(max(0, m.chance.IntN(2000)-500))*time.Millisecond, ctx.Done()) {
		return nil, errGone
	}
	if m.faults.strike(m.faults.midway) {
		p.crash("while a summary was written")
		return nil, errGone
	}
	if ctx.Err() != nil {
		return nil, &model.Error{Kind: kernel.FailAborted, Message: "aborted"}
	}
	text := "in short"
	switch m.chance.IntN(8) {
	case 0:
		return nil, &model.Error{Kind: kernel.FailStatus, Status: 529, Message: "simulated"}
	case 1:
		return nil, &model.Error{Kind: kernel.FailCut, Message: "simulated"}
	case 2:
		text = ""
	}
	usage := &kernel.Usage{Input: int64(10 + m.chance.IntN(300)), Output: int64(1 + m.chance.IntN(100))}
	m.watch.summaryGiven(m.run, *usage)
	reply := &model.Reply{
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}},
		Stop:    kernel.StopEnd, Usage: usage, Size: 100,
	}
	m.defect.sum(reply)
	return reply, nil
}
