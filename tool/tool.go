// Package tool is the contract between a run and what it can do.
//
// A [Tool] is one ability. A [Set] is a frozen choice of tools, the capability
// snapshot that a request is made with: it checks the arguments of a call and
// binds the tool that runs it. [Func] makes a Tool from a typed Go function. A
// [Border] runs one call and turns everything that can come of it, a panic
// included, into an [Outcome] that is fit for a model and a journal.
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
	// disposition leaves the effect of anything but a read in doubt. A Result
	// beside an *Error is told instead of the error's message, and the *Error
	// classifies it.
	Run(ctx context.Context, c Call) (Result, error)
}

// Keyer is what a tool implements when its calls have a business key: two
// calls of one key are one effect. Key is pure. An empty key is refused.
type Keyer interface {
	Key(c Call) (string, error)
}

// Classifier is what a tool implements when the effect class of a call depends
// on its arguments. Effect is pure; its arguments were checked against the
// schema. An answer outside the closed set counts as kernel.Once, and so does
// reconcilable of a tool that is no Lookuper.
type Classifier interface {
	Effect(args json.RawMessage) kernel.EffectClass
}

// Spec describes a tool.
type Spec struct {
	Name        string          // 1–64 of a–z, A–Z, 0–9, _ and -
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema 2020-12, type object
	// Foreign is the schema that another program published for a tool of its
	// own, type object. Where it is set arguments are checked against it, it may
	// be open, none of its names counts as an identity, and Schema is only what a
	// model is shown of it.
	Foreign json.RawMessage
	// Effect is the class of every call, and the gravest one where the tool is
	// a Classifier. Empty: kernel.Once. Reconcilable needs a Lookuper.
	Effect kernel.EffectClass
	// RepeatWindow is how long after a call has landed an equal one (same
	// arguments, another call) is refused, at most 30 days. 0: not at all. Of the
	// class read neither this nor Exclusive is legal: a read has no effect to guard.
	RepeatWindow time.Duration
	// Exclusive says that no call of the tool with an effect begins while the outcome of
	// another one is unknown, whatever its arguments.
	Exclusive bool
	// Risk is the tier that rules and people see. Empty: that of the effect class.
	Risk kernel.Risk
	// Capabilities are what selection by capability looks at.
	Capabilities []string
	Limits       Limits
}

// Limits bound a tool. The zero value of a field means its default.
type Limits struct {
	Timeout   time.Duration // of one run, at most 24 h; default 30 s
	MaxResult int           // bytes of a result for the model, 256 B – 4 MiB; default 16 KiB
	// Attempts is how often a call may be tried when the tool proves a failure
	// transient and without effect, 1–10; default 1.
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
	// Data are facts for verifiers and screens, a JSON value of at most 1 MiB;
	// nil: none. The model does not see it.
	Data json.RawMessage
	// Disposition says what is known of the effect. Empty: landed, or
	// did_not_happen for an error result of a read.
	Disposition kernel.Disposition
}

// The codes that the tool border adds to the kernel's.
const (
	CodeTimeout kernel.Code = "TIMEOUT"     // the call did not end within its time
	CodeFailed  kernel.Code = "TOOL_FAILED" // the tool failed and named no code
)

// Error is a failure that a tool classifies. Use it where the plain error of
// Run would say too little.
type Error struct {
	Message string // told to the model
	// Disposition says what is known of the effect. Empty: did_not_happen for a
	// read, in_doubt for anything else.
	Disposition kernel.Disposition
	Transient   bool        // the same call may succeed soon
	Fatal       bool        // the run cannot go on
	Code        kernel.Code // empty: CodeFailed
	Err         error       // cause, for operators
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
