package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// modelAsked looks at a request.
func (w *watch) modelAsked(p *process, plan *runPlan, req *model.Request) {
	r := w.runs[plan.id]
	if r == nil {
		w.failf("records", "the model is asked for %s, which is not recorded", plan.id)
		return
	}
	if r.lease.Owner == p.name {
		w.checkShown(r, req)
	}
	messages := make([]kernel.Message, len(req.Messages))
	for i := range req.Messages {
		messages[i] = *req.Messages[i].Message
	}
	if fault := sendable(messages); fault != "" {
		w.failf("I2", "the history of %s cannot be sent: %s", plan.id, fault)
	}
	for i := range messages {
		w.checkTenant(plan, &messages[i])
	}
	r.requests++
	r.attempts[req.Turn]++
	switch {
	case r.requests > plan.retry.PerRun:
		w.failf("I8", "%s sends %d requests, and may send %d", plan.id, r.requests, plan.retry.PerRun)
	case r.attempts[req.Turn] > plan.retry.Attempts:
		w.failf("I8", "%s sends turn %d %d times, and may %d times", plan.id, req.Turn, r.attempts[req.Turn], plan.retry.Attempts)
	case req.Turn > plan.limits.Turns:
		w.failf("I8", "%s sends turn %d of %d", plan.id, req.Turn, plan.limits.Turns)
	}
	if r.lease.Owner == p.name {
		w.checkRequest(r, req, messages)
	}
	a := &r.account
	if charged := a.usage.Input + a.usage.Output + a.held + a.out; plan.limits.Tokens > 0 && charged > plan.limits.Tokens {
		w.failf("I8", "%s sends a request that may bring it to %d tokens of %d", plan.id, charged, plan.limits.Tokens)
	}
}

// checkRequest compares a request with what is recorded. One whose process has
// lost the run may be old.
func (w *watch) checkRequest(r *shadow, req *model.Request, messages []kernel.Message) {
	s := &r.replay.State
	if s.Phase != kernel.PhaseRequesting || s.Turn != req.Turn || s.Attempt != req.Attempt {
		w.failf("records", "%s asks the model for turn %d, attempt %d; it is %s at turn %d, attempt %d", r.plan.id, req.Turn, req.Attempt, s.Phase, s.Turn, s.Attempt)
	}
	if len(s.Attached) > 0 && len(messages) > 0 {
		messages = messages[:len(messages)-1] // checkShown looks at it
	}
	if want := w.history(r); !slices.EqualFunc(want, messages, sameMessage) {
		w.failf("I2", "%s sends a history of %d messages that is not the recorded one of %d", r.plan.id, len(messages), len(want))
	}
}

// history is what the run's session has said so far.
func (w *watch) history(r *shadow) []kernel.Message {
	var all []kernel.Message
	for _, other := range w.begun {
		if other == r {
			break
		}
		if other.sameSession(r.plan) {
			all = append(all, prompt.Qualify(other.replay.History.Messages(), other.plan.id)...)
		}
	}
	return append(all, r.replay.History.Messages()...)
}

func sameMessage(a, b kernel.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y kernel.Block) bool {
		calls := x.Call == y.Call || x.Call != nil && y.Call != nil && *x.Call == *y.Call
		return x.Kind == y.Kind && x.Text == y.Text && calls && x.CallID == y.CallID && x.IsError == y.IsError
	})
}

