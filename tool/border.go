package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
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
	// Until is when the time of the call's run is over, which ends the call like
	// a deadline of its context does. Zero: the context alone says.
	Until time.Time
}

const defaultGrace = 2 * time.Second

// returned is what came back from Tool.Run.
type returned struct {
	result   Result
	failed   *complaint // nil: there was no error
	panicked bool
}

// Execute runs one call of t within its limits, within ctx and until Until, and
// returns its outcome. It does not fail.
//
// A panic, a timeout, an interruption or an error that t did not classify is
// an error result for a read, and leaves anything else in doubt: a failure is
// no proof that nothing happened. A call whose ctx ended before it began is not
// run, and did not happen. A result counts even when it comes after the end of
// ctx, if it comes within the grace. A tool that ignores its context for longer
// is abandoned: Execute returns, and the tool's goroutine runs on until the
// tool ends by itself. It then still holds c, so c.Arguments must never be
// changed.
func (b Border) Execute(ctx context.Context, t Binding, c Call) Outcome {
	done := make(chan Outcome, 2) // neither sender waits; both send the same
	go func() {
		done <- b.ExecuteInPlace(ctx, t, c, func(o Outcome) { done <- o })
	}()
	return <-done
}

// ExecuteInPlace is Execute for engines, which give it a goroutine that may be
// lost: it stays with the tool until the tool returns. Everyone else calls
// Execute. lost must not be nil. It is called at most once, with the outcome of
// a call whose tool is abandoned (on another goroutine) or ends its goroutine
// (as the last thing of this one). A call has one outcome: a tool that returns
// after all makes ExecuteInPlace return what lost was given.
func (b Border) ExecuteInPlace(ctx context.Context, t Binding, c Call, lost func(Outcome)) Outcome {
	k := t.traits()
	if t.tool == nil {
		return k.fail(failure{code: kernel.CodeUnknownTool, message: "not run: there is no such tool", disposition: kernel.DidNotHappen})
	}
	limit := b.limit(ctx, k.limits.Timeout)
	defer limit.cancel()
	if err := limit.caller(); err != nil {
		return k.fail(notBegun(err))
	}
	var once settled
	r := b.call(limit.own, t, c, func(what fault) {
		f := k.doubtful(kernel.CodeInternal, unexpected)
		if what == abandoned {
			f = k.ended(limit.caller())
		}
		if o, first := once.settle(func() Outcome { return k.fail(f) }); first {
			lost(o)
		}
	})
	o, _ := once.settle(func() Outcome { return k.judge(&limit, r) })
	return o
}

// limit is the time of a call.
type limit struct {
	ctx, own context.Context // the caller's, and the call's within it
	cancel   context.CancelFunc
	last     bool // own ends with the run's time, not with the tool's
}

func (b Border) limit(ctx context.Context, timeout time.Duration) limit {
	l := limit{ctx: ctx}
	end := time.Now().Add(timeout)
	if l.last = !b.Until.IsZero() && b.Until.Before(end); l.last {
		end = b.Until
	}
	l.own, l.cancel = context.WithDeadline(ctx, end)
	return l
}

// caller returns why the call must end, if that is for the caller's reasons:
// its context, or the end of the run's time.
func (l *limit) caller() error {
	if err := l.own.Err(); l.last && errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return l.ctx.Err()
}

// settled is the outcome of a call, once there is one.
type settled struct {
	mu      sync.Mutex
	outcome *Outcome
}

// settle takes the outcome that come gives, unless there is one, and reports
// whether it did.
func (s *settled) settle(come func() Outcome) (o Outcome, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.outcome == nil; first {
		o = come()
		s.outcome = &o
	}
	return *s.outcome, first
}

// fault is a way not to return.
type fault int

const (
	abandoned fault = iota
	exited          // by runtime.Goexit
)

// call calls t under watch, and tells lost why it does not return.
func (b Border) call(ctx context.Context, t Binding, c Call, lost func(fault)) (r returned) {
	back := make(chan struct{})
	defer close(back)
	stop := context.AfterFunc(ctx, func() {
		if !b.within(back) {
			b.warn(ctx, "tool abandoned", t.spec.Name, c)
			lost(abandoned)
		}
	})
	defer stop()
	whole := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			b.warnPanic(ctx, t.spec.Name, c, v)
			r = returned{panicked: true}
		case !whole:
			lost(exited)
		}
	}()
	result, err := t.tool.Run(ctx, c)
	// The error is the tool's too: its methods may do all that Run may.
	failed := hear(err)
	whole = true
	return returned{result: result, failed: failed}
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

func (t Binding) traits() traits {
	return traits{
		name: t.spec.Name, limits: t.spec.Limits.withDefaults(), effect: t.effect,
		keyed: t.keyed || t.effect == kernel.Idempotent,
	}
}

func (k traits) isRead() bool { return k.effect == kernel.Read }

// notBegun is the failure of a call that is too late to begin.
func notBegun(why error) failure {
	f := failure{code: CodeTimeout, message: "not run: the run's time was over", disposition: kernel.DidNotHappen}
	if errors.Is(why, context.Canceled) {
		f.code, f.message = kernel.CodeCancelled, "not run: interrupted before it began"
	}
	return f
}

// ended is the failure of a call that was still under way when it had to end:
// why is the caller's reason, or nil when the tool's own time was over.
func (k traits) ended(why error) failure {
	switch {
	case errors.Is(why, context.Canceled):
		f := k.doubtful(kernel.CodeCancelled, "interrupted")
		if !k.isRead() {
			f.message = "interrupted: may have taken effect"
		}
		return f
	case why != nil:
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
