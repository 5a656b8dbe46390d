package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// hooked reports whether a before-hook looks at calls of that tool.
func (x *Execution) hooked(name string) bool {
	for i := range x.agent.Hooks.Before {
		if x.agent.Hooks.Before[i].Matches(name) {
			return true
		}
	}
	return false
}

// observed reports whether an after-hook looks at calls of that tool.
func (x *Execution) observed(name string) bool {
	for i := range x.agent.Hooks.After {
		if x.agent.Hooks.After[i].Matches(name) {
			return true
		}
	}
	return false
}

// hooks shows the call to the before-hooks, in order. The first that refuses,
// or does not answer as it should, ends the look: it reports whether one did.
func (e *entry) hooks(ctx context.Context) (refused bool) {
	for i := range e.x.agent.Hooks.Before {
		h := &e.x.agent.Hooks.Before[i]
		if !h.Matches(e.call.Call.Name) {
			continue
		}
		if why := e.hook(ctx, h); why != "" {
			e.d = e.denied("hook "+h.Name, why)
			return true
		}
	}
	return false
}

// hook asks one before-hook and returns why the call may not run. Nothing that
// it does but to return without objection, in time, is a pass.
func (e *entry) hook(ctx context.Context, h *policy.BeforeHook) (why string) {
	name := "the hook " + h.Name
	ctx, cancel := context.WithTimeout(ctx, h.Time())
	defer cancel()
	var refusal string
	err := e.x.foreign(ctx, name, func() {
		if e.instead != nil {
			e.instead(e.denied("hook "+h.Name, name+" did not answer"), Content{})
		}
	}, func() (err error) {
		refusal, err = h.Hook.Before(ctx, e.request())
		return err
	})
	switch {
	case err == nil && ctx.Err() == nil && refusal == "":
		return ""
	case err == nil && refusal != "":
		return name + " refuses it" + asClause(refusal)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = name + " did not answer in time"
	case ctx.Err() != nil:
		why = name + " was cut short"
	default:
		why = name + " failed"
	}
	e.x.Log.Warn("a hook refused by failing", "run", e.x.Run, "call", e.call.Call.ID, "hook", h.Name, "why", why, "error", err)
	return why
}

// asClause appends words of foreign code to a sentence.
func asClause(words string) string {
	if words = strings.TrimSpace(tool.Clean(words)); words == "" {
		return ""
	}
	return ": " + words
}

// observe shows a call to the after-hooks that look at its tool.
func (x *Execution) observe(c kernel.Observe) Task {
	o := observing{x: x, cmd: c}
	o.answered = x.answerOf(c.Call.ID)
	o.request = x.policyRequest(c.Call, x.callState(c.Call.ID).Effect)
	spec, _ := x.tools().Spec(c.Call.Name)
	o.request.Risk = spec.Risk
	return TaskFunc(func(ctx context.Context, instead Report) (kernel.Event, Content) {
		o := o
		o.instead, o.done = instead, make(chan struct{})
		o.from(ctx, 0)
		<-o.done // where another goroutine shows it to the rest
		return o.event(), Content{}
	})
}

// observing is the look of the after-hooks at one call.
type observing struct {
	x        *Execution
	cmd      kernel.Observe
	request  policy.Request
	answered policy.Answered
	instead  Report
	warnings []string
	done     chan struct{}
}

func (o *observing) event() kernel.Event {
	return kernel.Observed{At: o.x.at(), Cmd: o.cmd.Cmd, Call: o.cmd.Call.ID, Warnings: o.warnings}
}

// from shows the call to the hooks from the i-th on. Where one does not return,
// whoever gives it up goes on with those behind it.
func (o *observing) from(ctx context.Context, i int) {
	for ; i < len(o.x.agent.Hooks.After); i++ {
		h := &o.x.agent.Hooks.After[i]
		if !h.Matches(o.cmd.Call.Name) {
			continue
		}
		if !o.show(ctx, h, i) {
			return
		}
	}
	close(o.done)
}

// show shows the call to one hook. It reports whether to go on here.
func (o *observing) show(ctx context.Context, h *policy.AfterHook, i int) bool {
	name := "the hook " + h.Name
	own, cancel := context.WithTimeout(ctx, h.Time())
	defer cancel()
	var ended atomic.Bool
	err := o.x.foreign(own, name, func() {
		if ended.CompareAndSwap(false, true) {
			o.warn(name + " did not return after call " + o.cmd.Call.ID)
			o.from(ctx, i+1)
			o.instead(o.event(), Content{})
		}
	}, func() error {
		request := o.request
		request.Arguments = []byte(o.cmd.Call.Arguments) // its own, to keep or to change
		return h.Hook.After(own, request, o.answered)
	})
	if !ended.CompareAndSwap(false, true) {
		return false
	}
	switch {
	case err == nil && own.Err() == nil:
		return true
	case own.Err() != nil:
		o.warn(name + " did not end in time after call " + o.cmd.Call.ID)
	default:
		o.warn(name + " failed after call " + o.cmd.Call.ID + forPeople(err))
	}
	o.x.Log.Warn("a hook failed", "run", o.x.Run, "call", o.cmd.Call.ID, "hook", h.Name, "error", err)
	return true
}

// forPeople is what a hook wants known of its failure. Another error may hold what
// it does not, and is the log's.
func forPeople(err error) string {
	known, ok := errors.AsType[*kernel.Error](err)
	if !ok {
		return ""
	}
	return asClause(kernel.Clip(known.Message, maxHookWords))
}

// maxHookWords bounds a hook's words in a warning, in bytes.
const maxHookWords = 300

func (o *observing) warn(text string) { o.warnings = append(o.warnings, text) }

// answerOf is what the model is told of a call.
func (x *Execution) answerOf(call string) policy.Answered {
	for _, m := range slices.Backward(x.History.Messages()) {
		for j := range m.Blocks {
			if b := &m.Blocks[j]; b.Kind == kernel.BlockResult && b.CallID == call {
				return policy.Answered{Text: b.Text, IsError: b.IsError}
			}
		}
	}
	return policy.Answered{}
}

// callState is a call of the turn; the zero value for one that is none.
func (x *Execution) callState(call string) (c kernel.CallState) {
	for i := range x.State.Batch {
		if x.State.Batch[i].Call.ID == call {
			return x.State.Batch[i]
		}
	}
	return c
}
