package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

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
func (x *Execution) foreign(ctx context.Context, what string, lost func(), call func() error) (err error) {
	late := lateness{x: x, what: what, lost: lost}
	late.watch(ctx)
	defer late.end()
	whole := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			err = x.panicked(what, p)
		case !whole: // runtime.Goexit
			x.Log.Error("foreign code ended its goroutine", "run", x.Run, "in", what)
			lost()
		}
	}()
	err = call()
	whole = true
	return err
}

// lateness gives up on code that has not returned when its context has ended
// for as long as the grace.
type lateness struct {
	x    *Execution
	what string
	lost func()

	unwatch func() bool // nil: the context has no end
	mu      sync.Mutex
	timer   *time.Timer // nil: it has not ended
	stopped bool
}

func (w *lateness) watch(ctx context.Context) {
	if ctx.Done() != nil {
		w.unwatch = context.AfterFunc(ctx, w.begin)
	}
}

func (w *lateness) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.timer = time.AfterFunc(w.x.Grace, w.giveUp)
	}
}

func (w *lateness) giveUp() {
	w.x.Log.Warn("foreign code abandoned", "run", w.x.Run, "in", w.what)
	w.lost()
}

func (w *lateness) end() {
	if w.unwatch == nil {
		return
	}
	w.unwatch()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
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
