package eval

import (
	"context"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Call is a call of a run, as it is journaled.
type Call struct {
	Turn      int    `json:"turn"`
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // as the model wrote them
	Code      string `json:"code"`      // OK, or why not; NOT_RUN where nothing came of it
}

// callsOf reads the calls of a run that has stopped from its journal.
func callsOf(ctx context.Context, rt *holdfast.Runtime, run *holdfast.Run) ([]Call, error) {
	t := &trace{said: map[string]*kernel.Call{}, at: map[string]int{}}
	for i := range run.History {
		for _, b := range run.History[i].Blocks {
			if b.Kind == kernel.BlockCall {
				t.said[b.Call.ID] = b.Call
			}
		}
	}
	for u, err := range rt.Watch(ctx, run.Head.Run, 0) {
		if err != nil {
			return nil, err
		}
		t.see(&u)
	}
	return t.calls, nil
}

type trace struct {
	said  map[string]*kernel.Call // in the history, by id
	turn  int
	calls []Call
	at    map[string]int // in calls, by id
}

func (t *trace) see(u *holdfast.Update) {
	switch e := u.Event.(type) {
	case kernel.ModelReplied:
		t.turn = e.Turn
	case kernel.CallDecided:
		t.call(e.Call) // it may never run
	}
	if call, code, ok := desk.CallCode(u.Event); ok {
		t.call(call).Code = code
	}
}

// call is the entry of a call, which is made when it is first heard of.
func (t *trace) call(id string) *Call {
	i, ok := t.at[id]
	if !ok {
		c := Call{Turn: t.turn, ID: id, Code: "NOT_RUN"}
		if said := t.said[id]; said != nil {
			c.Tool, c.Arguments = said.Name, said.Arguments
		}
		i = len(t.calls)
		t.at[id] = i
		t.calls = append(t.calls, c)
	}
	return &t.calls[i]
}

// Read is a line of the audit that a call of the run left.
type Read struct {
	Call    string        `json:"call"`
	Who     desk.Identity `json:"who"`
	Action  string        `json:"action"`
	Object  string        `json:"object"`
	Outcome string        `json:"outcome"`
	in      string        // the tenant whose audit has it
}

// readsOf are the lines that calls left in a desk. One that a call of another
// run left has that run's name before its id.
func readsOf(ctx context.Context, audit desk.Auditor, run string, people []desk.Identity) ([]Read, error) {
	var reads []Read
	seen := map[string]bool{}
	for _, who := range people {
		if seen[who.Tenant] {
			continue
		}
		seen[who.Tenant] = true
		lines, err := accesses(ctx, audit, who.Tenant)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.Who.Through == "" {
				continue
			}
			call := strings.TrimPrefix(l.Who.Through, run+"/")
			reads = append(reads, Read{call, desk.Identity{Tenant: l.Who.Tenant, User: l.Who.User}, l.Action, l.Object, l.Outcome, who.Tenant})
		}
	}
	return reads, nil
}

// accesses are all lines about a tenant.
func accesses(ctx context.Context, audit desk.Auditor, tenant string) (all []desk.Access, err error) {
	for after := 0; ; after = all[len(all)-1].Number {
		lines, err := audit.Accesses(ctx, tenant, after)
		all = append(all, lines...)
		if err != nil || len(lines) < desk.MaxAccesses {
			return all, err
		}
	}
}
