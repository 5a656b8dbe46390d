package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Claim is what the ledger is asked for before a call begins at an instant, that
// of its CallStarted; nil for a read,
// which changes nothing.
func (x *Execution) Claim(c *kernel.RunTool, at kernel.Time) *journal.Claim {
	if c.Effect == kernel.Read {
		return nil
	}
	claim := journal.ClaimOf(x.owned(), c, at)
	spec, _ := x.tools().Spec(c.Call.Name)
	claim.Window, claim.Exclusive = spec.RepeatWindow, spec.Exclusive
	return &claim
}

// Settlement is the end of a claim; c is the content of the event that settles
// it.
func Settlement(s *kernel.Settle, at kernel.Time, c *Content) journal.Settlement {
	out := journal.Settlement{Effect: s.Effect, Call: s.Call, Disposition: s.Disposition, At: instant(at)}
	if s.Disposition == kernel.Landed && c.Result != nil && s.Result != nil {
		out.Result = c.Result.append(nil)
		out.Facts, _ = json.Marshal(s.Result) // strings and numbers
	}
	return out
}

// ClaimRefused is the event that reports a claim which the ledger did not give.
func (x *Execution) ClaimRefused(c *kernel.RunTool, r *journal.Refusal) (kernel.Event, Content) {
	e := kernel.ClaimRefused{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Why: r.Why, Effect: r.Effect.ID}
	if r.Why != kernel.ClaimStored {
		return e, Content{}
	}
	result, facts := storedResult(&r.Effect)
	e.Result = &facts
	return e, Content{Result: &result}
}

// EffectResult is what the call of an effect returned: as its tool did, or the
// text alone where somebody gave that with a finding. false: it is not known.
func EffectResult(e *journal.Effect) (Result, bool) {
	var r Result
	if len(e.Facts) > 0 && json.Unmarshal(e.Result, &r) == nil {
		return r, true
	}
	return Result{Text: string(e.Result)}, len(e.Result) > 0
}

// storedResult is what a landed effect's call returned, as far as it is known.
func storedResult(e *journal.Effect) (Result, kernel.ResultFacts) {
	var r Result
	var f kernel.ResultFacts
	if len(e.Facts) > 0 && json.Unmarshal(e.Result, &r) == nil && json.Unmarshal(e.Facts, &f) == nil {
		return r, f
	}
	return resolvedResult(e.Result)
}

// resolvedResult is what a person says that a call came to, made fit for a
// model like any result.
func resolvedResult(text []byte) (Result, kernel.ResultFacts) {
	r := Result{Text: tool.Clean(string(text))}
	if r.Text == "" {
		r.Text = "It took effect; what it returned is not known."
	}
	sum := sha256.Sum256([]byte(r.Text))
	return r, kernel.ResultFacts{Status: kernel.StatusOK, Disposition: kernel.Landed, Digest: hex.EncodeToString(sum[:]), Size: len(r.Text)}
}
