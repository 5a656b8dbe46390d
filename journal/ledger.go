package journal

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// checkClaim refuses a claim that names no effect, as INVALID_ARGUMENT.
func checkClaim(h *Head, c *Claim) error {
	switch {
	case c.Key == "":
		return invalid("a claim needs a key")
	case c.ID != EffectID(h.Tenant, c.Tool, c.Key):
		return invalid("the id of a claim is EffectID of its tenant, tool and key")
	case c.Call == "" || c.Tool == "" || c.Fingerprint == "" || c.Request == "":
		return invalid("a claim needs a call, a tool, a fingerprint and a request")
	case c.Class != kernel.Idempotent && c.Class != kernel.Reconcilable && c.Class != kernel.Once:
		return invalid(fmt.Sprintf("the class %.40q claims nothing", c.Class))
	case c.Attempt < 1 || c.Window < 0 || !storable(c.At):
		return invalid("a claim needs an attempt from 1, an instant, and a window of 0 or more")
	}
	return nil
}

// Rule decides on a claim. own is the effect of the same tenant, tool and key,
// nil where there is none; others are effects of the same tenant and tool, own
// among them or not: at least those with the same Request that are running,
// unknown, or have landed within the claim's window, and for an exclusive claim
// all that are unknown. The answer is nil for a claim that is given: see
// Claim.Claimed.
//
// Of several reasons the gravest counts, and of several effects the one claimed
// first, in whatever order they are given.
func Rule(c *Claim, run string, own *Effect, others []Effect) *Refusal {
	if own != nil {
		if why, again := ruleOwn(c, run, own); why != "" {
			return &Refusal{Why: why, Effect: *own}
		} else if again {
			return nil
		}
	}
	var worst *Effect
	reason := 0
	for i := range others {
		e := &others[i]
		if r := against(c, e); r > reason || r > 0 && r == reason && earlier(e, worst) {
			worst, reason = e, r
		}
	}
	if worst == nil {
		return nil
	}
	return &Refusal{Why: gravity()[reason], Effect: *worst}
}

// ruleOwn decides on a key that is known: why it is not given, and whether it
// is the same effect once more. Neither: the key is free, and what else happened
// counts as for a new one.
func ruleOwn(c *Claim, run string, own *Effect) (why kernel.ClaimWhy, again bool) {
	mine := own.Run == run && own.Call == c.Call
	switch {
	case own.Fingerprint != c.Fingerprint:
		return kernel.ClaimOther, false
	case own.State == EffectLanded:
		return kernel.ClaimStored, false
	case own.State == EffectNone:
		return "", false
	case own.State == EffectRunning && !mine:
		return kernel.ClaimBusy, false
	case own.Class == kernel.Idempotent && c.Class == kernel.Idempotent:
		return "", true
	}
	return kernel.ClaimUnknown, false
}

// gravity orders the reasons that effects under other keys give, from none.
func gravity() [5]kernel.ClaimWhy {
	return [...]kernel.ClaimWhy{"", kernel.ClaimWindow, kernel.ClaimBlocked, kernel.ClaimBusy, kernel.ClaimUnknown}
}

// mayOverlap reports whether two equal requests may run at the same time: where
// one may follow the other at once, and to repeat it does no harm. What was cut
// short is then run again under its own key, and stays in no doubt.
func mayOverlap(c *Claim, e *Effect) bool {
	return c.Class == kernel.Idempotent && e.Class == kernel.Idempotent && c.Window == 0
}

// against says why an effect under another key stands against a claim, as an
// index of gravity.
func against(c *Claim, e *Effect) int {
	equal := e.Request == c.Request
	switch {
	case e.State == EffectUnknown && equal:
		return 4
	case e.State == EffectRunning && equal && !mayOverlap(c, e):
		return 3
	case e.State == EffectUnknown && c.Exclusive:
		return 2
	case e.State == EffectLanded && equal && c.Window > 0 && c.At.Before(e.SettledAt.Add(c.Window)):
		return 1
	}
	return 0
}

func earlier(a, b *Effect) bool {
	return cmp.Or(a.ClaimedAt.Compare(b.ClaimedAt), strings.Compare(a.ID, b.ID)) < 0
}

// Claimed is the effect behind a claim that Rule has given; own is as there. A
// key that is claimed again belongs to the new call, and keeps what was found
// out about it.
func (c *Claim) Claimed(h *Head, own *Effect) Effect {
	e := Effect{
		ID: c.ID, Run: h.Run, Call: c.Call, Session: h.Session, Tenant: h.Tenant, User: h.User,
		Tool: c.Tool, Key: c.Key, Fingerprint: c.Fingerprint, Request: c.Request, Arguments: c.Arguments,
		Class: c.Class, State: EffectRunning, Attempts: 1, ClaimedAt: instant(c.At),
	}
	if own != nil {
		e.Attempts = own.Attempts + 1
		e.Resolutions = own.Resolutions
		e.SettledAt = own.inDoubtSince()
	}
	return e
}

