package sim

import (
	"bytes"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// question is an approval as it should be.
type question struct {
	*journal.Approval

	plan  *callPlan
	yes   map[string]bool // who
	votes map[string]bool // that counted, by id
	state journal.ApprovalState
}

// takeQuestions keeps the approvals of an entry a second time.
func (w *watch) takeQuestions(p *process, r *shadow, e *journal.Entry) {
	for i := range e.Asked {
		a := e.Asked[i]
		if w.questions[a.ID] != nil {
			continue // it is put again
		}
		w.seen["asked"]++
		if a.Escalated {
			w.seen["asked, escalated"]++
		}
		w.tracef(p, "asks %s about %s/%s", a.ID, a.Run, a.Call)
		w.asked = append(w.asked, a.ID)
		w.questions[a.ID] = &question{Approval: &a, plan: r.plan.call(a.Call), yes: map[string]bool{}, votes: map[string]bool{}, state: journal.ApprovalOpen}
		w.crowd.asked(r.plan, &a)
	}
	for i := range e.Closed {
		c := &e.Closed[i]
		q := w.questions[c.Approval]
		if q == nil {
			w.failf("I7", "%s closes question %s, which was not asked", r.plan.id, c.Approval)
			continue
		}
		early := q.Expires.IsZero() || c.At.Before(q.Expires) && !w.stepsBack // a timer counts more than a clock that was set back
		if c.As == journal.ApprovalExpired && early {
			w.failf("I7", "question %s expires at %s, before its time %s", q.ID, c.At, q.Expires)
		}
		w.seen["approval "+string(c.As)]++
		if q.state != journal.ApprovalRefused {
			q.state = c.As
		}
	}
	if e.Spent != "" {
		w.spend(r, e)
	}
}

// spend looks at a yes that is used.
func (w *watch) spend(r *shadow, e *journal.Entry) {
	q := w.questions[e.Spent]
	switch {
	case q == nil:
		w.failf("I7", "%s uses approval %s, which nobody was asked for", r.plan.id, e.Spent)
		return
	case q.state != journal.ApprovalApproved:
		w.failf("I7", "%s uses approval %s, which is %s", r.plan.id, q.ID, q.state)
	case q.Run != r.plan.id:
		w.failf("I7", "%s uses the approval of %s", r.plan.id, q.Run)
	case e.Claim != nil && (e.Claim.Call != q.Call || !bytes.Equal(e.Claim.Arguments, q.Arguments) || e.Claim.Tool != q.Tool):
		w.failf("I7", "%s uses approval %s for other content", r.plan.id, q.ID)
	}
	q.state = journal.ApprovalSpent
}

// voted looks at a vote. Who votes, and when, is what the crowd says, whatever
// became of it on its way.
func (w *watch) voted(id string, err error) {
	v := w.crowd.voters[id]
	q := w.questions[w.crowd.about[id]]
	if err != nil || q.state != journal.ApprovalOpen || q.votes[id] { // delivered again, it changes nothing
		return
	}
	q.votes[id] = true
	defer w.checkVotes(q.ID)
	rule, at := q.Approvers, w.crowd.issued[id]
	from := rule.From
	if q.Escalated {
		from = rule.Escalate
	}
	allowed := len(from) == 0
	for _, who := range from {
		allowed = allowed || who == v.by
	}
	switch {
	case !q.Expires.IsZero() && !at.Before(q.Expires):
		w.failf("I7", "the vote of %s on %s counts, and came too late", v.by, q.ID)
	case v.stale:
		w.failf("I7", "the vote of %s on %s counts, and was for something else", v.by, q.ID)
	case !allowed || rule.NotAsker && v.by == q.User:
		w.failf("I7", "%s may not decide on %s", v.by, q.ID)
	}
	w.seen["vote"]++
	if !v.yes {
		q.state = journal.ApprovalRefused
		return
	}
	q.yes[v.by] = true
	if len(q.yes) >= max(1, rule.Quorum) {
		q.state = journal.ApprovalApproved
	}
}

// checkVotes compares what the journal made of the votes.
func (w *watch) checkVotes(id string) {
	q := w.questions[id]
	if a, err := w.base.Approval(background(), id); err != nil || a.State != q.state {
		w.failf("I7", "approval %s should be %s, and is %s (%v)", id, q.state, a.State, err)
	}
}

// checkStart looks whether a call may start, by policy and by people.
func (w *watch) checkStart(r *shadow, e *kernel.CallStarted, record int64) {
	v := r.decided[e.Call]
	switch {
	case v == nil:
		w.failf("I7", "call %s of %s starts, and policy was not asked", e.Call, r.plan.id)
		return
	case v.answer != kernel.Allow && v.answer != kernel.Ask:
		w.failf("I7", "call %s of %s starts, and policy says %s", e.Call, r.plan.id, v.answer)
	case v.record < r.resumed || v.record < v.granted:
		w.failf("I7", "call %s of %s starts at record %d, and policy was asked at %d: before the take-over at %d, or the yes at %d", e.Call, r.plan.id, record, v.record, r.resumed, v.granted)
	case v.answer == kernel.Ask && !v.spent:
		w.failf("I7", "call %s of %s starts, and its approval is not spent", e.Call, r.plan.id)
	}
}
