package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// What is stored beside the events of a run follows from them, by the rules of
// this file: whoever drives runs stores it so, and Verify holds it to them.

// ApprovalID is the id of the question that an AskHuman puts: the same command
// gives the same one, so that a question is stored once however often it is
// put.
func ApprovalID(run string, cmd kernel.Seq) string {
	return "apr_" + digestParts(run, strconv.FormatInt(int64(cmd), 10))[:20]
}

// Question is the approval that an AskHuman of the run asks for.
func Question(h *Head, c *kernel.AskHuman, asked kernel.Time) Approval {
	a := Approval{
		ID:  ApprovalID(h.Run, c.Cmd),
		Run: h.Run, Session: h.Session, Tenant: h.Tenant, User: h.User,
		Call: c.Call.ID, Cmd: c.Cmd, Tool: c.Call.Name, Arguments: []byte(c.Call.Arguments), Effect: c.Effect,
		Reason: c.Reason, Approvers: c.Approvers, Escalated: c.Escalated,
		Asked: timeOf(asked), State: ApprovalOpen,
	}
	if c.Expires != 0 {
		a.Expires = timeOf(c.Expires)
	}
	a.Hash = a.ContentHash()
	return a
}

// ClaimOf is the claim with which a call of the run starts; at is that of its
// CallStarted. Window and Exclusive are the tool's, and not set.
func ClaimOf(h *Head, c *kernel.RunTool, at kernel.Time) Claim {
	claim := Claim{
		Call: c.Call.ID, Tool: c.Call.Name,
		Key:         effectKey(h.Run, c),
		Fingerprint: digestParts(kernel.RequestDigest(c.Call.Name, c.Call.Arguments), h.Tenant, h.User),
		Request:     kernel.MeaningDigest(c.Call.Name, c.Call.Arguments),
		Arguments:   []byte(c.Call.Arguments),
		Class:       c.Effect,
		Attempt:     c.Attempt,
		At:          timeOf(at),
	}
	claim.ID = EffectID(h.Tenant, claim.Tool, claim.Key)
	return claim
}

// effectKey names the effect: by the tool's business key, or by run and call.
// The two cannot meet.
func effectKey(run string, c *kernel.RunTool) string {
	if c.Key != "" {
		return "key " + c.Key
	}
	return "call " + run + "/" + c.Call.ID
}

// Reach makes h the head of its run once that has come to a state, with a record
// of that instant.
func (h *Head) Reach(s *kernel.State, at time.Time) {
	h.State, h.WaitingFor, h.Approval, h.Due = Running, "", "", time.Time{}
	h.Turns, h.UpdatedAt = s.Turn, at
	if s.Outcome != nil {
		h.State, h.Stop, h.Verified = Stopped, s.Outcome.Stop, s.Outcome.Verified
		return
	}
	w, waits := s.Waiting()
	if !waits {
		return
	}
	h.State, h.WaitingFor = Waiting, string(w.For)
	if w.For == kernel.WaitApproval {
		h.Approval = ApprovalID(h.Run, w.Cmd)
	}
	if w.Until != 0 {
		h.Due = timeOf(w.Until)
	}
}

// digestParts is the SHA-256, in hex, of parts that each stand behind their
// length.
func digestParts(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func timeOf(t kernel.Time) time.Time { return time.Unix(0, int64(t)).UTC() }
