package sim

import (
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// claimDefects are about what may begin.
func claimDefects() []defect {
	return []defect{
		{
			Defect:  named("effect before claim", "I6: the claim is durable before anything happens outside", "I6"),
			appends: passEntry(func(h *handle, e *journal.Entry) { h.world.hurry(h.process, e) }),
		},
		{
			Defect: named("refused claim ignored", "I6: what the ledger does not give does not run", "I6"),
			appends: func(_ *handle, e journal.Entry, pass func(journal.Entry) error) error {
				err := pass(e)
				if kernel.CodeOf(err) == kernel.CodeEffectRefused {
					e.Claim = nil
					err = pass(e)
				}
				return err
			},
		},
		{
			Defect:  named("new call id passes an unknown", "I6: an unknown is never retried blindly, whatever the call is named", "I6"),
			appends: passClaim(func(c *journal.Claim, _ *journal.Head) { c.Request += c.Call }),
		},
		{
			Defect:  named("repeat window ignored", "I6: an equal request is not repeated within the tool's window", "I6"),
			appends: passClaim(func(c *journal.Claim, _ *journal.Head) { c.Window = 0 }),
		},
		{
			Defect:  named("exclusive ignored", "I6: an unknown of an exclusive tool blocks its other calls", "I6"),
			appends: passClaim(func(c *journal.Claim, _ *journal.Head) { c.Exclusive = false }),
		},
		{
			Defect: named("business key not of the claim", "I6: two calls of one key are one effect", "ledger"),
			appends: passClaim(func(c *journal.Claim, h *journal.Head) {
				c.Key += c.Call
				c.ID = journal.EffectID(h.Tenant, c.Tool, c.Key)
			}),
		},
	}
}

// passClaim changes a claim on its way.
func passClaim(change func(c *journal.Claim, h *journal.Head)) func(*handle, journal.Entry, func(journal.Entry) error) error {
	return passEntry(func(_ *handle, e *journal.Entry) {
		if e.Claim != nil {
			c := *e.Claim
			change(&c, &e.Head)
			e.Claim = &c
		}
	})
}

// settleDefects are about what the ledger says became of it.
func settleDefects() []defect {
	return []defect{
		{
			Defect:  named("settle missing", "the ledger says what became of a claim", "ledger"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Settled = nil }),
		},
		{
			Defect:  named("landed settled as no effect", "the ledger agrees with the world", "ledger"),
			appends: settledAs(kernel.Landed, kernel.DidNotHappen),
		},
		{
			Defect:  named("doubt settled as no effect", "the ledger agrees with the world", "ledger"),
			appends: settledAs(kernel.InDoubt, kernel.DidNotHappen),
		},
	}
}

// settledAs changes settlements on their way.
func settledAs(from, to kernel.Disposition) func(*handle, journal.Entry, func(journal.Entry) error) error {
	return passEntry(func(_ *handle, e *journal.Entry) {
		out := make([]journal.Settlement, len(e.Settled))
		for i, s := range e.Settled {
			if s.Disposition == from {
				s.Disposition, s.Result, s.Facts = to, nil, nil
			}
			out[i] = s
		}
		e.Settled = out
	})
}
