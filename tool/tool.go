// Package tool is the contract between a run and what it can do.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Tool is something that a model may ask the host to do. Implementations are
// safe for concurrent use and obey ctx.
type Tool interface {
	// Spec describes the tool. It never changes.
	Spec() Spec
	// Run does what c asks for. Arguments were checked against the schema. A
	// business failure is a Result with IsError, or any error: its text is told
	// to the model, so it is safe to show. An error that says nothing of its
	// disposition leaves the effect of anything but a read in doubt.
	Run(ctx context.Context, c Call) (Result, error)
}

// Keyer is what a tool implements when its calls have a business key: two
// calls of one key are one effect. Key is pure. An empty key is refused.
type Keyer interface {
	Key(c Call) (string, error)
}

// Spec describes a tool.
type Spec struct {
	Name        string          // 1–64 of a–z, A–Z, 0–9, _ and -
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema 2020-12, type object
	Effect      kernel.EffectClass
	// Capabilities are what selection by capability looks at.
	Capabilities []string
	Limits       Limits
}

// Limits bound a tool. The zero value of a field means its default.
type Limits struct {
	Timeout   time.Duration // of one run; default 30 s
	MaxResult int           // bytes of a result for the model; default 16 KiB
	// Attempts is how often a call may be tried when the tool proves a failure
	// transient and without effect; default 1.
	Attempts int
}

// Call is an admitted call. Identity, key and deadline come from the host,
// never from the model.
type Call struct {
	ID        string
	Run       string
	Session   string
	Tenant    string
	User      string
	Turn      int
	Attempt   int
	Key       string          // of the effect: the tool's own, or run and call
	Arguments json.RawMessage // one JSON object, valid under the schema
}

// Result is what came of a call.
type Result struct {
	Text    string // for the model
	IsError bool
	// Data are facts for verifiers and screens, a JSON value; nil: none. The
	// model does not see it.
	Data json.RawMessage
	// Disposition says what is known of the effect. Empty: landed, or
	// did_not_happen for an error result of a read.
	Disposition kernel.Disposition
}

// Error is a failure that a tool classifies. Use it where the plain error of
// Run would say too little.
type Error struct {
	Message     string // told to the model
	Disposition kernel.Disposition
	Transient   bool // the same call may succeed soon
	Fatal       bool // the run cannot go on
	Code        kernel.Code
	Err         error // cause, for operators
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
