// Package policy answers allow, ask or deny for a call.
package policy

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Policy decides on calls. Implementations are safe for concurrent use.
type Policy interface {
	// Decide answers for one call whose arguments are valid. An error, a panic
	// or an answer outside the closed set counts as Deny.
	Decide(ctx context.Context, r Request) (Decision, error)
}

// Pure is what a Policy implements when its decisions need nothing that is not
// in memory. It is then asked while the reply is committed, which saves a
// commit; Decide must return at once.
type Pure interface {
	Pure() bool
}

// Request is a call to decide on. Identity comes from the host.
type Request struct {
	Run, Session string
	Tenant, User string
	Call         string // id
	Tool         string
	Arguments    json.RawMessage
	Effect       kernel.EffectClass
}

// Decision is an answer and what it rests on.
type Decision struct {
	Answer kernel.Answer // Allow, Ask or Deny; anything else counts as Deny
	Reason string        // told to the model (deny) or to the person (ask)
	Rule   string        // which rule answered, for the record
}

// Approver asks a person. Implementations are safe for concurrent use.
type Approver interface {
	// Approve shows a and waits for a decision. An error counts as a refusal,
	// and so does the end of ctx. No text of a model or of a document is ever a
	// decision.
	Approve(ctx context.Context, a Approval) (Verdict, error)
}

// Approval is what a person is asked about.
type Approval struct {
	Request
	Reason string
	Digest string // of tool and exact arguments
	// Deadline is when the run ends, answered or not: its time goes on while a
	// person reads. Zero: not known.
	Deadline time.Time
}

// Verdict is a person's decision.
type Verdict struct {
	Approved bool
	By       string
	Reason   string // told to the model on refusal
}
