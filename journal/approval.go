package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// ApprovalState says where an approval is.
type ApprovalState string

// The states. Approved is not yet spent.
const (
	ApprovalOpen      ApprovalState = "open"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalRefused   ApprovalState = "refused"
	ApprovalExpired   ApprovalState = "expired"
	ApprovalWithdrawn ApprovalState = "withdrawn" // the run ended, or the call is not wanted any more
	ApprovalLapsed    ApprovalState = "lapsed"    // granted, and not used in time
	ApprovalSpent     ApprovalState = "spent"
)

// Approval is a question to a person. Everything up to Hash never changes.
type Approval struct {
	ID        string
	Run       string
	Session   string
	Tenant    string
	User      string // who asked
	Call      string
	Cmd       kernel.Seq // the AskHuman
	Tool      string
	Arguments []byte // exact
	Effect    kernel.EffectClass
	Reason    string
	Approvers kernel.Approvers
	Escalated bool
	Asked     time.Time
	Expires   time.Time // zero: never
	Hash      string    // ContentHash

	State   ApprovalState
	Decided time.Time // zero: not
	Votes   []Vote    // oldest first
}

// Vote is one person's answer to an approval.
type Vote struct {
	ID       string // of its signal: the same one again changes nothing
	Approval string
	By       string
	Approve  bool
	Reason   string
	Hash     string // what the person saw; empty: not compared
	At       time.Time
}

// ContentHash is what an approval is bound to: SHA-256, in hex, over id, run,
// identity, tool, exact argument bytes and expiry.
func (a *Approval) ContentHash() string {
	h := sha256.New()
	for _, part := range []string{"approval", a.ID, a.Run, a.Session, a.Tenant, a.User, a.Call, a.Tool, string(a.Arguments), strconv.FormatInt(expiry(a.Expires), 10)} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func expiry(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Count takes a vote and returns the approval as it stands then. A vote that
// may not be given is refused, and changes nothing: ALREADY_DECIDED by whom
// and when, EXPIRED, FORBIDDEN for who may not decide, STALE_APPROVAL for other
// content. The same person's same answer again is no second vote.
func Count(a Approval, v Vote) (Approval, error) {
	switch {
	case a.State == ApprovalExpired, a.State == ApprovalOpen && !a.Expires.IsZero() && !v.At.Before(a.Expires):
		return a, &kernel.Error{Code: kernel.CodeExpired, Message: "approval " + a.ID + " expired at " + stamp(a.Expires), Hint: "the run goes on as its rule says; ask again if it is still wanted"}
	case a.State != ApprovalOpen:
		return a, &kernel.Error{Code: kernel.CodeAlreadyDecided, Message: fmt.Sprintf("approval %s is already %s%s", a.ID, a.State, a.decidedBy()), Hint: "approvals show " + a.ID + " tells the rest"}
	case v.Hash != "" && v.Hash != a.Hash:
		return a, &kernel.Error{Code: kernel.CodeStaleApproval, Message: "the hash is not that of approval " + a.ID, Hint: "look at it again with approvals show, and give the hash that it prints"}
	}
	if err := may(&a, v.By); err != nil {
		return a, err
	}
	for _, old := range a.Votes {
		if old.By == v.By {
			return a, nil
		}
	}
	a.Votes = append(slices.Clip(a.Votes), v)
	switch {
	case !v.Approve:
		a.State, a.Decided = ApprovalRefused, v.At
	case len(a.Votes) >= max(1, a.Approvers.Quorum):
		a.State, a.Decided = ApprovalApproved, v.At
	}
	return a, nil
}

// may says why someone may not decide, as FORBIDDEN.
func may(a *Approval, by string) error {
	refuse := func(why string) error {
		return &kernel.Error{Code: kernel.CodeForbidden, Message: "approval " + a.ID + " cannot be decided here: " + why, Hint: "someone whom the rule allows has to decide, under their own --user"}
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

func (a *Approval) decidedBy() string {
	if len(a.Votes) == 0 {
		return ""
	}
	last := a.Votes[len(a.Votes)-1]
	by := last.By
	if by == "" {
		by = "someone without a name"
	}
	return " by " + by + " at " + stamp(last.At)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Close ends an approval that nobody decided, or that was not used in time.
type Close struct {
	Approval string
	As       ApprovalState // expired, withdrawn, lapsed
	At       time.Time
}

// End closes an approval of a run, nil for one that is not there. It returns
// the approval as it stands then, or CONFLICT (see Missed).
func End(a *Approval, run string, c *Close) (Approval, error) {
	var from ApprovalState
	switch c.As {
	case ApprovalExpired, ApprovalWithdrawn:
		from = ApprovalOpen
	case ApprovalLapsed:
		from = ApprovalApproved
	default:
		return Approval{}, invalid(fmt.Sprintf("an approval is not closed as %.40q", string(c.As)))
	}
	if a == nil || a.Run != run || a.State != from {
		return Approval{}, Missed(orUnknown(a, run, c.Approval), string(c.As))
	}
	closed := *a
	closed.State = c.As
	if closed.Decided.IsZero() {
		closed.Decided = c.At
	}
	return closed, nil
}

// Spend uses an approval of a run, nil for one that is not there, for a claim,
// nil where the call needs none. It returns the approval as it stands then, or
// CONFLICT when it is not approved (see Missed) or was given to another call.
func Spend(a *Approval, run, id string, c *Claim) (Approval, error) {
	if a == nil || a.Run != run || a.State != ApprovalApproved {
		return Approval{}, Missed(orUnknown(a, run, id), string(ApprovalSpent))
	}
	if c != nil && (a.Call != c.Call || a.Tool != c.Tool || !bytes.Equal(a.Arguments, c.Arguments)) {
		return Approval{}, &kernel.Error{Code: kernel.CodeConflict, Message: "approval " + id + " was given to another call"}
	}
	spent := *a
	spent.State = ApprovalSpent
	return spent, nil
}

// orUnknown stands in for an approval that the run does not have.
func orUnknown(a *Approval, run, id string) *Approval {
	if a == nil || a.Run != run {
		return &Approval{ID: id, State: "unknown"}
	}
	return a
}

// Missed is the answer to an entry that closes or spends an approval which is
// not in the state for it: CONFLICT, and nothing was written. Whoever drives
// the run looks at its signals again.
func Missed(a *Approval, wanted string) error {
	return &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("approval %s is %s: it cannot be %s", a.ID, a.State, wanted)}
}

// decision is the payload of an approve or refuse signal.
type decision struct {
	Approval string     `json:"approval"`
	Cmd      kernel.Seq `json:"cmd"`
	Call     string     `json:"call"`
	Reason   string     `json:"reason,omitempty"`
	By       []string   `json:"by"`
}

// Signal is what tells the run of a decided approval.
func (a *Approval) Signal(v Vote) Signal {
	d := decision{Approval: a.ID, Cmd: a.Cmd, Call: a.Call, Reason: v.Reason}
	for _, vote := range a.Votes {
		d.By = append(d.By, vote.By)
	}
	payload, _ := json.Marshal(d) // strings and numbers
	kind := SignalApprove
	if !v.Approve {
		kind = SignalRefuse
	}
	return Signal{ID: "decided/" + a.ID, Run: a.Run, Kind: kind, By: v.By, At: v.At, Payload: payload}
}
