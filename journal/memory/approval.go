package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/journal"
)

// approval returns one as it stands within the entry; nil: there is none.
func (p *plan) approval(id string) *journal.Approval {
	for _, a := range slices.Backward(p.approvals) {
		if a.ID == id {
			return a
		}
	}
	return p.j.approvals[id]
}

func (p *plan) ask(e *journal.Entry) error {
	for i := range e.Asked {
		asked := e.Asked[i]
		fresh, err := journal.Ask(p.approval(asked.ID), &asked)
		if err != nil {
			return err
		}
		if fresh {
			asked.Asked, asked.Expires, asked.Votes = instant(asked.Asked), instant(asked.Expires), nil
			asked.Approvers.From, asked.Approvers.Escalate = slices.Clone(asked.Approvers.From), slices.Clone(asked.Approvers.Escalate)
			p.approvals = append(p.approvals, &asked)
		}
	}
	return nil
}

func (p *plan) end(e *journal.Entry) error {
	for i := range e.Closed {
		c := &e.Closed[i]
		closed, err := journal.End(p.approval(c.Approval), e.Head.Run, c)
		if err != nil {
			return err
		}
		p.approvals = append(p.approvals, &closed)
	}
	return nil
}

func (p *plan) spend(e *journal.Entry) error {
	id := e.Spent
	if id == "" {
		return nil
	}
	spent, err := journal.Spend(p.approval(id), e.Head.Run, id, e.Claim)
	if err != nil {
		return err
	}
	p.approvals = append(p.approvals, &spent)
	return nil
}

// Decide takes a vote. See [journal.Journal].
func (j *Journal) Decide(ctx context.Context, v journal.Vote) (journal.Approval, error) {
	if err := journal.CheckVote(&v); err != nil {
		return journal.Approval{}, err
	}
	if err := j.lock(ctx); err != nil {
		return journal.Approval{}, err
	}
	defer j.mu.Unlock()
	old := j.approvals[v.Approval]
	if old == nil {
		return journal.Approval{}, journal.NoApproval(v.Approval)
	}
	a, err := journal.Count(*old, v)
	if err != nil {
		return journal.Approval{}, err
	}
	if len(a.Votes) == len(old.Votes) { // known already
		return theirs(&a), nil
	}
	j.approvals[a.ID] = &a
	if r := j.runs[a.Run]; a.State != journal.ApprovalOpen && r.head.State != journal.Stopped {
		r.note(a.Signal(v))
	}
	j.changes++
	return theirs(&a), nil
}

// theirs is a copy for a caller.
func theirs(a *journal.Approval) journal.Approval {
	out := *a
	out.Votes = slices.Clone(a.Votes)
	out.Approvers.From, out.Approvers.Escalate = slices.Clone(a.Approvers.From), slices.Clone(a.Approvers.Escalate)
	return out
}

// Approval returns one approval. See [journal.Reader].
func (j *Journal) Approval(ctx context.Context, id string) (journal.Approval, error) {
	if err := j.rlock(ctx); err != nil {
		return journal.Approval{}, err
	}
	defer j.mu.RUnlock()
	a := j.approvals[id]
	if a == nil {
		return journal.Approval{}, journal.NoApproval(id)
	}
	return theirs(a), nil
}

// Approvals returns the approvals that match q. See [journal.Reader].
func (j *Journal) Approvals(ctx context.Context, q journal.ApprovalQuery) ([]journal.Approval, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	var found []*journal.Approval
	for _, a := range j.approvals {
		if (q.Owner == nil || *q.Owner == a.Owner()) && passes(q.Run, a.Run) && passes(q.State, a.State) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b *journal.Approval) int {
		return cmp.Or(b.Asked.Compare(a.Asked), strings.Compare(b.ID, a.ID))
	})
	return copies(first(found, q.Limit), theirs), nil
}
