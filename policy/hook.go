package policy

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// DefaultHookTimeout bounds a hook that sets no time of its own.
const DefaultHookTimeout = 2 * time.Second

// Before looks at a call before the rules do. It may refuse, and can never
// grant. Implementations are safe for concurrent use.
type Before interface {
	// Before returns why the call may not run, and nothing where it has no
	// objection. An error, a panic and the end of ctx refuse the call too.
	Before(ctx context.Context, r Request) (refusal string, err error)
}

// After looks at a call once its answer is journaled, whatever became of it. It
// changes nothing: an error is a warning of the run. After a crash it may see
// the same call once more. Implementations are safe for concurrent use.
type After interface {
	After(ctx context.Context, r Request, a Answered) error
}

// Answered is what became of a call.
type Answered struct {
	Text    string // what the model is told
	IsError bool
}

// BeforeHook is a Before and the calls that it looks at.
type BeforeHook struct {
	Name    string        // for records and refusals
	Tool    string        // a tool's name or a pattern, as in Rule
	Timeout time.Duration // 0: DefaultHookTimeout
	Hook    Before
}

// AfterHook is an After and the calls that it looks at.
type AfterHook struct {
	Name    string
	Tool    string
	Timeout time.Duration // 0: DefaultHookTimeout
	Hook    After
}

// Hooks look at every call of every kind, in their order: the first refusal
// ends the look before a call, and each hook gets its look after it. The zero
// value is none.
type Hooks struct {
	Before []BeforeHook
	After  []AfterHook
}

// Hashed is what a Policy implements that can name what it decides by: equal
// hashes answer equally. The hash is kept with each decision.
type Hashed interface {
	Hash() string // SHA-256 in hex
}

// Risk says how grave a call is, for rules and for people.
type Risk = kernel.Risk
