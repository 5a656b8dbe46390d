package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// pastDecision is a decision of rules that a journal holds.
type pastDecision struct {
	head    *journal.Head
	at      time.Time
	call    kernel.Call
	decided kernel.CallDecided
}

// request is the call as the present rules see it: with the effect class that
// it was recorded with, and with the risk where its tool is not here.
func (p *pastDecision) request(b *ruleBook) policy.Request {
	r := b.request(p.call.Name, json.RawMessage(p.call.Arguments), identity{p.head.User, p.head.Tenant})
	r.Run, r.Session, r.Call = p.head.Run, p.head.Session, p.call.ID
	if p.decided.Effect != "" {
		r.Effect = p.decided.Effect
	}
	if _, here := b.tools.Spec(p.call.Name); !here && p.decided.Risk != "" {
		r.Risk = p.decided.Risk
	}
	r.Changed = p.decided.Changed
	return r
}

// answered is what a run makes of the rules' answer: what they allow of a tool
// that had changed is asked about.
func (p *pastDecision) answered(a kernel.Answer) kernel.Answer {
	if a == kernel.Allow && p.decided.Changed {
		return kernel.Ask
	}
	return a
}

// pastDecisions yields the decisions that rules took in the runs of a journal that
// who sees, latest started run first. Calls that were not acceptable, and
// what hooks and skills refused before, were never put to the rules.
func pastDecisions(ctx context.Context, j journal.Reader, who identity, since time.Time, see func(*pastDecision) error) error {
	heads, err := j.Heads(ctx, journal.Query{})
	if err != nil {
		return err
	}
	for i := range heads {
		h := &heads[i]
		if !who.sees(h.Owner()) || h.StartedAt.Before(since) {
			continue
		}
		records, err := j.Read(ctx, h.Run, 0, 0)
		if err != nil {
			return err
		}
		if err := decisionsOf(h, records, see); err != nil {
			return err
		}
	}
	return nil
}

func decisionsOf(h *journal.Head, records []journal.Record, see func(*pastDecision) error) error {
	replay := engine.NewReplay(h.Run, nil)
	for i := range records {
		before := replay.State.Batch
		e, _, err := replay.Next(&records[i])
		if err != nil {
			return err
		}
		d, ok := e.(kernel.CallDecided)
		if !ok || d.Policy == "" {
			continue
		}
		for k := range before {
			if c := before[k].Call; c.ID == d.Call {
				if err := see(&pastDecision{head: h, at: records[i].At, call: c, decided: d}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
