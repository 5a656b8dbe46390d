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
	Run string
	// Question is what was asked, and what the person said later, a line each.
	Question string
	Answer   string // the final answer; empty when there is none
	// AnswerEvidence is the id of the answer's record, for a verdict that rests
	// on it; empty when there is none.
	AnswerEvidence string
	// Results are the calls that ran, in order.
	Results []Result
	// NoResults are the calls that were answered without a result, in order. A
	// verifier that looks at Results alone does not see that one was refused.
	NoResults []NoResult
}

// Result is one stored tool result.
type Result struct {
	Evidence  string // its id
	Seq       int64  // of its record: what came later has a higher one
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

// NoResult is a call that was answered in the place of its tool: it named no
// tool or was invalid, policy or people refused it, or the run gave it up or was
// interrupted.
type NoResult struct {
	Evidence  string // the id of the record that answered it
	Seq       int64  // of that record, as in Result
	Turn      int
	Call      string
	Tool      string
	Arguments json.RawMessage // an empty object where they were not one JSON object
	Text      string          // what the model was told
	// IsError is false where the call took effect, and what it returned is not known.
	IsError bool
	// Code is what is wrong with the call itself, such as UNKNOWN_TOOL or
	// INVALID_ARGUMENT. Empty: nothing is, as far as anybody looked.
	Code kernel.Code
}

// Verdict is what a verifier concluded.
type Verdict struct {
	Verified bool
	Finding  string   // why, in a sentence that may be shown to the model
	Evidence []string // ids of the facts that it rests on; without any, true does not count
}
