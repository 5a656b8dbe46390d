package engine

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// Approval is the question as it is stored.
func (x *Execution) Approval(c *kernel.AskHuman, asked kernel.Time) journal.Approval {
	return journal.Question(x.owned(), c, asked)
}

// owned is what a head says of whose run it is.
func (x *Execution) owned() *journal.Head {
	return &journal.Head{Run: x.Run, Session: x.start.Session, Tenant: x.start.Tenant, User: x.start.User}
}

func instant(t kernel.Time) time.Time { return time.Unix(0, int64(t)).UTC() }

// AsksHere reports whether the agent's own approver is asked: it speaks for
// whoever asked, so that the rule must let them decide alone.
func (x *Execution) AsksHere(c *kernel.AskHuman) bool {
	rule := c.Approvers
	return x.agent != nil && x.agent.Approver != nil && !c.Escalated && !rule.NotAsker && rule.Quorum <= 1 &&
		(len(rule.From) == 0 || slices.Contains(rule.From, x.start.User))
}

// rate keeps the risk of a call that people are asked about.
func (x *Execution) rate(d *kernel.CallDecided) {
	if d.Answer == kernel.Ask {
		x.rated.Store(d.Call, d.Risk)
	}
}

// Ask shows a question to the agent's approver and returns its vote. Without
// one the question stays open: nobody could be asked, or ctx ended first.
func (x *Execution) Ask(ctx context.Context, c *kernel.AskHuman, lost func()) (vote journal.Vote, decided bool) {
	stored := x.Approval(c, x.at()) // its hash is not over when it was asked
	request := x.policyRequest(c.Call, c.Effect)
	if risk, ok := x.rated.Load(c.Call.ID); ok {
		request.Risk, _ = risk.(kernel.Risk)
	}
	a := policy.Approval{
		Request: request,
		Reason:  c.Reason, Digest: c.Digest,
		ID: stored.ID, Hash: stored.Hash, Expires: stored.Expires, Approvers: c.Approvers,
	}
	var v policy.Verdict
	err := x.foreign(ctx, "the approver", lost, func() (err error) {
		v, err = x.agent.Approver.Approve(ctx, a)
		return err
	})
	if err != nil || ctx.Err() != nil {
		x.Log.Warn("nobody could be asked", "run", x.Run, "call", c.Call.ID, "error", err)
		return journal.Vote{}, false
	}
	by := v.By
	if len(c.Approvers.From) > 0 {
		by = x.start.User // the name that the rule knows
	}
	return journal.Vote{
		ID: "here/" + stored.ID, Approval: stored.ID, By: kernel.Clip(by, 200),
		Approve: v.Approved, Reason: kernel.Clip(v.Reason, maxWords), Hash: stored.Hash, At: x.Clock.Now().UTC(),
	}, true
}
