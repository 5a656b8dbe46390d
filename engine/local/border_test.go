package local_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// Report A36: a panic is that call's failed result; the other call completes
// and the run settles.
func TestPanickingTool(t *testing.T) {
	var n counter
	nilMap := probe{name: "broken", effect: kernel.Read, run: func(context.Context, tool.Call) (tool.Result, error) {
		var p *probe
		return tool.Result{Text: p.name}, nil
	}}
	m := &script{steps: []step{calls(call("a", "broken", `{}`), call("b", "look", `{}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, nilMap, n.tool("look")), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	got := results(r)
	if len(got) != 2 || got[1] != "b: look 1" || strings.Contains(got[0], "goroutine") || strings.Contains(got[0], "nil pointer") {
		t.Errorf("results %q", got)
	}
}

type modelFunc func() (*model.Reply, error)

func (modelFunc) Info() model.Info {
	return model.Info{Provider: "test", Profile: kernel.Strict, MaxTokens: 1}
}

func (f modelFunc) Call(context.Context, *model.Request, func(model.Delta)) (*model.Reply, error) {
	return f()
}

// Whatever the host's own code does, a run ends with a stop.
func TestForeignCodeIsContained(t *testing.T) {
	boom := errors.New("sk-secret")
	cases := map[string]struct {
		agent  engine.Agent
		stop   kernel.Stop
		detail string
		ran    int
	}{
		"model panics": {agent: engine.Agent{Model: modelFunc(func() (*model.Reply, error) { panic(boom) })}, stop: kernel.StopModelError, detail: "internal"},
		"model fails":  {agent: engine.Agent{Model: modelFunc(func() (*model.Reply, error) { return nil, boom })}, stop: kernel.StopModelError, detail: "internal"},
		"model silent": {agent: engine.Agent{Model: modelFunc(func() (*model.Reply, error) { return nil, nil })}, stop: kernel.StopModelError, detail: "internal"},
		"policy panics": {agent: engine.Agent{
			Model:  &script{steps: []step{calls(call("a", "look", `{}`)), says("done")}},
			Policy: deciding(func(policy.Request) (policy.Decision, error) { panic(boom) }),
		}, stop: kernel.StopAnswered},
		"policy fails": {agent: engine.Agent{
			Model: &script{steps: []step{calls(call("a", "look", `{}`)), says("done")}},
			Policy: deciding(func(policy.Request) (policy.Decision, error) {
				return policy.Decision{Answer: kernel.Allow}, boom
			}),
		}, stop: kernel.StopAnswered},
		"policy answers nonsense": {agent: engine.Agent{
			Model: &script{steps: []step{calls(call("a", "look", `{}`)), says("done")}},
			Policy: deciding(func(policy.Request) (policy.Decision, error) {
				return policy.Decision{Answer: "yes"}, nil
			}),
		}, stop: kernel.StopAnswered},
		"verifier panics": {agent: engine.Agent{
			Model:    &script{steps: []step{says("done")}},
			Verifier: verifier(func(verify.Facts) (verify.Verdict, error) { panic(boom) }),
		}, stop: kernel.StopAnswered},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var n counter
			c.agent.Tools = tools(t, n.tool("look"))
			r := run(t, &c.agent)
			wantStop(t, r, c.stop, c.detail)
			if n.count() != c.ran {
				t.Errorf("ran %d times", n.count())
			}
			if r.Outcome.Verified != kernel.Unchecked {
				t.Errorf("verified %s", r.Outcome.Verified)
			}
		})
	}
}

type verifier func(verify.Facts) (verify.Verdict, error)

func (v verifier) Verify(_ context.Context, f verify.Facts) (verify.Verdict, error) { return v(f) }

// Text of an adapter that is no UTF-8 is repaired, and calls of it do not run.
func TestInvalidTextOfAnAdapter(t *testing.T) {
	var n counter
	m := &script{steps: []step{calls(call("a", "look", "{\"n\":1}\xff"))}}
	wantStop(t, run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}}), kernel.StopProtocol, "a tool call that is not valid UTF-8")
	m = &script{steps: []step{says("caf\xe9")}}
	if r := run(t, &engine.Agent{Model: m}); r.Answer != "caf\uFFFD" {
		t.Errorf("answer %q", r.Answer)
	}
}

// Without an approver a question stays open: the run waits for people, told by
// its head, and nothing runs before they have decided.
func TestAskWithoutApprover(t *testing.T) {
	for _, yes := range []bool{true, false} {
		var n counter
		m := &script{steps: []step{calls(call("a", "look", `{}`)), says("done")}}
		j := memory.New()
		e := open(t, j)
		r, err := e.Run(t.Context(), engine.Start{Question: "q", Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: asking{}}})
		if err != nil {
			t.Fatal(err)
		}
		sameAsStored(t, j, r)
		if h := r.Head; r.Outcome != nil || h.State != journal.Waiting || h.WaitingFor != string(kernel.WaitApproval) || h.Approval == "" || n.count() != 0 {
			t.Fatalf("waits as %+v, outcome %+v, ran %d", h, r.Outcome, n.count())
		}
		a, err := j.Approval(t.Context(), r.Head.Approval)
		if err != nil || a.State != journal.ApprovalOpen || a.Tool != "look" || string(a.Arguments) != `{}` {
			t.Fatalf("asked %+v, %v", a, err)
		}
		decide(t, e, r.Head.Run, yes)
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		want, good := "a: look 1", kernel.LinkTool
		if !yes {
			want, good = "a: Not run: not approved: too dear", kernel.LinkAdmission
		}
		if got := results(r); got[0] != want || r.Outcome.LastGood != good {
			t.Errorf("results %q, links %s, %s", got, r.Outcome.LastGood, r.Outcome.FirstBad)
		}
	}
}

// asking is a policy that asks about every call.
type asking struct{ kernel.Asking }

func (a asking) Decide(context.Context, policy.Request) (policy.Decision, error) {
	d := policy.Decision{Answer: kernel.Ask, Reason: "it writes", Rule: "test"}
	if !reflect.DeepEqual(a.Asking, kernel.Asking{}) {
		d.Asking = &a.Asking
	}
	return d, nil
}

// decide answers the question that a run waits for.
func decide(t *testing.T, e engine.Engine, run string, yes bool) {
	t.Helper()
	r, err := e.Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	sig := engine.Signal{Kind: engine.SignalApprove, By: "op", Approval: r.Head.Approval}
	if !yes {
		sig.Kind, sig.Reason = engine.SignalRefuse, "too dear"
	}
	if err := e.Signal(t.Context(), run, sig); err != nil {
		t.Fatal(err)
	}
}

type approver func(context.Context, policy.Approval) (policy.Verdict, error)

func (f approver) Approve(ctx context.Context, a policy.Approval) (policy.Verdict, error) {
	return f(ctx, a)
}

// The person sees exactly what runs, and only a yes lets it run.
func TestApproval(t *testing.T) {
	for _, yes := range []bool{true, false} {
		var n counter
		ask := deciding(func(policy.Request) (policy.Decision, error) {
			return policy.Decision{Answer: kernel.Ask, Reason: "it writes"}, nil
		})
		c := call("a", "look", `{"n": 1}`)
		asked := 0
		m := &script{steps: []step{calls(c), says("done")}}
		r := run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: ask, Approver: approver(
			func(_ context.Context, a policy.Approval) (policy.Verdict, error) {
				asked++
				if a.Tool != "look" || string(a.Arguments) != c.Arguments || a.Digest != kernel.CallDigest(c) || a.Reason != "it writes" {
					t.Errorf("asked about %+v", a)
				}
				return policy.Verdict{Approved: yes, By: "op"}, nil
			})})
		wantStop(t, r, kernel.StopAnswered, "")
		want := 0
		if yes {
			want = 1
		}
		if asked != 1 || n.count() != want {
			t.Errorf("asked %d times, ran %d times", asked, n.count())
		}
	}
}

// I5: true counts only with evidence that is stored; the answer's own record
// can be it.
func TestVerdictNeedsEvidence(t *testing.T) {
	for _, evidence := range [][]string{nil, {""}, {"made-up"}, {"answer", "made-up"}, {"answer"}} {
		m := &script{steps: []step{says("42")}}
		r := run(t, &engine.Agent{Model: m, Verifier: verifier(func(f verify.Facts) (verify.Verdict, error) {
			v := verify.Verdict{Verified: f.Answer == "42"}
			for _, id := range evidence {
				v.Evidence = append(v.Evidence, strings.Replace(id, "answer", f.AnswerEvidence, 1))
			}
			return v, nil
		})})
		switch {
		case len(evidence) == 1 && evidence[0] == "answer":
			wantStop(t, r, kernel.StopVerified, "")
			if want := r.Head.Run + "/3"; r.Outcome.Evidence[0] != want {
				t.Errorf("evidence %q, want %s", r.Outcome.Evidence, want)
			}
		default:
			wantStop(t, r, kernel.StopAnswered, "")
			if r.Outcome.Verified != kernel.Unchecked || len(r.Outcome.Warnings) != 1 {
				t.Errorf("outcome %+v", r.Outcome)
			}
		}
	}
}

// Rows 19, 65 and case 29: the verdict comes from stored facts, and a turn
// limit is no failure of the task.
func TestVerdicts(t *testing.T) {
	seen := verifier(func(f verify.Facts) (verify.Verdict, error) {
		if len(f.Results) == 0 {
			return verify.Verdict{Finding: "look has not run"}, nil
		}
		last := f.Results[len(f.Results)-1]
		return verify.Verdict{Verified: last.Tool == "look" && last.Text == "look 1", Evidence: []string{last.Evidence}}, nil
	})
	look := calls(call("a", "look", `{}`))
	cases := map[string]struct {
		steps    []step
		turns    int
		each     bool
		cont     bool
		stop     kernel.Stop
		verified kernel.Verdict
		sent     int
	}{
		"answer verified":        {steps: []step{look, says("done")}, turns: 8, stop: kernel.StopVerified, verified: kernel.VerdictTrue, sent: 2},
		"answer not verified":    {steps: []step{says("done, trust me")}, turns: 8, stop: kernel.StopAnswered, verified: kernel.VerdictNot, sent: 1},
		"turn limit, verified":   {steps: []step{look}, turns: 1, stop: kernel.StopTurnLimit, verified: kernel.VerdictTrue, sent: 1},
		"each turn, last turn":   {steps: []step{look}, turns: 1, each: true, stop: kernel.StopVerified, verified: kernel.VerdictTrue, sent: 1},
		"goes on until verified": {steps: []step{says("done"), look, says("now")}, turns: 8, cont: true, stop: kernel.StopVerified, verified: kernel.VerdictTrue, sent: 3},
		"goes on within limits":  {steps: []step{says("done"), says("done"), says("done")}, turns: 3, cont: true, stop: kernel.StopTurnLimit, verified: kernel.VerdictNot, sent: 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var n counter
			m := &script{steps: c.steps}
			r := run(t, &engine.Agent{
				Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}, Verifier: seen,
				VerifyEachTurn: c.each, Continue: c.cont, Limits: limits(func(l *kernel.Limits) { l.Turns = c.turns }),
			})
			wantStop(t, r, c.stop, "")
			if r.Outcome.Verified != c.verified || len(m.requests()) != c.sent {
				t.Errorf("verified %s, sent %d", r.Outcome.Verified, len(m.requests()))
			}
			if c.verified == kernel.VerdictTrue && (len(r.Outcome.Evidence) != 1 || !strings.HasPrefix(r.Outcome.Evidence[0], r.Head.Run+"/")) {
				t.Errorf("evidence %q", r.Outcome.Evidence)
			}
		})
	}
}
