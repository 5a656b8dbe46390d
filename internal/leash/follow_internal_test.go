package leash

import (
	"context"
	"testing"
	"time"
)

type nobody struct{}

func (nobody) GiveUp() {}

// What is over before a leash ends leaves nothing behind with it, and is not
// told: a long command may run many other pieces of code.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		var l Leash
		var over []func() bool
		for range n {
			var tied Leash
			tied.Tie(&l, time.Now().Add(time.Hour))
			var w Watch
			w.Begin(&l, 0, nobody{})
			ctx, cancel := context.WithCancel(&l)
			stop := l.AfterFunc(func() { t.Error("it was told of the end") })
			over = append(over, stop, func() bool { tied.End(context.Canceled); return !tied.timer.Stop() }, func() bool { w.End(); return true }, func() bool { cancel(); return ctx.Err() != nil })
			t.Cleanup(func() {
				if stop() {
					t.Error("stopped twice")
				}
			})
		}
		for i, end := range over {
			if !end() {
				t.Errorf("%d of %d was over before", i, n)
			}
		}
		if left := l.tied; left.near != [2]numbered{} || len(left.rest) > 0 {
			t.Errorf("%d: %+v is left behind", n, left)
		}
		l.End(context.Canceled)
	}
}

// Code that came back at the moment of the end is not given up.
func TestWatchOfWhatIsBack(t *testing.T) {
	var w Watch
	w.Begin(new(Leash), 0, nobody{})
	w.End()
	if w.ended(context.Canceled); w.timer != nil {
		t.Error("the grace of what is back has begun")
	}
}