// sendable holds a history to the rules of strict endpoints: it begins with the
// user, each call of a reply is answered once right behind it, in order, nothing
// else is answered, and no id is used twice.
func sendable(messages []kernel.Message) (fault string) {
	var open []string
	known := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Role == kernel.RoleTool {
			b := &m.Blocks[0]
			if len(open) == 0 || open[0] != b.CallID || len(m.Blocks) != 1 || b.Text == "" {
				return fmt.Sprintf("message %d answers %q, and %v are open", i, b.CallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes while %v are not answered", i, open)
		}
		if i == 0 && m.Role != kernel.RoleUser || len(m.Blocks) == 0 {
			return fmt.Sprintf("message %d is of %s, with %d blocks", i, m.Role, len(m.Blocks))
		}
		for _, b := range m.Blocks {
			if b.Kind != kernel.BlockCall {
				continue
			}
			if m.Role != kernel.RoleAssistant || known[b.Call.ID] {
				return fmt.Sprintf("message %d uses the id %q again", i, b.Call.ID)
			}
			known[b.Call.ID] = true
			open = append(open, b.Call.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("%v are not answered", open)
	}
	return ""
}

// checkTenant looks that nothing of another tenant is shown.
func (w *watch) checkTenant(plan *runPlan, m *kernel.Message) {
	other := "red"
	if plan.tenant == other {
		other = "blue"
	}
	for _, b := range m.Blocks {
		if strings.Contains(b.Text, "for "+other) {
			w.failf("I15", "%s of %s is shown %q", plan.id, plan.tenant, b.Text)
		}
	}
}

// account is the usage of a run, counted again.
type account struct {
	usage             kernel.Usage
	replies, reported int
	held              int64
	open              map[kernel.Seq]int64 // held, and may still be reported
	out               int64                // reserved for the request that is out
}

// take takes an event into account, between the states before and behind it.
func (a *account) take(event kernel.Event, before, after *kernel.State) {
	asking := before.Awaiting != 0 && (before.Phase == kernel.PhaseRequesting || before.Phase == kernel.PhaseSummarizing || before.Phase == kernel.PhaseDraining)
	switch e := event.(type) {
	case kernel.ModelReplied:
		a.reply(e.Reply.Usage, asking && before.Awaiting == e.Cmd, e.Cmd)
	case kernel.ModelFailed:
		if asking && before.Awaiting == e.Cmd {
			a.failed(e.Cmd, &e.Failure)
		}
	case kernel.Summarized:
		switch expected := asking && before.Awaiting == e.Cmd; {
		case e.Failure == nil:
			a.reply(e.Usage, expected, e.Cmd)
		case expected:
			a.failed(e.Cmd, e.Failure)
		}
	case kernel.Resumed, kernel.HostFailed:
		if asking {
			a.hold(before.Awaiting)
			a.out = 0
		}
	}
	if after.Phase == kernel.PhaseRequesting && after.Awaiting != before.Awaiting {
		a.out = after.InputTokens + int64(after.MaxTokens)
	}
	if over, ok := event.(kernel.ContextOver); ok && after.Phase == kernel.PhaseSummarizing {
		a.out = over.InputTokens + int64(after.Spec.SummaryTokens)
	}
}

// failed takes a request that brought no reply: what never began costs nothing.
func (a *account) failed(cmd kernel.Seq, f *kernel.Failure) {
	free := slices.Contains([]kernel.FailureKind{
		kernel.FailConnection, kernel.FailTLS, kernel.FailStatus, kernel.FailQuota, kernel.FailRequest, kernel.FailContext,
	}, f.Kind)
	if !free || f.Usage != nil {
		a.hold(cmd)
	}
	a.out = 0
}

// reply takes the usage of a reply: of the request that is out, or of one that
// was given up before.
func (a *account) reply(u *kernel.Usage, expected bool, cmd kernel.Seq) {
	a.replies++
	if !expected {
		a.held -= a.open[cmd]
		delete(a.open, cmd)
	} else if u == nil {
		a.held += a.out
	}
	if u != nil {
		a.reported++
		a.usage.Input += u.Input
		a.usage.Output += u.Output
	}
	if expected {
		a.out = 0
	}
}

func (a *account) hold(cmd kernel.Seq) {
	if a.open == nil {
		a.open = map[kernel.Seq]int64{}
	}
	a.open[cmd] = a.out
	a.held += a.out
}

// stopped looks at a run that has come to its end.
func (w *watch) stopped(r *shadow) {
	o := r.replay.State.Outcome
	w.seen["stop "+string(o.Stop)]++
	w.seen["verified "+string(o.Verified)]++
	a := &r.account
	if o.Usage != a.usage || o.Replies != a.replies || o.ReportedReplies != a.reported || o.HeldTokens != a.held {
		w.failf("I14", "%s says usage %+v of %d/%d replies and %d held; it is %+v of %d/%d and %d", r.plan.id,
			o.Usage, o.ReportedReplies, o.Replies, o.HeldTokens, a.usage, a.reported, a.replies, a.held)
	}
	if o.Verified == kernel.VerdictTrue && !r.accepted {
		w.failf("I5", "%s is verified, and the verifier has not said so", r.plan.id)
	}
	l := &r.plan.limits
	if o.Turns > l.Turns || o.Calls > l.Calls || o.Requests > r.plan.retry.PerRun {
		w.failf("I8", "%s took %d turns, %d calls and %d requests", r.plan.id, o.Turns, o.Calls, o.Requests)
	}
	if fault := sendable(w.history(r)); fault != "" {
		w.failf("I2", "%s has stopped, and its history cannot be sent: %s", r.plan.id, fault)
	}
	for _, id := range w.claimed {
		if row := w.ledger[id]; row.run == r.plan.id && row.state == journal.EffectRunning {
			w.failf("ledger", "%s has stopped, and its effect %s of call %s is still running", r.plan.id, row.id, row.call)
		}
	}
	for _, id := range w.asked {
		if q := w.questions[id]; q.Run == r.plan.id && (q.state == journal.ApprovalOpen || q.state == journal.ApprovalApproved) {
			w.failf("I7", "%s has stopped, and its question %s is still %s", r.plan.id, q.ID, q.state)
		}
	}
}
