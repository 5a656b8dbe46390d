package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// EffectState says what is known of an effect.
type EffectState string

// The states. Landed and NoEffect are final but for a claim of the same key
// that NoEffect allows; Unknown ends by a Resolution.
const (
	EffectRunning EffectState = "running"
	EffectLanded  EffectState = "landed"
	EffectNone    EffectState = "no_effect"
	EffectUnknown EffectState = "unknown"
)

// Claim is the exclusive right to one effect, taken in the transaction that
// records that its call has started: durable before anything happens outside.
// The tenant and the run are those of the entry's head.
type Claim struct {
	ID   string // of the effect: EffectID of tenant, tool and key
	Call string
	Tool string
	// Key names the effect within the tenant and the tool: the tool's business
	// key, or run and call. Not empty.
	Key string
	// Fingerprint is of tool, canonical arguments and identity: a key stands
	// for one of it. Request is of tool and of what the arguments mean, however
	// they are spelled: see kernel.RequestDigest and kernel.MeaningDigest.
	Fingerprint string
	Request     string
	Arguments   []byte // exact
	Class       kernel.EffectClass
	Attempt     int // of the call, from 1
	At          time.Time
	// Window is how long after an equal request has landed it is refused; 0: not
	// at all.
	Window time.Duration
	// Exclusive says that any unknown effect of the tool blocks the claim.
	Exclusive bool
}

// EffectID names an effect by what it stands for, so that whoever claims a key
// again, after a crash or in another run, names the same row.
func EffectID(tenant, tool, key string) string {
	h := sha256.New()
	for _, part := range []string{"effect", tenant, tool, key} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return "eff_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Settlement is the end of a claim.
type Settlement struct {
	Effect      string
	Call        string
	Disposition kernel.Disposition
	At          time.Time
	// Result is the content of the event that settles it, and Facts its
	// kernel.ResultFacts as JSON; kept when it landed.
	Result []byte
	Facts  []byte
}

// Effect is a row of the ledger.
type Effect struct {
	ID          string
	Run         string
	Call        string
	Session     string
	Tenant      string
	User        string
	Tool        string
	Key         string
	Fingerprint string
	Request     string
	Arguments   []byte
	Class       kernel.EffectClass // as claimed, whatever the tool says later
	State       EffectState
	Attempts    int       // claims so far
	ClaimedAt   time.Time // latest
	// SettledAt is when it came into its state. Of one that is running it is
	// since when it has been in doubt whether an earlier claim of the key landed
	// it; zero: there is no doubt.
	SettledAt   time.Time
	Result      []byte
	Facts       []byte
	Resolutions []Resolution // oldest first
}

// Resolution is what a person, or a job, found out about an unknown effect. It
// is appended, never rewritten.
type Resolution struct {
	ID       string // of its delivery: the same one again changes nothing
	Effect   string
	As       kernel.Finding
	By       string // a name (kernel.IsName), or empty
	Note     string // why; not empty
	Evidence string // SHA-256 of the evidence, in hex; empty: none
	Result   []byte // what the call came to, when landed; nil: not known
	At       time.Time
}

// Owner returns whose run claimed it last.
func (e *Effect) Owner() Owner { return Owner{e.Tenant, e.User} }

// EffectQuery selects effects. The zero value selects all.
type EffectQuery struct {
	Owner *Owner // whose runs'; nil: everyone's
	Run   string
	State EffectState // empty: any
	Limit int         // 0: all
}

// Refusal says why the ledger does not give a claim. It is an error with code
// EFFECT_REFUSED, and the entry was not appended.
type Refusal struct {
	Why      kernel.ClaimWhy
	Effect   Effect // that stands against it; zero for kernel.ClaimApproval
	Approval string // the id, for kernel.ClaimApproval
}

// Error describes the refusal; it holds no arguments and no result.
func (r *Refusal) Error() string { return r.Unwrap().Error() }

// Unwrap gives the refusal its code.
func (r *Refusal) Unwrap() error {
	message := "the ledger refuses the call: " + string(r.Why)
	switch {
	case r.Effect.ID != "":
		message += ", effect " + r.Effect.ID
	case r.Approval != "":
		message += ", " + r.Approval
	}
	return &kernel.Error{Code: kernel.CodeEffectRefused, Message: message}
}
