package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/journal"
)

// effect returns one as it stands within the entry; nil: there is none.
func (p *plan) effect(id string) *journal.Effect {
	for _, e := range slices.Backward(p.effects) {
		if e.ID == id {
			return e
		}
	}
	return p.j.ledger.rows[id]
}

func (p *plan) settle(e *journal.Entry) error {
	for i := range e.Settled {
		s := &e.Settled[i]
		settled, err := journal.Settle(p.effect(s.Effect), e.Head.Run, s)
		if err != nil {
			return err
		}
		p.effects = append(p.effects, &settled)
	}
	return nil
}

func (p *plan) claim(e *journal.Entry) error {
	c := e.Claim
	if c == nil {
		return nil
	}
	own := p.effect(c.ID) // its id stands for its key
	if refusal := journal.Rule(c, e.Head.Run, own, p.others(e, c)); refusal != nil {
		refusal.Effect = ours(&refusal.Effect)
		return refusal
	}
	claimed := c.Claimed(&e.Head, own)
	p.effects = append(p.effects, &claimed)
	return nil
}

// others returns what may stand against a claim, as it stands within the entry.
func (p *plan) others(e *journal.Entry, c *journal.Claim) []journal.Effect {
	var others []journal.Effect
	add := func(stored *journal.Effect) {
		if e := p.effect(stored.ID); e.ID != c.ID {
			others = append(others, *e)
		}
	}
	p.j.ledger.against(e.Head.Tenant, c, add)
	for _, e := range p.effects { // what the entry has just settled
		if e.ID != c.ID && e.Tool == c.Tool && p.effect(e.ID) == e {
			others = append(others, *e)
		}
	}
	return others
}

// Resolve appends a resolution. See [journal.Journal].
func (j *Journal) Resolve(ctx context.Context, r journal.Resolution) (journal.Effect, error) {
	if err := j.lock(ctx); err != nil {
		return journal.Effect{}, err
	}
	defer j.mu.Unlock()
	old := j.ledger.rows[r.Effect]
	if old == nil {
		return journal.Effect{}, journal.NoEffect(r.Effect)
	}
	e, fresh, err := journal.Find(old, &r)
	if err != nil {
		return journal.Effect{}, err
	}
	if fresh {
		j.ledger.put(&e)
		if run := j.runs[e.Run]; run.head.State != journal.Stopped {
			run.note(e.Signal(&r))
		}
		j.changes++
	}
	return ours(&e), nil
}

// ours is a copy for a caller.
func ours(e *journal.Effect) journal.Effect {
	out := *e
	out.Resolutions = slices.Clone(e.Resolutions)
	return out
}

// Effect returns a row of the ledger. See [journal.Reader].
func (j *Journal) Effect(ctx context.Context, id string) (journal.Effect, error) {
	if err := j.rlock(ctx); err != nil {
		return journal.Effect{}, err
	}
	defer j.mu.RUnlock()
	e := j.ledger.rows[id]
	if e == nil {
		return journal.Effect{}, journal.NoEffect(id)
	}
	return ours(e), nil
}

// Effects returns the rows of the ledger that match q. See [journal.Reader].
func (j *Journal) Effects(ctx context.Context, q journal.EffectQuery) ([]journal.Effect, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	var found []*journal.Effect
	for _, e := range j.ledger.rows {
		if (q.Owner == nil || *q.Owner == e.Owner()) && passes(q.Run, e.Run) && passes(q.State, e.State) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *journal.Effect) int {
		return cmp.Or(b.ClaimedAt.Compare(a.ClaimedAt), strings.Compare(b.ID, a.ID))
	})
	return copies(first(found, q.Limit), ours), nil
}
