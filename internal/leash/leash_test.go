package leash_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/internal/leash"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open reports whether a context has not ended, and fails the test where the
// ways to ask it do not agree.
func open(ctx context.Context, t *testing.T) bool {
	t.Helper()
	select {
	case <-ctx.Done():
		if ctx.Err() == nil || context.Cause(ctx) == nil {
			t.Error("it is done without an error")
		}
		return false
	default:
		if err := ctx.Err(); err != nil {
			t.Errorf("it is not done, and says %v", err)
		}
		return true
	}
}

func TestEnd(t *testing.T) {
	for _, asked := range []bool{false, true} { // whether its channel was made before
		var l leash.Leash
		if asked && !open(&l, t) {
			t.Error("it has ended before its end")
		}
		if _, has := l.Deadline(); has || l.Value("key") != nil {
			t.Error("it has a deadline or a value")
		}
		l.End(context.Canceled)
		l.End(context.DeadlineExceeded)
		if open(&l, t) || !errors.Is(l.Err(), context.Canceled) {
			t.Errorf("the first end counts: %v", l.Err())
		}
	}
}

// A leash ends with what it is tied to, whatever kind of context that is, at
// once for whoever asks it.
func TestTieToAnother(t *testing.T) {
	plain, cancel := context.WithCancel(t.Context())
	own := new(leash.Leash)
	for name, parent := range map[string]struct {
		ctx context.Context
		end func()
	}{
		"of package context": {plain, cancel},
		"a leash":            {own, func() { own.End(context.Canceled) }},
	} {
		var l, late leash.Leash
		l.Tie(parent.ctx, time.Now().Add(time.Hour))
		if !open(&l, t) {
			t.Errorf("%s: %v", name, l.Err())
		}
		parent.end()
		if open(&l, t) || !errors.Is(l.Err(), context.Canceled) {
			t.Errorf("%s: %v", name, l.Err())
		}
		late.Tie(parent.ctx, time.Now().Add(time.Hour))
		if open(&late, t) {
			t.Errorf("%s: tied to what has ended, and open", name)
		}
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const near, far = time.Minute, time.Hour
		begun := time.Now()
		for _, tt := range []struct{ parent, own time.Duration }{{near, far}, {far, near}} {
			parent, cancel := context.WithTimeout(t.Context(), tt.parent)
			var l leash.Leash
			l.Tie(parent, time.Now().Add(tt.own))
			until, has := l.Deadline()
			if left := time.Until(until); !has || left != near || !open(&l, t) {
				t.Errorf("%+v: %v left, %v", tt, left, l.Err())
			}
			<-l.Done()
			if time.Since(begun) != near || !errors.Is(l.Err(), context.DeadlineExceeded) {
				t.Errorf("%+v: ended after %v: %v", tt, time.Since(begun), l.Err())
			}
			begun = time.Now()
			cancel()
		}
		var over leash.Leash
		over.Tie(t.Context(), time.Now())
		if open(&over, t) || !errors.Is(over.Err(), context.DeadlineExceeded) {
			t.Errorf("over before it began: %v", over.Err())
		}
	})
}

// What package context derives of a leash ends with it, and before it where it
// is cancelled. No number of those is too many.
func TestDerived(t *testing.T) {
	for _, n := range []int{0, 1, 20} {
		var l leash.Leash
		first, cancel := context.WithCancel(&l)
		derived := []context.Context{first}
		for range n {
			ctx, cancel := context.WithCancel(&l)
			t.Cleanup(cancel)
			derived = append(derived, ctx)
		}
		cancel()
		for i, ctx := range derived {
			if open(ctx, t) == (i == 0) {
				t.Errorf("context %d of %d: %v", i, n, ctx.Err())
			}
		}
		l.End(context.DeadlineExceeded)
		for i, ctx := range derived[1:] {
			<-ctx.Done()
			if open(ctx, t) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("context %d of %d: %v", i+1, n, ctx.Err())
			}
		}
		late, cancel := context.WithCancel(&l)
		if open(late, t) {
			t.Error("derived of what has ended, and open")
		}
		cancel()
	}
}

func TestAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leash.Leash
		var mu sync.Mutex
		called := map[string]int{}
		call := func(name string) func() {
			return func() { mu.Lock(); called[name]++; mu.Unlock() }
		}
		stop := context.AfterFunc(&l, call("stopped"))
		kept := context.AfterFunc(&l, call("kept"))
		if !stop() || stop() {
			t.Error("stopped other than once")
		}
		l.End(context.Canceled)
		late := context.AfterFunc(&l, call("late"))
		synctest.Wait()
		if kept() || late() || called["stopped"] != 0 || called["kept"] != 1 || called["late"] != 1 {
			t.Errorf("called %v", called)
		}
	})
}

// Ending, asking and deriving at the same time is safe.
func TestAtOnce(t *testing.T) {
	for range 200 {
		var l, tied leash.Leash
		var all sync.WaitGroup
		all.Go(func() { l.End(context.Canceled) })
		all.Go(func() {
			ctx, cancel := context.WithCancel(&l)
			defer cancel()
			<-ctx.Done()
		})
		all.Go(func() {
			tied.Tie(&l, time.Now().Add(time.Hour))
			<-tied.Done()
		})
		all.Go(func() { open(&l, t) })
		all.Wait()
		if open(&tied, t) {
			t.Error("what is tied to it is open")
		}
	}
}

// Whoever ends a leash does not wait for code that hears of it.
func TestEndWaitsForNobody(t *testing.T) {
	var l leash.Leash
	release, ended := make(chan struct{}), make(chan struct{})
	l.AfterFunc(func() { <-release; close(ended) })
	l.End(context.Canceled)
	l.AfterFunc(func() { <-release })
	select {
	case <-ended:
		t.Error("it did not wait itself")
	default:
	}
	close(release)
	<-ended
}

// Whoever prints a leash reads nothing that others write.
func TestPrinted(t *testing.T) {
	var l leash.Leash
	l.Tie(t.Context(), time.Now().Add(time.Hour))
	defer l.End(context.Canceled)
	if got := fmt.Sprintf("%+v", &l); got != "leash" {
		t.Error(got)
	}
}
