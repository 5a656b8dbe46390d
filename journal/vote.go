package journal

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Vote is one person's answer to an approval.
type Vote struct {
	ID       string // of its delivery: the same one again changes nothing
	Approval string
	By       string // a name (kernel.IsName); empty: none was given
	Approve  bool
	Reason   string
	Hash     string // what the person saw; empty: not compared
	At       time.Time
}

// CheckVote is what every implementation asks of a vote: INVALID_ARGUMENT for
// one that cannot be kept.
func CheckVote(v *Vote) error {
	if v.ID == "" || v.Approval == "" {
		return invalid("a vote needs an id and an approval")
	}
	if v.By != "" && !kernel.IsName(v.By) {
		return invalid(fmt.Sprintf("%.80q is no name that somebody decides under: it has white space around it, or what does not show", v.By))
	}
	if !storable(v.At) {
		return invalid("a vote needs an instant")
	}
	return nil
}

// Count takes a vote and returns the approval as it stands then, with the vote
// among its Votes if it counts. A vote that may not be given is refused, and
// changes nothing: STALE_APPROVAL for other content, also where the approval is
// not any more what its hash says, EXPIRED, ALREADY_DECIDED by whom and when,
// FORBIDDEN for who may not decide, in this order.
//
// One person has one vote: the same answer again changes nothing, and a yes can
// be turned into a no until it is decided. One no refuses; a quorum of people
// approves.
func Count(a Approval, v Vote) (Approval, error) {
	for i := range a.Votes {
		if a.Votes[i].ID == v.ID { // delivered again
			return a, nil
		}
	}
	if err := countable(&a, &v); err != nil {
		return a, err
	}
	for i := range a.Votes {
		if old := &a.Votes[i]; old.By == v.By && old.Approve == v.Approve {
			return a, nil
		}
	}
	v.At = instant(v.At)
	a.Votes = append(slices.Clip(a.Votes), v)
	if state := a.verdict(); state != ApprovalOpen {
		a.State, a.Decided = state, v.At
	}
	return a, nil
}

func countable(a *Approval, v *Vote) error {
	expired := a.State == ApprovalExpired || a.State == ApprovalOpen && !a.Expires.IsZero() && !v.At.Before(a.Expires)
	switch {
	case v.Hash != "" && v.Hash != a.Hash:
		return &kernel.Error{
			Code:    kernel.CodeStaleApproval,
			Message: "the hash is not that of approval " + a.ID,
			Hint:    "holdfast approvals show " + a.ID + " shows it as it is, with the hash to give",
		}
	case a.Hash != a.ContentHash():
		return &kernel.Error{
			Code:    kernel.CodeStaleApproval,
			Message: "approval " + a.ID + " was altered since it was asked: it is not what its hash says",
			Hint:    "another program changed the journal: find out which; holdfast runs cancel ends the run",
		}
	case expired:
		return &kernel.Error{
			Code:    kernel.CodeExpired,
			Message: "approval " + a.ID + " expired at " + stamp(a.Expires),
			Hint:    "the run goes on as its rule says; ask again if it is still wanted",
		}
	case a.State != ApprovalOpen:
		return &kernel.Error{
			Code:    kernel.CodeAlreadyDecided,
			Message: fmt.Sprintf("approval %s is already %s", a.ID, a.outcome()),
			Hint:    "holdfast approvals show " + a.ID + " tells the rest",
		}
	}
	return may(a, v.By)
}

// verdict is what the votes come to. Until it refuses or approves, they are all
// a yes, each of another person.
func (a *Approval) verdict() ApprovalState {
	switch n := len(a.Votes); {
	case n > 0 && !a.Votes[n-1].Approve:
		return ApprovalRefused
	case n >= max(1, a.Approvers.Quorum):
		return ApprovalApproved
	}
	return ApprovalOpen
}

// may says why someone may not decide, as FORBIDDEN.
func may(a *Approval, by string) error {
	refuse := func(why string) error {
		return &kernel.Error{
			Code:    kernel.CodeForbidden,
			Message: "approval " + a.ID + " cannot be decided here: " + why,
			Hint:    "someone whom the rule allows has to decide, under their own --user",
		}
	}
	from := a.Approvers.From
	if a.Escalated {
		from = a.Approvers.Escalate
	}
	switch {
	case by == "" && (a.Approvers.NotAsker || a.Approvers.Quorum > 1 || len(from) > 0):
		return refuse("its rule depends on who decides, and no name was given")
	case a.Approvers.NotAsker && by == a.User:
		return refuse("who asked may not decide")
	case len(from) > 0 && !slices.Contains(from, by):
		return refuse("it is for others to decide")
	}
	return nil
}

// outcome says what became of an approval that is not open, by whom and when.
func (a *Approval) outcome() string {
	verdict := a.verdict()
	if verdict == ApprovalOpen { // closed before the votes came to anything
		return fmt.Sprintf("%s, at %s", a.State, stamp(a.Decided))
	}
	by := a.Votes[len(a.Votes)-1].By
	if by == "" {
		by = "someone without a name"
	}
	text := fmt.Sprintf("%s by %s at %s", verdict, by, stamp(a.Decided))
	if a.State != verdict {
		text += ", and " + string(a.State) + " since"
	}
	return text
}
