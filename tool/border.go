package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/internal/leash"
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
	r := &running{border: b, tool: t.tool, call: c, traits: k, lost: lost, ctx: ctx, own: new(leash.Leash)}
	r.begin()
	defer r.own.End(context.Canceled)
	if err := r.reason(); err != nil {
		return k.fail(notBegun(err))
	}
	o, _ := r.conclude(r.judge(r.run()))
	return o
}

// running is a call that is under way.
type running struct {
	border Border
	tool   Tool
	call   Call
	traits
	lost func(Outcome)

	ctx   context.Context // the caller's
	own   *leash.Leash    // the call's, within it; apart, since a tool may keep it for longer than the rest
	last  bool            // own ends with the run's time, not with the tool's
	watch leash.Watch

	mu      sync.Mutex
	settled bool
	outcome Outcome // once it is settled
}

// begin begins the time of the call.
func (r *running) begin() {
	end := time.Now().Add(r.limits.Timeout)
	if until := r.border.Until; !until.IsZero() && until.Before(end) {
		end, r.last = until, true
	}
	r.own.Tie(r.ctx, end)
}

// reason returns why the call must end, if that is for the caller's reasons:
// its context, or the end of the run's time.
func (r *running) reason() error {
	if err := r.own.Err(); r.last && errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return r.ctx.Err()
}

// conclude makes o the outcome of the call, unless it has one, and reports whether
// it did.
func (r *running) conclude(o Outcome) (settled Outcome, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first = !r.settled; first {
		r.settled, r.outcome = true, o
	}
	return r.outcome, first
}

// GiveUp settles the call without its tool, which ignores the end of its context.
func (r *running) GiveUp() {
	r.warn("tool abandoned")
	r.lose(r.ended(r.reason()))
}

// lose tells the caller what came of a call whose tool does not return.
func (r *running) lose(f failure) {
	if o, first := r.conclude(r.fail(f)); first {
		r.lost(o)
	}
}

// run calls the tool under watch.
func (r *running) run() (back returned) {
	r.watch.Begin(r.own, r.border.grace(), r)
	defer r.watch.End()
	whole := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			r.warnPanic(v)
			back = returned{panicked: true}
		case !whole: // runtime.Goexit
			r.lose(r.doubtful(kernel.CodeInternal, unexpected))
		}
	}()
	result, err := r.tool.Run(r.own, r.call)
	// The error is the tool's too: its methods may do all that Run may.
	failed := hear(err)
	whole = true
	return returned{result: result, failed: failed}
}

func (b Border) grace() time.Duration {
	if b.Grace <= 0 {
		return defaultGrace
	}
	return b.Grace
}

// warnPanic logs the type of a panic's value alone: its words may quote
// arguments.
func (r *running) warnPanic(v any) {
	r.warn("tool panicked", "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
}

func (r *running) warn(msg string, more ...any) {
	if log := r.border.Logger; log != nil {
		log.With("tool", r.name, "run", r.call.Run, "turn", r.call.Turn, "call", r.call.ID).WarnContext(r.own, msg, more...)
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
	k := traits{effect: t.effect, keyed: t.keyed || t.effect == kernel.Idempotent}
	if t.spec != nil {
		k.name, k.limits = t.spec.Name, t.spec.Limits
	}
	k.limits = k.limits.withDefaults()
	return k
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
