package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/kernel"
)

// DefaultGrace is the value of Env.Grace that nobody sets.
const DefaultGrace = 2 * time.Second

// Bounds of what code of the embedding program says, in bytes.
const (
	maxWords = 2000 // a reason, a finding
	maxKey   = 1024 // a business key
	maxHash  = 64   // of a policy
)

// contain turns a panic of foreign code into an error. The stack goes to the
// log alone, and the panic's own words nowhere: they may quote content.
func (x *Execution) contain(what string, err *error) {
	if p := recover(); p != nil {
		*err = x.panicked(what, p)
	}
}

func (x *Execution) panicked(what string, p any) error {
	x.Log.Error("panic contained", "run", x.Run, "in", what, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	return &kernel.Error{Code: kernel.CodeInternal, Message: what + " panicked"}
}

// foreign calls code of the embedding program, which may panic, end its
// goroutine, or not return. lost reports in its place, on another goroutine or
// as the last thing of this one; a report that comes after all is then late.
func (x *Execution) foreign(ctx context.Context, what string, lost func(), call func() error) error {
	e := errand{x: x, what: what, missing: lostFunc(lost)}
	return e.run(ctx, call)
}

// errand is foreign code under way. A command that consists of it holds it: it
// then needs nothing of its own.
type errand struct {
	x       *Execution
	what    string
	missing missing
	watch   leash.Watch
}

// missing is told of code that does not come back: see Execution.foreign.
type missing interface{ lost() }

type lostFunc func()

func (f lostFunc) lost() { f() }

// run calls the code. It is called once.
func (e *errand) run(ctx context.Context, call func() error) (err error) {
	e.watch.Begin(ctx, e.x.Grace, e)
	defer e.watch.End()
	whole := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			err = e.x.panicked(e.what, p)
		case !whole: // runtime.Goexit
			e.x.Log.Error("foreign code ended its goroutine", "run", e.x.Run, "in", e.what)
			e.missing.lost()
		}
	}()
	err = call()
	whole = true
	return err
}

// GiveUp reports code that does not return.
func (e *errand) GiveUp() {
	e.x.Log.Warn("foreign code abandoned", "run", e.x.Run, "in", e.what)
	e.missing.lost()
}

// quiet is a handler that lets no panic of a handler out: logging changes
// nothing about a run.
type quiet struct{ slog.Handler }

// QuietLog returns a logger that writes to log's handler and never panics. A
// nil log discards.
func QuietLog(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(quiet{log.Handler()})
}

func (q quiet) Enabled(ctx context.Context, l slog.Level) (on bool) {
	defer func() { _ = recover() }()
	return q.Handler.Enabled(ctx, l)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() { _ = recover() }()
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }
