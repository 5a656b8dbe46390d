// Package leash holds foreign code: a [Leash] is the context that tells it to
// end, and a [Watch] gives it up when it does not.
//
// Both are parts of a larger value that stands for the code: a context of
// package context, its cancel function and what waits for its end would be
// allocations of their own for every command of a run.
package leash

import (
	"context"
	"sync"
	"time"
)

// Leash is a context that its owner ends. It may also be tied to another
// context and to a deadline. The zero value has neither and is ready. It is
// safe for concurrent use, and must not be copied. A context that is derived of
// it hears of its end on a goroutine of its own, and so ends a moment later.
type Leash struct {
	parent context.Context // nil: none
	until  time.Time       // zero: there is no deadline

	mu     sync.Mutex    // guards the rest
	err    error         // nil: it has not ended
	own    bool          // the end is not that of parent
	done   chan struct{} // nil: nobody has asked for it
	timer  *time.Timer   // of its own deadline; nil: it has none
	behind place         // of it in parent
	tied   followers     // to it
}

var _ context.Context = (*Leash)(nil)

// Tie makes l end with parent, and at until at the latest. It is called once,
// before anything else is.
func (l *Leash) Tie(parent context.Context, until time.Time) {
	l.parent, l.until = parent, until
	theirs, has := parent.Deadline()
	own := !has || until.Before(theirs)
	if !own {
		l.until = theirs
	}
	left := time.Until(until)
	l.mu.Lock()
	l.behind = follow(parent, l)
	if own && left > 0 {
		l.timer = time.AfterFunc(left, l.expire)
	}
	l.mu.Unlock()
	if l.Err() == nil && own && left <= 0 {
		l.expire()
	}
}

func (l *Leash) expire() { l.End(context.DeadlineExceeded) }

// End ends l with err, which is context.Canceled or context.DeadlineExceeded,
// and whatever is tied to it or derived from it. The first end counts.
func (l *Leash) End(err error) { l.end(err, true) }

func (l *Leash) end(err error, own bool) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err, l.own = err, own
	if l.done != nil {
		close(l.done)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	tied, behind := l.tied, l.behind
	l.tied = followers{}
	l.mu.Unlock()
	behind.leave()
	tied.tell(err)
}

// Deadline is part of context.Context.
func (l *Leash) Deadline() (deadline time.Time, ok bool) { return l.until, !l.until.IsZero() }

// Done is part of context.Context.
func (l *Leash) Done() <-chan struct{} {
	_ = l.Err() // the end of the parent may not have been heard of
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Err is part of context.Context. It tells of the end of the parent at once,
// also before that was heard of.
func (l *Leash) Err() error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil || l.parent == nil {
		return err
	}
	if err = l.parent.Err(); err == nil {
		return nil
	}
	l.end(err, false)
	return l.Err() // its own, if that came first
}

// Value is part of context.Context: a leash has no values of its own.
func (l *Leash) Value(key any) any {
	if l.parent == nil {
		return nil
	}
	v := l.parent.Value(key)
	if _, is := v.(context.Context); is && l.endedAlone() && key == causeKey() {
		return nil // or the cause of its end would change when the parent ends
	}
	return v
}

func (l *Leash) endedAlone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own
}

// String keeps whoever prints a context out of what others change.
func (l *Leash) String() string { return "leash" }

// AfterFunc is what package context looks for in a context that is not its own,
// so that those derived from it need no goroutine each before its end. It looks
// at the parent alone, and not behind it: WithCancel of WithValue of a leash has
// one. f is called on a goroutine of its own.
func (l *Leash) AfterFunc(f func()) (stop func() bool) { return l.follow(callback(f)).leave }
