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
	// Normal are the arguments in the one spelling that conditions compare, where
	// the tool takes several. nil: Arguments.
	Normal json.RawMessage
	// Argv is the whole command line that the call would run, one argument each,
	// where the tool says so. nil: it runs no program.
	Argv   []string
	Effect kernel.EffectClass
	Risk   Risk // the tool's own
	// Changed says that the tool is not described any more as it was when the run
	// first offered it: what was granted to it was granted to another one. Where a
	// policy allows such a call all the same, people are asked.
	Changed bool
}

// Decision is an answer and what it rests on.
type Decision struct {
	Answer kernel.Answer // Allow, Ask or Deny; anything else counts as Deny
	Reason string        // told to the model (deny) or to the person (ask)
	Rule   string        // which rule answered, for the record
	Risk   Risk          // as the rule sees it; empty: the request's
	// Asking says how people are asked, with Ask alone; see CheckAsking. nil: anyone
	// may decide, without an end in time, and for good. Do not change what it
	// points to.
	Asking *kernel.Asking
}

// Approver asks the person who is there, in this process: whoever asked for the
// run. It is asked only where the rule lets them decide alone; other approvals
// stay open until someone decides elsewhere. Implementations are safe for
// concurrent use.
type Approver interface {
	// Approve shows a, which is stored by then, and waits for a decision. After an
	// error, and after the end of ctx, there is none: the approval stays open. No text
	// of a model or of a document is ever a decision.
	Approve(ctx context.Context, a Approval) (Verdict, error)
}

// Approval is what a person is asked about.
type Approval struct {
	// Request has the risk as the rule sees it.
	Request
	Reason string
	Digest string // of tool and exact arguments
	ID     string // of the approval in the journal
	// Hash is what the decision is bound to: id, run, identity, tool, exact
	// arguments and expiry.
	Hash string
	// Expires is when it is too late to decide. The run's own time stands still
	// while people are asked. Zero: never.
	Expires   time.Time
	Approvers kernel.Approvers // who may decide; do not change its lists
}

// Verdict is a person's decision.
type Verdict struct {
	Approved bool
	By       string
	Reason   string // told to the model on refusal
}
