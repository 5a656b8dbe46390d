package policy

import (
	"cmp"
	"context"
	"fmt"
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

// The bounds of hooks.
const (
	MaxHooks       = 64 // of one kind
	MaxHookTimeout = 10 * time.Minute
)

// Validate reports what is wrong with the hooks, as CONFIGURATION, or nil: each
// has a name that shows, a pattern, a time of its own of at most MaxHookTimeout
// and a Hook, and no two of a kind have the same name.
func (h *Hooks) Validate() error {
	if len(h.Before) > MaxHooks || len(h.After) > MaxHooks {
		return invalid(fmt.Sprintf("there are over %d hooks", MaxHooks), "one hook can look at several tools")
	}
	names := map[string]bool{}
	for i := range h.Before {
		b := &h.Before[i]
		if err := checkHook("before", b.Name, b.Tool, b.Timeout, b.Hook != nil, names); err != nil {
			return err
		}
	}
	clear(names)
	for i := range h.After {
		a := &h.After[i]
		if err := checkHook("after", a.Name, a.Tool, a.Timeout, a.Hook != nil, names); err != nil {
			return err
		}
	}
	return nil
}

func checkHook(kind, name, pattern string, timeout time.Duration, there bool, names map[string]bool) error {
	hook := fmt.Sprintf("%s-hook %.80q", kind, name)
	switch {
	case !kernel.IsName(name):
		return invalid(hook+": that is no name", "a name is text that shows, without white space around it")
	case names[name]:
		return invalid(hook+" is there twice", "give each hook a name of its own")
	case !there:
		return invalid(hook+" has nothing to ask", "")
	case timeout < 0 || timeout > MaxHookTimeout:
		return invalid(hook+": the timeout must be positive and at most "+MaxHookTimeout.String(), "")
	}
	names[name] = true
	if err := (Rule{Answer: kernel.Allow, Tool: pattern}).Validate(); err != nil {
		err.Message = hook + ": " + err.Message
		return err
	}
	return nil
}

// Matches reports whether the hook looks at calls of that tool.
func (h *BeforeHook) Matches(tool string) bool { return Rule{Tool: h.Tool}.Matches(tool) }

// Time is how long the hook may take.
func (h *BeforeHook) Time() time.Duration { return cmp.Or(h.Timeout, DefaultHookTimeout) }

// Matches reports whether the hook looks at calls of that tool.
func (h *AfterHook) Matches(tool string) bool { return Rule{Tool: h.Tool}.Matches(tool) }

// Time is how long the hook may take.
func (h *AfterHook) Time() time.Duration { return cmp.Or(h.Timeout, DefaultHookTimeout) }

// Hashed is what a Policy implements that can name what it decides by: equal
// hashes answer equally. The hash is kept with each decision.
type Hashed interface {
	Hash() string // SHA-256 in hex
}

// Risk says how grave a call is, for rules and for people.
type Risk = kernel.Risk
