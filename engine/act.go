package engine

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// verifyTimeout bounds a verifier.
const verifyTimeout = 30 * time.Second

func asAmbiguous(err error) (*tool.Ambiguous, bool) {
	var a *tool.Ambiguous
	return a, errors.As(err, &a)
}

// purePolicy reports whether policy only computes.
func (x *Execution) purePolicy() bool {
	if x.agent.Policy == nil {
		return true
	}
	p, ok := x.agent.Policy.(policy.Pure)
	return ok && p.Pure()
}

// decide takes a call through the one entry: snapshot, schema, policy.
func (x *Execution) decide(c kernel.DecideCall) Task {
	return func(ctx context.Context, _ Report) (kernel.Event, Content) {
		d := kernel.CallDecided{Cmd: c.Cmd, Call: c.Call.ID}
		if err := x.tools.Check(c.Call.Name, []byte(c.Call.Arguments)); err != nil {
			var e *kernel.Error
			if !errors.As(err, &e) {
				e = &kernel.Error{Code: kernel.CodeInvalidArgument, Message: err.Error()}
			}
			d.Answer, d.Code, d.Reason = kernel.Invalid, e.Code, e.Message
		} else {
			x.askPolicy(ctx, c.Call, &d)
		}
		d.At = x.at()
		return d, Content{}
	}
}

func (x *Execution) askPolicy(ctx context.Context, call kernel.Call, d *kernel.CallDecided) {
	t, _ := x.tools.Lookup(call.Name)
	spec, _ := x.tools.Spec(call.Name)
	d.Effect = x.tools.EffectOf(call.Name, []byte(call.Arguments))
	d.Attempts = spec.Limits.Attempts
	if err := x.businessKey(t, call, d); err != nil {
		d.Answer, d.Code, d.Reason = kernel.Invalid, kernel.CodeInvalidArgument, "the tool cannot name the effect of this call: "+err.Error()
		return
	}
	decision, err := x.policy(ctx, x.policyRequest(call, d.Effect))
	d.Answer, d.Reason, d.Rule = decision.Answer, decision.Reason, decision.Rule
	switch {
	case err != nil:
		d.Answer, d.Reason, d.Rule = kernel.Deny, "the policy could not be asked", ""
		x.log.Error("policy failed", "run", x.Run, "call", call.ID, "error", err)
	case d.Answer != kernel.Allow && d.Answer != kernel.Ask:
		d.Answer = kernel.Deny
	}
}

func (x *Execution) businessKey(t tool.Tool, call kernel.Call, d *kernel.CallDecided) (err error) {
	k, ok := t.(tool.Keyer)
	if !ok {
		return nil
	}
	defer x.contain("the tool's key", &err)
	d.Keyed = true
	d.Key, err = k.Key(x.toolCall(call, 1, ""))
	if err == nil && !utf8.ValidString(d.Key) {
		err = errors.New("its key is not valid UTF-8")
	}
	return err
}

func (x *Execution) policy(ctx context.Context, r policy.Request) (d policy.Decision, err error) {
	if x.agent.Policy == nil {
		return policy.Decision{Answer: kernel.Deny, Reason: "this agent has no policy, so nothing is allowed"}, nil
	}
	defer x.contain("the policy", &err)
	return x.agent.Policy.Decide(ctx, r)
}

func (x *Execution) policyRequest(call kernel.Call, effect kernel.EffectClass) policy.Request {
	return policy.Request{
		Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User,
		Call: call.ID, Tool: call.Name, Arguments: []byte(call.Arguments), Effect: effect,
	}
}

// ask asks a person. Whatever goes wrong is a refusal.
func (x *Execution) ask(c kernel.AskHuman) Task {
	effect := x.tools.EffectOf(c.Call.Name, []byte(c.Call.Arguments))
	return func(ctx context.Context, _ Report) (kernel.Event, Content) {
		v, err := x.approve(ctx, policy.Approval{Request: x.policyRequest(c.Call, effect), Reason: c.Reason, Digest: c.Digest})
		if err != nil {
			x.log.Warn("approval failed", "run", x.Run, "call", c.Call.ID, "error", err)
			v = policy.Verdict{Reason: "nobody could be asked"}
		}
		return kernel.ApprovalDecided{
			At: x.at(), Cmd: c.Cmd, Call: c.Call.ID,
			Approved: v.Approved, By: v.By, Reason: v.Reason, Digest: c.Digest,
		}, Content{}
	}
}

func (x *Execution) approve(ctx context.Context, a policy.Approval) (v policy.Verdict, err error) {
	if x.agent.Approver == nil {
		return policy.Verdict{Reason: "this call needs approval, and nobody can be asked"}, nil
	}
	defer x.contain("the approver", &err)
	return x.agent.Approver.Approve(ctx, a)
}

func (x *Execution) toolCall(call kernel.Call, attempt int, key string) tool.Call {
	if key == "" {
		key = x.Run + "/" + call.ID
	}
	return tool.Call{
		ID: call.ID, Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User,
		Turn: x.State.Turn, Attempt: attempt, Key: key, Arguments: []byte(call.Arguments),
	}
}

func (x *Execution) runTool(c kernel.RunTool) Task {
	t, _ := x.tools.Bind(c.Call.Name, c.Effect) // its decision found it in the same set
	call := x.toolCall(c.Call, c.Attempt, c.Key)
	return func(ctx context.Context, instead Report) (kernel.Event, Content) {
		begun := x.now()
		returned := func(out tool.Outcome) (kernel.Event, Content) {
			ended := x.now()
			return kernel.CallReturned{At: kernel.Time(ended.UnixNano()), Cmd: c.Cmd, Call: c.Call.ID, Result: out.Facts, Jitter: jitter(), Warnings: out.Warnings},
				Content{Result: &Result{Text: out.Text, IsError: out.IsError, Data: out.Data, Elapsed: ended.Sub(begun)}}
		}
		return returned(x.border.ExecuteInPlace(ctx, t, call, func(out tool.Outcome) { instead(returned(out)) }))
	}
}

func (x *Execution) verify(c kernel.Verify) Task {
	facts := x.facts()
	return func(ctx context.Context, _ Report) (kernel.Event, Content) {
		ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
		defer cancel()
		v, err := x.judge(ctx, facts)
		e := kernel.Verified{Cmd: c.Cmd, Verdict: kernel.VerdictNot, Finding: v.Finding, Evidence: v.Evidence}
		switch {
		case err != nil:
			x.log.Warn("verifier failed", "run", x.Run, "error", err)
			e.Verdict, e.Evidence, e.Finding = kernel.Unchecked, nil, ""
			e.Warning = "the verifier failed, so nothing was concluded"
		case v.Verified && len(v.Evidence) == 0:
			e.Verdict, e.Finding = kernel.Unchecked, ""
			e.Warning = "the verifier named no evidence, so nothing was concluded"
		case v.Verified:
			e.Verdict = kernel.VerdictTrue
		}
		e.At = x.at()
		return e, Content{}
	}
}

func (x *Execution) judge(ctx context.Context, facts verify.Facts) (v verify.Verdict, err error) {
	defer x.contain("the verifier", &err)
	return x.agent.Verifier.Verify(ctx, facts)
}
