package sqlite

import (
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	insertApproval = `INSERT INTO approvals (` + approvalColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateApproval = `UPDATE approvals SET state = ?, decided = ? WHERE id = ?`
	selectApproval = `SELECT ` + approvalColumns + ` FROM approvals WHERE id = ?`
	selectVotes    = `SELECT ` + voteColumns + ` FROM votes WHERE approval = ? ORDER BY number`
	insertVote     = `INSERT INTO votes (` + voteColumns + `, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// approval returns an approval as it stands within the entry, without its
// votes, or nil.
func (p *plan) approval(id string) (*journal.Approval, error) {
	for i := range slices.Backward(p.approvals) {
		if a := &p.approvals[i].row; a.ID == id {
			return a, nil
		}
	}
	return one(p.t, scanApproval, selectApproval, id)
}

func (p *plan) ask() error {
	for i := range p.entry.Asked {
		asked := &p.entry.Asked[i]
		stored, err := p.approval(asked.ID)
		if err != nil {
			return err
		}
		fresh, err := journal.Ask(stored, asked)
		if err != nil {
			return err
		}
		if fresh {
			p.approvals = append(p.approvals, changed[journal.Approval]{*asked, true})
		}
	}
	return nil
}

func (p *plan) end() error {
	for i := range p.entry.Closed {
		c := &p.entry.Closed[i]
		stored, err := p.approval(c.Approval)
		if err != nil {
			return err
		}
		ended, err := journal.End(stored, p.entry.Head.Run, c)
		if err != nil {
			return err
		}
		p.approvals = append(p.approvals, changed[journal.Approval]{row: ended})
	}
	return nil
}

func (p *plan) spend() error {
	id := p.entry.Spent
	if id == "" {
		return nil
	}
	stored, err := p.approval(id)
	if err != nil {
		return err
	}
	spent, err := journal.Spend(stored, p.entry.Head.Run, id, p.entry.Claim)
	if err != nil {
		return err
	}
	p.approvals = append(p.approvals, changed[journal.Approval]{row: spent})
	return nil
}

func (t *tx) putApproval(c *changed[journal.Approval]) error {
	a := &c.row
	if !c.fresh {
		return t.exec(updateApproval, string(a.State), orNull(a.Decided), a.ID)
	}
	row, err := approvalRow(a)
	if err != nil {
		return err
	}
	return t.exec(insertApproval, row...)
}

// deciding is a vote on its way.
type deciding struct {
	vote     journal.Vote
	approval journal.Approval // as it stands then
}

func (d *deciding) apply(t *tx) error {
	stored, err := one(t, scanApproval, selectApproval, d.vote.Approval)
	if err != nil {
		return err
	}
	if stored == nil {
		return journal.NoApproval(d.vote.Approval)
	}
	if stored.Votes, err = all(t, scanVote, selectVotes, stored.ID); err != nil {
		return err
	}
	if d.approval, err = journal.Count(*stored, d.vote); err != nil {
		return err
	}
	if len(d.approval.Votes) == len(stored.Votes) { // it is known
		return nil
	}
	if err := t.exec(insertVote, append(voteRow(&d.approval.Votes[len(stored.Votes)]), len(stored.Votes)+1)...); err != nil {
		return err
	}
	if d.approval.State == journal.ApprovalOpen {
		return nil
	}
	if err := t.putApproval(&changed[journal.Approval]{row: d.approval}); err != nil {
		return err
	}
	return t.tell(d.approval.Signal(d.vote))
}
