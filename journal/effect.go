package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
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
	ID   string // EffectID of the tenant, the tool and the key
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
	Attempts    int       // claims that were given
	ClaimedAt   time.Time // latest
	SettledAt   time.Time // of landed, no_effect or unknown; zero: running
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

// EffectID is the id of the effect under a key: the same one however often it is
// claimed, so that an event can name it before the ledger has ruled.
func EffectID(tenant, tool, key string) string {
	h := sha256.New()
	for _, part := range []string{"effect", tenant, tool, key} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write([]byte(part))
	}
	return "eff_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Claimed is the row of a claim that Rule has given: own is the row as it was,
// nil where there was none.
func (c *Claim) Claimed(h *Head, own *Effect) Effect {
	e := Effect{
		ID: c.ID, Run: h.Run, Call: c.Call, Session: h.Session, Tenant: h.Tenant, User: h.User,
		Tool: c.Tool, Key: c.Key, Fingerprint: c.Fingerprint, Request: c.Request, Arguments: c.Arguments,
		Class: c.Class, State: EffectRunning, Attempts: 1, ClaimedAt: c.At,
	}
	if own != nil {
		e.Attempts = own.Attempts + 1
		e.Resolutions = own.Resolutions
	}
	return e
}

// Settle ends the claim of a run on an effect, nil for one that is not there.
// It returns the row as it stands then. What is settled so already stays as it
// is; any other settlement of what is not running or unknown is CONFLICT, as is
// that of another call's effect: whoever drives the run looks at its signals
// again.
func Settle(e *Effect, run string, s *Settlement) (Effect, error) {
	state, known := map[kernel.Disposition]EffectState{
		kernel.Landed: EffectLanded, kernel.DidNotHappen: EffectNone, kernel.InDoubt: EffectUnknown,
	}[s.Disposition]
	switch {
	case !known:
		return Effect{}, invalid(fmt.Sprintf("an effect is not settled as %.40q", string(s.Disposition)))
	case e == nil || e.Run != run || e.Call != s.Call:
		return Effect{}, &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("effect %s is not claimed by call %q of run %q", s.Effect, s.Call, run)}
	case e.State == state:
		return *e, nil
	case e.State != EffectRunning && e.State != EffectUnknown:
		return Effect{}, &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("effect %s is settled as %s: it cannot become %s", e.ID, e.State, state)}
	}
	settled := *e
	settled.State, settled.SettledAt = state, s.At
	if state == EffectLanded {
		settled.Result, settled.Facts = s.Result, s.Facts
	}
	return settled, nil
}

// Find adds a resolution to an effect, and returns the row as it stands then
// and whether the resolution is new. CONFLICT for an effect that is not unknown,
// INVALID_ARGUMENT for a resolution that says too little.
func Find(e *Effect, r *Resolution) (found Effect, fresh bool, err error) {
	for i := range e.Resolutions {
		if e.Resolutions[i].ID == r.ID {
			return *e, false, nil
		}
	}
	state, known := map[kernel.Finding]EffectState{
		kernel.FoundLanded: EffectLanded, kernel.FoundNoEffect: EffectNone, kernel.FoundUnknown: EffectUnknown,
	}[r.As]
	switch {
	case !known:
		return Effect{}, false, invalid(fmt.Sprintf("an effect is not found to be %.40q", string(r.As)))
	case r.ID == "" || r.Note == "" || !storable(r.At):
		return Effect{}, false, invalid("a resolution needs an id, a note and an instant")
	case r.Result != nil && r.As != kernel.FoundLanded:
		return Effect{}, false, invalid("only what landed has a result")
	case e.State != EffectUnknown:
		return Effect{}, false, &kernel.Error{
			Code:    kernel.CodeConflict,
			Message: fmt.Sprintf("effect %s is %s: there is nothing to resolve", e.ID, e.State),
			Hint:    "effects show " + e.ID + " tells the rest",
		}
	}
	found = *e
	found.Resolutions = append(slices.Clip(e.Resolutions), *r)
	if state != EffectUnknown {
		found.State, found.SettledAt = state, r.At
	}
	if state == EffectLanded {
		found.Result = r.Result
	}
	return found, true, nil
}

// resolution is the payload of a resolve signal. The result, where there is
// one, is with the effect.
type resolution struct {
	Effect     string         `json:"effect"`
	Call       string         `json:"call"`
	Resolution string         `json:"resolution"` // its id
	As         kernel.Finding `json:"as"`
	Note       string         `json:"note"`
	Evidence   string         `json:"evidence,omitempty"`
}

// Signal is what tells the run of a resolution.
func (e *Effect) Signal(r *Resolution) Signal {
	payload, _ := json.Marshal(resolution{e.ID, e.Call, r.ID, r.As, r.Note, r.Evidence}) // strings
	return Signal{ID: "resolved/" + e.ID + "/" + r.ID, Run: e.Run, Kind: SignalResolve, By: r.By, At: r.At, Payload: payload}
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
