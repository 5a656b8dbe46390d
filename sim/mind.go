package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/verify"
)

// mind is the scripted model of one run. It keeps nothing between requests:
// what it says next follows from the messages that it is shown.
type mind struct {
	*simulation

	run *runPlan
}

const maxTokens = 512

// Info describes the model.
func (m *mind) Info() model.Info {
	return model.Info{Provider: "sim", Name: m.run.id, Profile: m.run.profile, MaxTokens: maxTokens, MaxTokensCap: 2 * maxTokens, Scripted: true}
}

// Call says what the plan has for the place that the messages show.
func (m *mind) Call(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	p := m.queue.running.proc
	if p.dead {
		return nil, errGone
	}
	if ctx.Err() != nil { // it was ended before it began
		return nil, &model.Error{Kind: kernel.FailAborted, Message: "aborted"}
	}
	if len(req.Tools) == 0 { // all agents have some
		return m.summarize(ctx, p, req)
	}
	m.tracef(p, "MODEL %s, turn %d, attempt %d", m.run.id, req.Turn, req.Attempt)
	m.guard(func() { m.watch.modelAsked(p, m.run, req) })
	place := m.place(req.Messages)
	s := place.step
	done := ctx.Done()
	if s.deaf {
		done = nil
	}
	if !p.pause(s.took, done) {
		return nil, errGone
	}
	m.defect.wait(p, s.took)
	if m.faults.strike(m.faults.midway) {
		p.crash("while the model was asked")
		return nil, errGone
	}
	if done != nil && ctx.Err() != nil {
		return nil, &model.Error{Kind: kernel.FailAborted, Message: "aborted"}
	}
	if req.Attempt <= len(s.failures) {
		kind := s.failures[req.Attempt-1]
		e := &model.Error{Kind: kind, Message: "simulated"}
		switch kind {
		case kernel.FailStatus:
			e.Status = 529
		case kernel.FailCut:
			e.Usage = &kernel.Usage{Input: 7} // it had begun
		}
		return nil, e
	}
	reply := place.reply(req)
	m.defect.reply(reply)
	return reply, nil
}

// place is where a conversation is.
type place struct {
	run   *runPlan
	step  *step
	again int // how often the step has been asked before
}

// place finds out where the run is: behind the last reply of its own that the
// history holds.
func (m *mind) place(messages []model.Message) place {
	own := 0
	for i := range messages {
		if messages[i].Role == kernel.RoleUser && prompt.Text(messages[i].Message) == m.run.question {
			own = i
		}
	}
	at, again, doubt := -1, 0, false
	for i := own; i < len(messages); i++ {
		switch b := &messages[i].Blocks[0]; messages[i].Role {
		case kernel.RoleAssistant:
			_, err := fmt.Sscanf(prompt.Text(messages[i].Message), "step %d again %d", &at, &again)
			if err != nil {
				m.failf("history", "a reply of %s reads %q", m.run.id, prompt.Text(messages[i].Message))
			}
			doubt = false
		case kernel.RoleTool:
			doubt = doubt || strings.Contains(b.Text, "may have taken") || strings.Contains(b.Text, "no answer")
		}
	}
	if r := m.watch.runs[m.run.id]; at < 0 && r != nil && m.run.tight { // a compaction took it out
		at, again = r.at, r.again
	}
	if at >= 0 && doubt && m.run.steps[at].insists && again < 2 {
		return place{m.run, m.run.steps[at], again + 1}
	}
	return place{m.run, m.run.steps[min(at+1, len(m.run.steps)-1)], 0}
}

func (p *place) reply(req *model.Request) *model.Reply {
	s := p.step
	words := fmt.Sprintf("step %d again %d", s.index, p.again)
	if s.kind == saysAnswer && s.good {
		words += ", good"
	}
	r := &model.Reply{
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: words}}},
		Stop:    kernel.StopEnd, Usage: s.usage, Size: 100,
	}
	calls, suffix := s.calls, ""
	if p.again > 0 {
		suffix = fmt.Sprintf("~%d", p.again)
	}
	cut := s.cut && req.MaxTokens == maxTokens
	if cut { // nothing of this may run
		r.Stop, suffix = kernel.StopLength, "-cut"
	}
	for _, c := range calls {
		r.Message.Blocks = append(r.Message.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: c.id + suffix, Name: c.tool, Arguments: c.args}})
		if !cut && s.kind == saysCalls {
			r.Stop = kernel.StopCalls
		}
	}
	if s.kind == saysNonsense {
		r.Stop = "other:nonsense"
		r.Message.Blocks = append(r.Message.Blocks, kernel.Block{Kind: "other:nonsense"})
	}
	return r
}

// law is the policy of one run.
type law struct {
	*simulation

	run        *runPlan
	remembered map[string]policy.Decision // by a defect
}

// Pure reports whether it is asked in the middle of a commit.
func (l *law) Pure() bool { return l.run.pure }

// Decide answers by the plan, which may change its mind in time.
func (l *law) Decide(ctx context.Context, r policy.Request) (policy.Decision, error) {
	return l.defect.decide(l, r, func() (policy.Decision, error) { return l.decide(ctx, r) })
}

func (l *law) decide(ctx context.Context, r policy.Request) (policy.Decision, error) {
	p := l.queue.running.proc
	if !l.run.pure {
		if !p.pause(time.Duration(max(0, l.chance.IntN(600)-300))*time.Millisecond, ctx.Done()) {
			return policy.Decision{}, errGone
		}
		if l.faults.strike(l.faults.midway) {
			p.crash("while policy was asked")
		}
	}
	if p.dead {
		return policy.Decision{}, errGone
	}
	rule := l.run.rules[r.Tool]
	answer := rule.answer
	if rule.denies > 0 && l.queue.now >= rule.denies {
		answer = kernel.Deny
	}
	d := policy.Decision{Answer: answer, Rule: "simulated", Reason: "says the plan"}
	if answer == kernel.Ask {
		d.Asking = rule.asking
	}
	l.watch.policySaid(&r, answer)
	return d, nil
}

// judge is the verifier of one run.
type judge struct {
	*simulation

	run *runPlan
}

// Verify accepts an answer that the plan calls good; before there is one, a
// result that is the goal.
func (v *judge) Verify(ctx context.Context, f verify.Facts) (verify.Verdict, error) {
	p := v.queue.running.proc
	if !p.pause(time.Duration(max(0, v.chance.IntN(600)-300))*time.Millisecond, ctx.Done()) {
		return verify.Verdict{}, errGone
	}
	if v.faults.strike(v.faults.midway) {
		p.crash("while the verifier was asked")
	}
	if p.dead {
		return verify.Verdict{}, errGone
	}
	if ctx.Err() != nil {
		return verify.Verdict{}, errors.New("interrupted")
	}
	out := verify.Verdict{Finding: "not good"}
	if f.Answer != "" {
		out.Verified, out.Evidence = strings.Contains(f.Answer, "good"), []string{f.AnswerEvidence}
	} else {
		for _, r := range f.Results {
			if strings.Contains(r.Text, "goal") && !r.IsError {
				out.Verified, out.Evidence = true, []string{r.Evidence}
			}
		}
	}
	if out.Verified {
		out.Finding = "good"
		v.watch.accepted(v.run)
	}
	return v.defect.judge(out), nil
}
