package sim

import (
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/verify"
)

// passVote changes a vote on its way, knowing what it is about.
func passVote(change func(a *journal.Approval, v *journal.Vote)) func(*handle, journal.Vote, func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
	return func(h *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
		if a, err := h.base.Approval(background(), v.Approval); err == nil {
			change(&a, &v)
		}
		return pass(v)
	}
}

// voteDefects are about who decides, and when.
func voteDefects() []defect {
	return []defect{
		{
			Defect: named("late vote counts", "I7: nobody decides after the expiry", "I7"),
			votes:  passVote(func(a *journal.Approval, v *journal.Vote) { v.At = a.Asked }),
		},
		{
			Defect: named("anyone may decide", "I7: who may decide is a rule", "I7"),
			votes: passVote(func(a *journal.Approval, v *journal.Vote) {
				if len(a.Approvers.From) > 0 && !a.Escalated {
					v.By = a.Approvers.From[0]
				}
			}),
		},
		{
			Defect: named("asker may decide", "I7: the asker is excluded where the rule says so", "I7"),
			votes: passVote(func(a *journal.Approval, v *journal.Vote) {
				if v.By == a.User && len(a.Approvers.From) == 0 {
					v.By += " herself"
				}
			}),
		},
		{
			Defect: named("one person is a quorum", "I7: one person has one vote", "I7"),
			votes: func(_ *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				a, err := pass(v)
				if err == nil && v.Approve && a.State == journal.ApprovalOpen && len(a.Approvers.From) == 0 {
					v.ID, v.By = v.ID+" again", v.By+" again"
					return pass(v)
				}
				return a, err
			},
		},
		{
			Defect: named("hash not compared", "I7: a decision is bound to the content that was seen", "I7"),
			votes:  passVote(func(_ *journal.Approval, v *journal.Vote) { v.Hash = "" }),
		},
	}
}

// wordDefects are about what becomes of a decision.
func wordDefects() []defect {
	return []defect{
		{
			Defect:  named("approval not spent", "I7: an approval is spent, with the start of its call", "I7"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Spent = "" }),
		},
		{
			Defect: named("policy not asked again", "I7: policy runs again when a run resumes, and after a yes", "I7"),
			decides: func(l *law, r policy.Request, decide func() (policy.Decision, error)) (policy.Decision, error) {
				at := r.Run + "/" + r.Call
				if d, known := l.remembered[at]; known {
					return d, nil
				}
				d, err := decide()
				if err == nil {
					l.remembered[at] = d
				}
				return d, err
			},
		},
		{
			Defect:  named("signal applied twice", "a signal is taken up once", "signals"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Applied = nil }),
		},
		{
			Defect:  named("stops without a hearing", "what was sent to a run before its stop is taken up", "signals"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Heard = false }),
		},
		{
			Defect: named("model's word verifies", "I5: verified comes from the verifier alone", "I5"),
			judges: func(v verify.Verdict) verify.Verdict {
				v.Verified = len(v.Evidence) > 0
				return v
			},
		},
	}
}
