package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	snap := x.present()
	if snap == nil || x.hooked(name) {
		return false
	}
	if t, _ := snap.tools.Lookup(name); says(t) {
		return false
	}
	if x.agent.Policy == nil {
		return true
	}
	p, ok := x.agent.Policy.(policy.Pure)
	return ok && p.Pure()
}

// entry is the one way of a call, of whatever kind, to its decision: snapshot,
// schema, narrowing, before-hooks, policy.
type entry struct {
	x       *Execution
	call    kernel.DecideCall
	snap    *snapshot
	narrow  []narrowing
	first   string // the definition that its tool was first offered with; empty: not known
	asked   string // what a person was told who approved the call; empty: nobody has
	instead Report // nil: nothing that is called can block
	asking  errand // of the policy

	risk    kernel.Risk // of the tool
	effect  kernel.EffectClass
	argv    []string
	normal  []byte // arguments as rules compare them
	changed bool
	d       kernel.CallDecided
}

// decide takes a call through the entry.
func (x *Execution) decide(c kernel.DecideCall) Task {
	e := &entry{x: x, call: c, snap: x.present(), narrow: x.narrow, first: x.definition(c.Call.Name), asked: x.approvedAs(c.Call.ID)}
	e.asking = errand{x: x, what: "the policy", missing: e}
	return e
}

// Do takes it there.
func (e *entry) Do(ctx context.Context, instead Report) (kernel.Event, Content) {
	e.instead = instead
	e.d = e.answer(kernel.Deny, "")
	e.enter(ctx)
	e.d.At = e.x.at()
	return e.d, Content{}
}

func (e *entry) enter(ctx context.Context) {
	if e.snap == nil { // taken over: its request was another process's
		e.snap, _ = e.x.sources.take(ctx, 0)
	}
	if err := e.snap.tools.Check(e.call.Call.Name, []byte(e.call.Call.Arguments)); err != nil {
		e.invalid(err)
		return
	}
	spec, _ := e.snap.tools.Spec(e.call.Call.Name)
	e.risk, e.d.Risk, e.d.Attempts = spec.Risk, spec.Risk, spec.Limits.Attempts
	if by := narrowed(e.narrow, e.call.Call.Name); by != nil {
		e.d = e.denied("narrowed by "+by.tool, by.words())
		return
	}
	if err := e.spell(); err != nil {
		e.invalid(err)
		return
	}
	if e.describe(ctx) && !e.outdated() && !e.hooks(ctx) {
		e.policy(ctx)
	}
}

// spell asks the tool for the spelling of the arguments that rules compare.
func (e *entry) spell() (err error) {
	defer e.x.contain("the tool's spelling of its arguments", &err)
	e.normal = e.snap.tools.Normal(e.call.Call.Name, []byte(e.call.Call.Arguments))
	return nil
}

// says reports whether a tool has anything to say of a single call.
func says(t tool.Tool) bool {
	switch t.(type) {
	case tool.Keyer, tool.Classifier, tool.Commander:
		return true
	}
	return false
}

// describe asks the tool what it says of this call. It reports whether to go on.
func (e *entry) describe(ctx context.Context) bool {
	t, _ := e.snap.tools.Lookup(e.call.Call.Name)
	e.changed = e.first != "" && e.first != e.snap.tools.Definition(e.call.Call.Name)
	if !says(t) {
		e.effect = e.snap.tools.EffectOf(e.call.Call.Name, nil)
		e.d.Effect = e.effect
		return true
	}
	return e.ask(ctx, t)
}

