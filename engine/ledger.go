package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Claim is what the ledger is asked for before a call begins; nil for a read,
// which changes nothing.
func (x *Execution) Claim(c *kernel.RunTool) *journal.Claim {
	if c.Effect == kernel.Read {
		return nil
	}
	claim := &journal.Claim{
		Call: c.Call.ID, Tool: c.Call.Name,
		Key:         ledgerKey(x.Run, c),
		Fingerprint: digestParts(kernel.RequestDigest(c.Call.Name, c.Call.Arguments), x.start.Tenant, x.start.User),
		Request:     kernel.MeaningDigest(c.Call.Name, c.Call.Arguments),
		Arguments:   []byte(c.Call.Arguments),
		Class:       c.Effect,
		Attempt:     c.Attempt,
		At:          instant(x.at()),
	}
	claim.ID = journal.EffectID(x.start.Tenant, claim.Tool, claim.Key)
	spec, _ := x.tools.Spec(c.Call.Name)
	claim.Window, claim.Exclusive = spec.RepeatWindow, spec.Exclusive
	return claim
}

// ledgerKey names the effect: by the tool's business key, or by run and call.
// The two cannot meet.
func ledgerKey(run string, c *kernel.RunTool) string {
	if c.Key != "" {
		return "key " + c.Key
	}
	return "call " + run + "/" + c.Call.ID
}

// digestParts is the SHA-256, in hex, of parts that each stand behind their
// length.
func digestParts(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(strconv.AppendInt(nil, int64(len(part)), 10))
		h.Write([]byte{':'})
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
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
