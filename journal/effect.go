package journal

import (
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
	ID   string // of the effect, new; an effect that is claimed again keeps its own
	Call string
	Tool string
	// Key names the effect within the tenant and the tool: the tool's business
	// key, or run and call. Not empty.
	Key string
	// Fingerprint is of tool, canonical arguments and identity: a key stands
	// for one of it. Request is of tool and canonical arguments.
	Fingerprint string
	Request     string
	Arguments   []byte // exact
	Class       kernel.EffectClass
	Attempt     int
	At          time.Time
	// Window is how long after an equal request has landed it is refused; 0: not at
	// all.
	Window time.Duration
	// Exclusive says that any unknown effect of the tool blocks the claim.
	Exclusive bool
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
	Class       kernel.EffectClass // as recorded, whatever the tool says later
	State       EffectState
	Attempts    int
	ClaimedAt   time.Time // latest
	SettledAt   time.Time // zero: running
	Result      []byte
	Facts       []byte
	Resolutions []Resolution // oldest first
}

// Resolution is what a person, or a job, found out about an unknown effect. It
// is appended, never rewritten.
type Resolution struct {
	ID       string // of its signal: the same one again changes nothing
	Effect   string
	As       kernel.Finding
	By       string
	Note     string // why; not empty
	Evidence string // SHA-256 of the evidence, in hex; empty: none
	Result   []byte // what the call came to, when landed; nil: not known
	At       time.Time
}

// Refusal says why the ledger does not give a claim. It is an error with code
// EFFECT_REFUSED, and the entry was not appended.
type Refusal struct {
	Why    kernel.ClaimWhy
	Effect Effect // that stands against it
}

// Rule decides on a claim. own is the effect of the same tenant, tool and key,
// nil where there is none; others are the effects of the same tenant and tool
// that are running or unknown, and those with the same Request that landed within the claim's window.
// The answer is nil for a claim that is given: own is then claimed again.
func Rule(c *Claim, run string, own *Effect, others []Effect) *Refusal {
	if own != nil {
		return ruleOwn(c, run, own)
	}
	for i := range others {
		if why := against(c, &others[i]); why != "" {
			return &Refusal{Why: why, Effect: others[i]}
		}
	}
	return nil
}

func ruleOwn(c *Claim, run string, own *Effect) *Refusal {
	refuse := func(why kernel.ClaimWhy) *Refusal { return &Refusal{Why: why, Effect: *own} }
	mine := own.Run == run && own.Call == c.Call
	switch {
	case own.Fingerprint != c.Fingerprint:
		return refuse(kernel.ClaimOther)
	case own.State == EffectLanded:
		return refuse(kernel.ClaimStored)
	case own.State == EffectNone:
		return nil
	case own.State == EffectRunning && !mine:
		return refuse(kernel.ClaimBusy)
	case own.Class == kernel.Idempotent && c.Class == kernel.Idempotent:
		return nil // the same key again is the same effect
	}
	return refuse(kernel.ClaimUnknown)
}

// against says why an effect of another key stands against a claim.
func against(c *Claim, e *Effect) kernel.ClaimWhy {
	equal := e.Request == c.Request
	switch {
	case e.State == EffectUnknown && equal:
		return kernel.ClaimUnknown
	case e.State == EffectRunning && equal:
		return kernel.ClaimBusy
	case e.State == EffectUnknown && c.Exclusive:
		return kernel.ClaimBlocked
	case e.State == EffectLanded && equal && c.Window > 0 && c.At.Before(e.SettledAt.Add(c.Window)):
		return kernel.ClaimWindow
	}
	return ""
}

// Error describes the refusal; it holds no arguments and no result.
func (r *Refusal) Error() string {
	return string(kernel.CodeEffectRefused) + ": the ledger refuses the call (" + string(r.Why) + ", effect " + r.Effect.ID + ")"
}

// Unwrap gives the refusal its code.
func (r *Refusal) Unwrap() error {
	return &kernel.Error{Code: kernel.CodeEffectRefused, Message: "the ledger refuses the call: " + string(r.Why)}
}