func (e *entry) ask(ctx context.Context, t tool.Tool) bool {
	asking := errand{x: e.x, what: "the tool", missing: e}
	err := asking.run(ctx, func() error {
		e.effect = e.snap.tools.EffectOf(e.call.Call.Name, []byte(e.call.Call.Arguments))
		e.argv = e.snap.tools.Argv(e.call.Call.Name, []byte(e.call.Call.Arguments))
		return e.x.businessKey(t, e.call, &e.d)
	})
	if err != nil {
		e.invalid(&kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the tool cannot name the effect of this call: " + describe(err)})
		return false
	}
	e.d.Effect = e.effect
	return true
}

// policy asks the policy. Whatever is no answer of it is no.
func (e *entry) policy(ctx context.Context) {
	p := e.x.agent.Policy
	if p == nil {
		e.d.Answer, e.d.Reason = kernel.Deny, "this agent has no policy, so nothing is allowed"
		return
	}
	err := e.asking.run(ctx, func() error {
		if hashed, ok := p.(policy.Hashed); ok {
			e.d.Policy = kernel.Clip(hashed.Hash(), maxHash)
		}
		e.d.Changed = e.changed
		decision, err := p.Decide(ctx, e.request())
		return errors.Join(err, e.take(&decision))
	})
	if err != nil {
		e.x.Log.Error("policy failed", "run", e.x.Run, "call", e.call.Call.ID, "error", err)
		e.d = e.answer(kernel.Deny, noPolicy)
	}
}

// take takes what the policy says, as far as it may.
func (e *entry) take(decision *policy.Decision) error {
	d := &e.d
	d.Answer, d.Reason, d.Rule = decision.Answer, kernel.Clip(decision.Reason, maxWords), kernel.Clip(decision.Rule, 200)
	if knownRisk(decision.Risk) {
		d.Risk = decision.Risk
	}
	switch asking := decision.Asking; {
	case d.Answer == kernel.Ask:
		if asking != nil {
			if bad := policy.CheckAsking(asking); bad != nil {
				return bad
			}
			d.Asking = asking
		}
		if e.changed { // in front, where nothing cuts it off
			d.Reason = kernel.Clip(e.anew()+asClause(d.Reason), maxWords)
		}
	case d.Answer == kernel.Allow && e.changed:
		d.Answer, d.Reason = kernel.Ask, e.anew()
		d.Asking = &kernel.Asking{Expires: policy.DefaultExpires, OnExpiry: kernel.ExpiryRefuse, Grant: policy.DefaultGrant}
	case d.Answer != kernel.Allow:
		d.Answer = kernel.Deny
	}
	return nil
}

func knownRisk(r kernel.Risk) bool {
	return r == kernel.RiskLow || r == kernel.RiskMedium || r == kernel.RiskHigh
}

const noPolicy = "the policy could not be asked"

// lost reports a call that something keeps from its decision.
func (e *entry) lost() {
	if e.instead != nil {
		e.instead(e.answer(kernel.Deny, noPolicy), Content{})
	}
}

func (e *entry) answer(a kernel.Answer, reason string) kernel.CallDecided {
	return kernel.CallDecided{At: e.x.at(), Cmd: e.call.Cmd, Call: e.call.Call.ID, Answer: a, Reason: reason}
}

// denied is a no of something that stands before the policy.
func (e *entry) denied(rule, why string) kernel.CallDecided {
	d := e.answer(kernel.Deny, kernel.Clip(why, maxWords))
	d.Rule, d.Risk = kernel.Clip(rule, 200), e.risk
	return d
}

// invalid answers a call that is not acceptable as it is.
func (e *entry) invalid(err error) {
	known, ok := errors.AsType[*kernel.Error](err)
	if !ok {
		known = &kernel.Error{Code: kernel.CodeInvalidArgument, Message: err.Error()}
	}
	risk := e.d.Risk
	e.d = e.answer(kernel.Invalid, kernel.Clip(known.Message, maxWords))
	e.d.Code, e.d.Risk = known.Code, risk
}

// request is the call as hooks and the policy see it: their own copy.
func (e *entry) request() policy.Request {
	r := e.x.policyRequest(e.call.Call, e.effect)
	r.Risk, r.Changed, r.Argv, r.Normal = e.risk, e.changed, slices.Clone(e.argv), slices.Clone(e.normal)
	return r
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

// policyRequest is a call as people and their rules see it, but for its risk.
func (x *Execution) policyRequest(call kernel.Call, effect kernel.EffectClass) policy.Request {
	return policy.Request{
		Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User,
		Call: call.ID, Tool: call.Name, Arguments: []byte(call.Arguments), Effect: effect,
	}
}
