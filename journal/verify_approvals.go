package journal

import (
	"context"
	"slices"
	"time"
)

// approvals holds the approvals to the questions of the run, and each of its
// rows to a question.
func (w *walk) approvals(ctx context.Context) error {
	rows, err := w.v.r.Approvals(ctx, ApprovalQuery{Run: w.head.Run})
	if err != nil {
		return err
	}
	stored := map[string]bool{}
	for i := range rows {
		a := &rows[i]
		stored[a.ID] = true
		q := w.facts.asked[a.ID]
		detail := "was never asked by the run"
		if q != nil {
			detail = q.differs(a)
		}
		if detail != "" {
			w.rowFlaw(FlawApproval, a.ID, detail)
			return nil
		}
	}
	for _, id := range sortedKeys(w.facts.asked) {
		if q := w.facts.asked[id]; !stored[id] && !q.unkept(w.head) {
			w.rowFlaw(FlawApproval, id, "is gone")
			return nil
		}
	}
	return nil
}

// unkept says that the question was put by a version that kept no approvals.
func (q *question) unkept(h *Head) bool {
	if q.decided != nil {
		return q.decided.Approval == ""
	}
	return unleased(h)
}

// differs says what of a row is not what the events say.
func (q *question) differs(a *Approval) string {
	counted, ok := a.counted()
	verdict := counted.State
	switch {
	case a.Hash != q.row.Hash || a.Hash != a.ContentHash() || !q.sameQuestion(a):
		return "is about something else"
	case !ok:
		return "has votes that do not count"
	case q.decided != nil && (q.decided.Approved != (verdict == ApprovalApproved) || !q.decided.Approved && verdict != ApprovalRefused),
		q.decided != nil && q.decided.Given != 0 && !timeOf(q.decided.Given).Equal(counted.Decided):
		return "was decided otherwise"
	case q.gone:
		return ""
	case a.State != q.ends(verdict):
		return "has another state"
	}
	when := counted.Decided
	if verdict == ApprovalOpen && q.closed != "" {
		when = q.closedAt
	}
	if !a.Decided.Equal(when) {
		return "was decided at another time"
	}
	return ""
}

// sameQuestion compares what the hash is not over.
func (q *question) sameQuestion(a *Approval) bool {
	want := &q.row
	return a.Cmd == want.Cmd && a.Effect == want.Effect && a.Reason == want.Reason && a.Escalated == want.Escalated &&
		a.Asked.Equal(want.Asked) && sameApprovers(a, want)
}

func sameApprovers(a, b *Approval) bool {
	return a.Approvers.NotAsker == b.Approvers.NotAsker && a.Approvers.Quorum == b.Approvers.Quorum &&
		slices.Equal(a.Approvers.From, b.Approvers.From) && slices.Equal(a.Approvers.Escalate, b.Approvers.Escalate)
}

// ends is the state that the events leave it in, given what the votes come to.
func (q *question) ends(verdict ApprovalState) ApprovalState {
	switch {
	case q.spent:
		return ApprovalSpent
	case q.closed == ApprovalWithdrawn && verdict == ApprovalRefused, q.closed == "":
		return verdict
	}
	return q.closed
}

// counted is the approval as its votes alone make it, and whether each of them
// could be given.
func (a *Approval) counted() (Approval, bool) {
	c := *a
	c.State, c.Decided, c.Votes = ApprovalOpen, time.Time{}, nil
	for i := range a.Votes {
		next, err := Count(c, a.Votes[i])
		if err != nil || len(next.Votes) != i+1 {
			return c, false
		}
		c = next
	}
	return c, true
}
