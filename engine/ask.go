package engine

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// ask asks a person. Whatever goes wrong is a refusal.
func (x *Execution) ask(c kernel.AskHuman) Task {
	a := policy.Approval{
		Request: x.policyRequest(c.Call, x.recordedEffect(c.Call.ID)),
		Reason:  c.Reason, Digest: c.Digest, Approvers: c.Approvers,
	}
	if c.Expires != 0 {
		a.Expires = time.Unix(0, int64(c.Expires))
	}
	decided := func(v policy.Verdict) kernel.Event {
		return kernel.ApprovalDecided{
			At: at(), Cmd: c.Cmd, Call: c.Call.ID,
			Approved: v.Approved, By: kernel.Clip(v.By, 200), Reason: kernel.Clip(v.Reason, maxWords), Digest: c.Digest,
		}
	}
	nobody := policy.Verdict{Reason: "nobody could be asked"}
	return func(ctx context.Context, instead Report) (kernel.Event, Content) {
		if x.agent.Approver == nil {
			return decided(policy.Verdict{Reason: "this call needs approval, and nobody can be asked"}), Content{}
		}
		var v policy.Verdict
		err := x.foreign(ctx, "the approver", func() { instead(decided(nobody), Content{}) }, func() (err error) {
			v, err = x.agent.Approver.Approve(ctx, a)
			return err
		})
		if err != nil {
			x.log.Warn("approval failed", "run", x.Run, "call", c.Call.ID, "error", err)
			v = nobody
		}
		return decided(v), Content{}
	}
}

// recordedEffect is the class that a call was decided with.
func (x *Execution) recordedEffect(call string) kernel.EffectClass {
	i := slices.IndexFunc(x.State.Batch, func(c kernel.CallState) bool { return c.Call.ID == call })
	if i < 0 {
		return kernel.Once
	}
	return x.State.Batch[i].Effect
}
