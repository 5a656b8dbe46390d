package engine

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

func asAmbiguous(err error) (*tool.Ambiguous, bool) {
	return errors.AsType[*tool.Ambiguous](err)
}

// pureDecision reports whether deciding on a call of that tool runs no code
// that could block: then it may share the commit of the reply.
func (x *Execution) pureDecision(name string) bool {
	t, _ := x.tools.Lookup(name)
	if _, ok := t.(tool.Keyer); ok {
		return false
	}
	if _, ok := t.(tool.Classifier); ok {
		return false
	}
	if x.agent.Policy == nil {
		return true
	}
	p, ok := x.agent.Policy.(policy.Pure)
	return ok && p.Pure()
}

// decide takes a call through the one entry: snapshot, schema, policy.
func (x *Execution) decide(c kernel.DecideCall) Task {
	return func(ctx context.Context, instead Report) (kernel.Event, Content) {
		d := kernel.CallDecided{Cmd: c.Cmd, Call: c.Call.ID}
		if err := x.tools.Check(c.Call.Name, []byte(c.Call.Arguments)); err != nil {
			x.refuse(&d, err)
			return d, Content{}
		}
		err := x.foreign(ctx, "the policy", func() {
			if instead != nil {
				instead(x.unasked(c), Content{})
			}
		}, func() error { return x.askPolicy(ctx, c, &d) })
		if err != nil {
			x.Log.Error("policy failed", "run", x.Run, "call", c.Call.ID, "error", err)
			d = x.unasked(c)
		}
		d.At = x.at()
		return d, Content{}
	}
}

// refuse answers a call that is not acceptable as it is.
func (x *Execution) refuse(d *kernel.CallDecided, err error) {
	e, ok := errors.AsType[*kernel.Error](err)
	if !ok {
		e = &kernel.Error{Code: kernel.CodeInvalidArgument, Message: err.Error()}
	}
	d.At, d.Answer, d.Code, d.Reason = x.at(), kernel.Invalid, e.Code, kernel.Clip(e.Message, maxWords)
	d.Key = ""
}

// unasked is the answer where policy gave none.
func (x *Execution) unasked(c kernel.DecideCall) kernel.CallDecided {
	return kernel.CallDecided{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Answer: kernel.Deny, Reason: "the policy could not be asked"}
}

func (x *Execution) askPolicy(ctx context.Context, c kernel.DecideCall, d *kernel.CallDecided) error {
	t, _ := x.tools.Lookup(c.Call.Name)
	spec, _ := x.tools.Spec(c.Call.Name)
	d.Effect = x.tools.EffectOf(c.Call.Name, []byte(c.Call.Arguments))
	d.Attempts = spec.Limits.Attempts
	if err := x.businessKey(t, c, d); err != nil {
		x.refuse(d, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the tool cannot name the effect of this call: " + describe(err)})
		return nil
	}
	if x.agent.Policy == nil {
		d.Answer, d.Reason = kernel.Deny, "this agent has no policy, so nothing is allowed"
		return nil
	}
	decision, err := x.agent.Policy.Decide(ctx, x.policyRequest(c.Call, d.Effect))
	d.Answer, d.Reason, d.Rule = decision.Answer, kernel.Clip(decision.Reason, maxWords), kernel.Clip(decision.Rule, 200)
	if asking := decision.Asking; d.Answer == kernel.Ask && asking != nil {
		if bad := policy.CheckAsking(asking); bad != nil {
			return errors.Join(err, bad)
		}
		d.Asking = asking
	}
	if d.Answer != kernel.Allow && d.Answer != kernel.Ask {
		d.Answer = kernel.Deny
	}
	return err
}

func (x *Execution) businessKey(t tool.Tool, c kernel.DecideCall, d *kernel.CallDecided) (err error) {
	k, ok := t.(tool.Keyer)
	if !ok {
		return nil
	}
	defer x.contain("the tool's key", &err)
	d.Keyed = true
	d.Key, err = k.Key(x.toolCall(c.Call, c.Turn, 1, ""))
	switch {
	case err != nil:
		d.Key = ""
	case !utf8.ValidString(d.Key):
		err = errors.New("its key is not valid UTF-8")
	case len(d.Key) > maxKey:
		err = fmt.Errorf("its key has %d bytes; at most %d are allowed", len(d.Key), maxKey)
	}
	return err
}

func (x *Execution) policyRequest(call kernel.Call, effect kernel.EffectClass) policy.Request {
	return policy.Request{
		Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User,
		Call: call.ID, Tool: call.Name, Arguments: []byte(call.Arguments), Effect: effect,
	}
}
