package sqlite

import "github.com/holdfast-run/holdfast/journal"

const (
	insertApproval = `INSERT INTO approvals (` + approvalColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	updateApproval = `UPDATE approvals SET state = ?, decided = ? WHERE id = ?`
	selectApproval = `SELECT ` + approvalColumns + ` FROM approvals WHERE id = ?`
	selectVotes    = `SELECT ` + voteColumns + ` FROM votes WHERE approval = ? ORDER BY number`
	insertVote     = `INSERT INTO votes (` + voteColumns + `, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// approval returns an approval with its votes, or nil.
func (t *tx) approval(id string) (*journal.Approval, error) {
	a, err := one(t, scanApproval, selectApproval, id)
	if err != nil || a == nil {
		return nil, err
	}
	a.Votes, err = all(t, scanVote, selectVotes, id)
	return a, err
}

func (t *tx) moveApproval(a *journal.Approval) error {
	return t.exec(updateApproval, string(a.State), orNull(a.Decided), a.ID)
}

// ask writes a question, unless it is there.
func (t *tx) ask(a *journal.Approval) error {
	row, err := approvalRow(a)
	if err != nil {
		return err
	}
	if fresh, err := t.change(insertApproval, row...); err != nil || fresh {
		return err
	}
	stored, err := t.approval(a.ID)
	if err != nil {
		return err
	}
	_, err = journal.Ask(stored, a)
	return err
}

func (t *tx) closeApproval(run string, c *journal.Close) error {
	stored, err := t.approval(c.Approval)
	if err != nil {
		return err
	}
	ended, err := journal.End(stored, run, c)
	if err != nil {
		return err
	}
	return t.moveApproval(&ended)
}

func (t *tx) spend(run, id string, c *journal.Claim) error {
	stored, err := t.approval(id)
	if err != nil {
		return err
	}
	spent, err := journal.Spend(stored, run, id, c)
	if err != nil {
		return err
	}
	return t.moveApproval(&spent)
}

// deciding is a vote on its way.
type deciding struct {
	vote     journal.Vote
	approval journal.Approval // as it stands then
}

func (d *deciding) apply(t *tx) error {
	stored, err := t.approval(d.vote.Approval)
	if err != nil {
		return err
	}
	if stored == nil {
		return journal.NoApproval(d.vote.Approval)
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
	if err := t.moveApproval(&d.approval); err != nil {
		return err
	}
	return t.tell(d.approval.Signal(d.vote))
}
