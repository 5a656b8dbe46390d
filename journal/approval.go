package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
//
//	open ──votes──▶ approved ──its call starts──▶ spent
//	  │                 └──▶ lapsed, withdrawn
//	  └──▶ refused, expired, withdrawn
type Approval struct {
	ID        string // not empty; unique in the journal
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
	Decided time.Time // when it left the state open; zero: not yet
	Votes   []Vote    // oldest first
}

// ApprovalQuery selects approvals. The zero value selects all.
type ApprovalQuery struct {
	Owner *Owner // whose runs'; nil: everyone's
	Run   string
	State ApprovalState // empty: any
	Limit int           // 0: all
}

// ContentHash is what an approval is bound to: SHA-256, in hex, over id, run,
// identity, call, tool, exact argument bytes and expiry, each behind its
// length.
func (a *Approval) ContentHash() string {
	h := sha256.New()
	for _, part := range []string{
		"approval", a.ID, a.Run, a.Session, a.Tenant, a.User, a.Call, a.Tool, string(a.Arguments),
		strconv.FormatInt(expiry(a.Expires), 10),
	} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func expiry(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// checkAsked refuses a question that is not one of the entry's run, as
// INVALID_ARGUMENT.
func checkAsked(h *Head, a *Approval) error {
	switch {
	case a.ID == "" || a.Call == "" || a.Tool == "":
		return invalid("an approval needs an id, a call and a tool")
	case a.Run != h.Run || a.Session != h.Session || a.Owner() != h.Owner():
		return invalid("approval " + a.ID + " is asked for another run, session or owner than the entry's")
	case a.State != ApprovalOpen || len(a.Votes) > 0 || !a.Decided.IsZero():
		return invalid("approval " + a.ID + " is decided before it was asked")
	case !storable(a.Asked) || !a.Expires.IsZero() && !storable(a.Expires):
		return invalid("an approval needs the instant at which it was asked, and an expiry from 1678 to 2262 or none")
	case a.Hash != a.ContentHash():
		return invalid("the hash of approval " + a.ID + " is not that of its content")
	}
	return nil
}

// Owner returns whose run asks.
func (a *Approval) Owner() Owner { return Owner{a.Tenant, a.User} }

// Ask says whether an approval that is asked is new, given the one with its id
// (nil: none). The same question again changes nothing; another one under its
// id is CONFLICT.
func Ask(stored, asked *Approval) (fresh bool, err error) {
	switch {
	case stored == nil:
		return true, nil
	case stored.Hash != asked.Hash:
		return false, &kernel.Error{Code: kernel.CodeConflict, Message: "approval " + asked.ID + " is there already, with other content"}
	}
	return false, nil
}

// Close ends an approval that nobody decided, or that was not used in time.
type Close struct {
	Approval string
	As       ApprovalState // expired, withdrawn, lapsed
	At       time.Time
}

func checkClose(c *Close) error {
	switch {
	case c.Approval == "" || !storable(c.At):
		return invalid("closing an approval needs its id and an instant")
	case c.As != ApprovalExpired && c.As != ApprovalWithdrawn && c.As != ApprovalLapsed:
		return invalid(fmt.Sprintf("no approval is closed as %.40q", c.As))
	}
	return nil
}

// End closes an approval of a run, nil for one that is not there. It returns
// the approval as it stands then. What is open expires, what is approved
// lapses, and both can be withdrawn; to withdraw what was refused in the meantime
// changes nothing, so that a run which ends does not have to look for what it
// missed. The rest is CONFLICT (see Missed).
func End(a *Approval, run string, c *Close) (Approval, error) {
	if a == nil || a.Run != run {
		return Approval{}, Missed(&Approval{ID: c.Approval, State: "unknown"}, string(c.As))
	}
	closed := *a
	switch {
	case c.As == ApprovalWithdrawn && a.State == ApprovalRefused:
		return closed, nil
	case a.State == ApprovalOpen && (c.As == ApprovalExpired || c.As == ApprovalWithdrawn),
		a.State == ApprovalApproved && (c.As == ApprovalLapsed || c.As == ApprovalWithdrawn):
		closed.State = c.As
		if closed.Decided.IsZero() {
			closed.Decided = instant(c.At)
		}
		return closed, nil
	}
	return closed, Missed(a, string(c.As))
}

// Missed is the answer to an entry that closes an approval which is not in the
// state for it: CONFLICT, and nothing was written. Whoever drives the run looks
// at its signals again.
func Missed(a *Approval, wanted string) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("approval %s is %s: it cannot be %s", a.ID, a.State, wanted),
		Hint:    "a person was faster: read the run's signals again",
	}
}

// Spend uses an approval of a run, nil for one that is not there, for a call
// that starts; the claim is nil where the call needs none. It returns the
// approval as it stands then. Only what is approved is spent, once, and with a
// claim only on the content that was approved: otherwise a *Refusal.
func Spend(a *Approval, run, id string, c *Claim) (Approval, error) {
	if a == nil || a.Run != run || a.State != ApprovalApproved || c != nil && !a.allows(c) {
		return Approval{}, &Refusal{Why: kernel.ClaimApproval, Approval: id}
	}
	spent := *a
	spent.State = ApprovalSpent
	return spent, nil
}

func (a *Approval) allows(c *Claim) bool {
	return a.Call == c.Call && a.Tool == c.Tool && bytes.Equal(a.Arguments, c.Arguments)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