// inDoubtSince is when it came into doubt whether the effect is there; zero: it
// is not in doubt.
func (e *Effect) inDoubtSince() time.Time {
	switch {
	case e.State == EffectUnknown, e.State == EffectRunning && !e.SettledAt.IsZero():
		return e.SettledAt
	case e.State == EffectRunning: // its claim was lost without a word
		return e.ClaimedAt
	}
	return time.Time{}
}

func checkSettlement(s *Settlement) error {
	switch {
	case s.Effect == "" || s.Call == "" || !storable(s.At):
		return invalid("a settlement needs an effect, a call and an instant")
	case s.Disposition != kernel.Landed && s.Disposition != kernel.DidNotHappen && s.Disposition != kernel.InDoubt:
		return invalid(fmt.Sprintf("nothing is settled as %.40q", s.Disposition))
	}
	return nil
}

// Settle ends the claim of a run on an effect, nil for one that is not there,
// and returns the row as it stands then. The claim must still be that of the
// run and the call, and running or unknown: otherwise CONFLICT, since somebody
// resolved it differently or claimed it again; whoever drives the run looks at
// its signals again. To say what is known already, or that nothing is, changes
// nothing. A claim without effect leaves an effect in doubt that was in doubt
// before it.
func Settle(e *Effect, run string, s *Settlement) (Effect, error) {
	if e == nil {
		return Effect{}, conflictOver(&Effect{ID: s.Effect, State: "unclaimed"}, "there is nothing to settle")
	}
	settled := *e
	state := settledAs(s.Disposition)
	open := e.State == EffectRunning || e.State == EffectUnknown
	switch {
	case e.Run != run || e.Call != s.Call:
		return settled, conflictOver(e, "it was claimed again by another call")
	case e.State == state, !open && state == EffectUnknown:
		return settled, nil
	case !open:
		return settled, conflictOver(e, "it cannot become "+string(state))
	case state == EffectNone && e.State == EffectRunning && !e.SettledAt.IsZero():
		settled.State = EffectUnknown // that this claim had no effect says nothing of an earlier one
		return settled, nil
	}
	settled.State, settled.SettledAt = state, instant(s.At)
	if state == EffectLanded {
		settled.Result, settled.Facts = s.Result, s.Facts
	}
	return settled, nil
}

func settledAs(d kernel.Disposition) EffectState {
	switch d {
	case kernel.Landed:
		return EffectLanded
	case kernel.DidNotHappen:
		return EffectNone
	case kernel.InDoubt:
	}
	return EffectUnknown
}

// Find adds a resolution to an effect, and returns the row as it stands then
// and whether the resolution is new: the same id again changes nothing.
// INVALID_ARGUMENT for a resolution that says too little, CONFLICT for an effect
// that is not unknown.
func Find(e *Effect, r *Resolution) (found Effect, fresh bool, err error) {
	for i := range e.Resolutions {
		if e.Resolutions[i].ID == r.ID {
			return *e, false, nil
		}
	}
	if err := checkResolution(r); err != nil {
		return *e, false, err
	}
	if e.State == EffectRunning {
		err := conflictOver(e, "nothing is to be found out yet")
		err.Hint = "its call may still be under way; where its process is gone, holdfast work --once takes the run over, and the effect is unknown then"
		return *e, false, err
	}
	if e.State != EffectUnknown {
		return *e, false, conflictOver(e, "there is nothing to resolve")
	}
	added := *r
	added.At = instant(r.At)
	found = *e
	found.Resolutions = append(slices.Clip(e.Resolutions), added)
	switch r.As {
	case kernel.FoundLanded:
		found.State, found.SettledAt, found.Result = EffectLanded, added.At, r.Result
	case kernel.FoundNoEffect:
		found.State, found.SettledAt = EffectNone, added.At
	case kernel.FoundUnknown:
	}
	return found, true, nil
}

func checkResolution(r *Resolution) error {
	evidence, err := hex.DecodeString(r.Evidence)
	switch {
	case r.ID == "" || r.Effect == "" || strings.TrimSpace(r.Note) == "":
		return invalid("a resolution needs an id, an effect and a note that says why")
	case r.By != "" && !kernel.IsName(r.By):
		return invalid(fmt.Sprintf("%.80q is no name of who found out: it has white space around it, or what does not show", r.By))
	case r.As != kernel.FoundLanded && r.As != kernel.FoundNoEffect && r.As != kernel.FoundUnknown:
		return invalid(fmt.Sprintf("nothing is resolved as %.40q", r.As))
	case r.Result != nil && r.As != kernel.FoundLanded:
		return invalid("only what landed has a result")
	case err != nil || len(evidence) != 0 && len(evidence) != len(Hash{}):
		return invalid("the evidence of a resolution is a SHA-256 in hex, or empty")
	case len(r.Result) > MaxRecord:
		return invalid(fmt.Sprintf("a result holds at most %d bytes", MaxRecord))
	case !storable(r.At):
		return invalid("a resolution needs an instant")
	}
	return nil
}

func conflictOver(e *Effect, why string) *kernel.Error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("effect %s is %s: %s", e.ID, e.State, why),
		Hint:    "holdfast effects show " + e.ID + " tells the rest",
	}
}
