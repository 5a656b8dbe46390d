// Package verify judges what a run did by what was stored of it, never by what
// the model says about it.
package verify

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Verifier judges a run. Implementations are safe for concurrent use.
type Verifier interface {
	// Verify looks at the facts of one run. An error means that nothing was
	// concluded: the outcome then says unchecked and carries a warning.
	Verify(ctx context.Context, facts Facts) (Verdict, error)
}

// Facts are what is stored of a run so far.
type Facts struct {
	Run    string
	Answer string // the final answer; empty when there is none
	// AnswerEvidence is the id of the answer's record, for a verdict that rests
	// on it; empty when there is none.
	AnswerEvidence string
	// Results are the calls that ran, in order.
	Results []Result
}

// Result is one stored tool result.
type Result struct {
	Evidence  string // its id
	Turn      int
	Call      string
	Tool      string
	Arguments json.RawMessage
	Text      string // as the model saw it
	Data      json.RawMessage
	IsError   bool
	Code      kernel.Code // of an error
	Elapsed   time.Duration
	// Disposition of the effect; a result in doubt proves nothing.
	Disposition kernel.Disposition
}

// Verdict is what a verifier concluded.
type Verdict struct {
	Verified bool
	Finding  string   // why, in a sentence that may be shown to the model
	Evidence []string // ids of the facts that it rests on; without any, true does not count
}
