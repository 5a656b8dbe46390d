package leash_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-run/holdfast/internal/leash"
)

// code is foreign code; it counts how often it is given up.
type code struct {
	leash.Watch
	given int
}

func (c *code) GiveUp() { c.given++ }

// Code is given up when it has not returned a grace after the end of its
// context, once, and never before or after.
func TestWatch(t *testing.T) {
	const grace = time.Second
	contexts := map[string]func() (context.Context, func()){
		"a leash": func() (context.Context, func()) {
			l := new(leash.Leash)
			return l, func() { l.End(context.Canceled) }
		},
		"of package context": func() (context.Context, func()) { return context.WithCancel(context.Background()) },
	}
	for name, begin := range contexts {
		for what, tt := range map[string]struct {
			play func(c *code, end func())
			want int
		}{
			"no end":                    {func(c *code, _ func()) { time.Sleep(time.Hour); c.End() }, 0},
			"back before the end":       {func(c *code, end func()) { c.End(); end(); time.Sleep(time.Hour) }, 0},
			"back within the grace":     {func(c *code, end func()) { end(); time.Sleep(grace / 2); c.End(); time.Sleep(time.Hour) }, 0},
			"not back within the grace": {func(c *code, end func()) { end(); time.Sleep(2 * grace); c.End() }, 1},
			"never back":                {func(_ *code, end func()) { end(); time.Sleep(time.Hour) }, 1},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, end := begin()
					defer end()
					var c code
					c.Begin(ctx, grace, &c)
					tt.play(&c, end)
					synctest.Wait()
					if c.given != tt.want {
						t.Errorf("given up %d times", c.given)
					}
				})
			})
		}
		t.Run(name+"/ended before", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := begin()
				end()
				var c code
				c.Begin(ctx, grace, &c)
				time.Sleep(2 * grace)
				synctest.Wait()
				if c.given != 1 {
					t.Errorf("given up %d times", c.given)
				}
			})
		})
	}
}

// A context without an end is nothing to watch.
func TestWatchWithoutEnd(t *testing.T) {
	var c code
	c.Begin(context.Background(), 0, &c)
	c.End()
	if c.given != 0 {
		t.Error("given up")
	}
}
