package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Border runs calls so that nothing a tool does reaches the run but its
// outcome. The zero value is ready, and a Border is safe for concurrent use.
type Border struct {
	// Grace is how long a tool may take to return once its context has ended.
	// After that the call is answered without it. 0: 2 s.
	Grace time.Duration
	// Logger receives the stack of a panic and the name of an abandoned call,
	// never arguments, results or the panic's own words. nil: nothing is logged.
	Logger *slog.Logger
}

const defaultGrace = 2 * time.Second

// returned is what came back from Tool.Run.
type returned struct {
	result   Result
	err      error
	panicked bool
}

// Execute runs one call of t within its limits and within ctx, and returns its
// outcome. It does not fail.
//
// A panic, a timeout, an interruption or an error that t did not classify is
// an error result for a read, and leaves anything else in doubt: a failure is
// no proof that nothing happened. A result counts even when it comes after the
// end of ctx, if it comes within the grace. A tool that ignores its context
// for longer is abandoned: Execute returns, and the tool's goroutine runs on
// until the tool ends by itself. It then still holds c, so c.Arguments must
// never be changed.
func (b Border) Execute(ctx context.Context, t Tool, c Call) Outcome {
	done := make(chan Outcome, 2) // neither sender waits; the first one counts
	go func() {
		done <- b.Run(ctx, t, c, func(o Outcome) { done <- o })
	}()
	return <-done
}

// Run is Execute on the caller's own goroutine, which stays with the tool until
// it returns. For a tool that does not return to Run (it is abandoned, or ends
// its goroutine) instead gets the outcome, on another goroutine or as the last
// thing of this one. When both come, the first one counts.
func (b Border) Run(ctx context.Context, t Tool, c Call, instead func(Outcome)) (o Outcome) {
	k, err := classify(t, c)
	// An error value of the tool's may panic when it is asked for its text.
	defer func() {
		if v := recover(); v != nil {
			b.warnPanic(ctx, k.name, c, v)
			o = k.fail(k.doubtful(kernel.CodeInternal, unexpected))
		}
	}()
	if err != nil {
		return k.fail(failure{code: kernel.CodeInternal, message: "the tool cannot describe itself", disposition: kernel.DidNotHappen})
	}
	if ctx.Err() != nil {
		f := k.ended(ctx)
		f.message, f.disposition = f.message+" before it began", kernel.DidNotHappen
		return k.fail(f)
	}
	run, cancel := context.WithTimeout(ctx, k.limits.Timeout)
	defer cancel()
	r := b.call(run, t, c, k.name, func(what fault) {
		if what == abandoned {
			instead(k.fail(k.ended(ctx)))
			return
		}
		instead(k.fail(k.doubtful(kernel.CodeInternal, unexpected)))
	})
	switch {
	case r.panicked:
		return k.fail(k.doubtful(kernel.CodeInternal, unexpected))
	case r.err == nil:
		return k.succeed(r.result)
	}
	return k.failWith(ctx, run, r)
}

// fault is a way not to return.
type fault int

const (
	abandoned fault = iota
	exited          // by runtime.Goexit
)

// call calls t under watch, and tells lost why it does not return.
func (b Border) call(ctx context.Context, t Tool, c Call, name string, lost func(fault)) (r returned) {
	back := make(chan struct{})
	defer close(back)
	stop := context.AfterFunc(ctx, func() {
		if !b.within(back) {
			b.warn(ctx, "tool abandoned", name, c)
			lost(abandoned)
		}
	})
	defer stop()
	whole := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			b.warnPanic(ctx, name, c, v)
			r = returned{panicked: true}
		case !whole:
			lost(exited)
		}
	}()
	result, err := t.Run(ctx, c)
	whole = true
	return returned{result: result, err: err}
}

// within reports whether back is closed within the grace.
func (b Border) within(back <-chan struct{}) bool {
	grace := b.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-back:
		return true
	case <-timer.C:
		return false
	}
}

// warnPanic logs the type of a panic's value alone: its words may quote
// arguments.
func (b Border) warnPanic(ctx context.Context, name string, c Call, v any) {
	b.warn(ctx, "tool panicked", name, c, "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
}

func (b Border) warn(ctx context.Context, msg, name string, c Call, more ...any) {
	if b.Logger != nil {
		b.Logger.With("tool", name, "run", c.Run, "turn", c.Turn, "call", c.ID).WarnContext(ctx, msg, more...)
	}
}

// traits are what an outcome depends on beside what the tool returned.
type traits struct {
	name   string
	limits Limits
	effect kernel.EffectClass
	keyed  bool // running again with the same key is no second effect
}

func classify(t Tool, c Call) (traits, error) {
	k := traits{limits: Limits{}.withDefaults(), effect: kernel.Once}
	spec, err := specOf(t)
	if err != nil {
		return k, err
	}
	if spec.Effect == "" {
		spec.Effect = kernel.Once
	}
	k.name, k.limits = spec.Name, spec.Limits.withDefaults()
	k.effect = effectOf(t, spec.Effect, c.Arguments)
	_, keyer := t.(Keyer)
	k.keyed = keyer || k.effect == kernel.Idempotent
	return k, nil
}

func (k traits) isRead() bool { return k.effect == kernel.Read }

// ended is the failure of a call that was still under way when ctx, the
// caller's context, or the tool's own time ended.
func (k traits) ended(ctx context.Context) failure {
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		f := k.doubtful(kernel.CodeCancelled, "interrupted")
		if !k.isRead() {
			f.message = "interrupted: may have taken effect"
		}
		return f
	case err != nil:
		return k.doubtful(CodeTimeout, "stopped: the run's time is over")
	}
	return k.doubtful(CodeTimeout, "timed out after "+k.limits.Timeout.String())
}

// doubtful is a failure that proves nothing about the effect.
func (k traits) doubtful(code kernel.Code, msg string) failure {
	f := failure{code: code, message: msg, disposition: kernel.DidNotHappen}
	if !k.isRead() {
		f.message += unknownOutcome
		f.disposition = kernel.InDoubt
	}
	return f
}

// What a model is told of a failure.
const (
	unexpected     = "the tool failed unexpectedly"
	unknownOutcome = "; the effect may have taken place; its outcome is unknown"
)
