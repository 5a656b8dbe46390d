package leash_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-run/holdfast/internal/leash"
)

// holding is a context with a value: the one that it is made of.
type holding struct{ context.Context }

type held struct{}

func (h holding) Value(key any) any {
	if key == (held{}) {
		return h.Context
	}
	return h.Context.Value(key)
}

// The cause of an end is that of the first one, and stays, as with package
// context: of a leash, and of what is derived of it without an end of its own.
func TestCause(t *testing.T) {
	why := errors.New("why the parent ended")
	between := map[string]func(context.Context) context.Context{
		"none":    func(ctx context.Context) context.Context { return ctx },
		"a value": func(ctx context.Context) context.Context { return holding{ctx} },
		"a leash": func(ctx context.Context) context.Context {
			l := new(leash.Leash)
			l.Tie(ctx, time.Now().Add(time.Hour))
			return l
		},
	}
	ends := map[string]struct {
		end  func(l *leash.Leash, parent context.CancelCauseFunc)
		want error
	}{
		"by its owner":    {func(l *leash.Leash, _ context.CancelCauseFunc) { l.End(context.Canceled) }, context.Canceled},
		"by its deadline": {func(*leash.Leash, context.CancelCauseFunc) { time.Sleep(time.Minute); synctest.Wait() }, context.DeadlineExceeded},
		"by its parent":   {func(_ *leash.Leash, parent context.CancelCauseFunc) { parent(why) }, why},
	}
	for what, end := range ends {
		for above, over := range between {
			for below, under := range between {
				t.Run(what+", "+above+" above and "+below+" below", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						parent, cancel := context.WithCancelCause(t.Context())
						defer cancel(nil)
						l := new(leash.Leash)
						l.Tie(over(parent), time.Now().Add(time.Minute))
						ctx := under(l)
						if got := context.Cause(ctx); got != nil {
							t.Errorf("open, because of %v", got)
						}
						end.end(l, cancel)
						first := context.Cause(ctx)
						cancel(errors.New("another"))
						l.End(context.Canceled)
						synctest.Wait()
						if last := context.Cause(ctx); !errors.Is(first, end.want) || !errors.Is(last, first) {
							t.Errorf("it was because of %v, and then of %v", first, last)
						}
					})
				})
			}
		}
	}
}

// The values of the parent are there after an end, too, contexts among them.
func TestValuesStay(t *testing.T) {
	var l leash.Leash
	l.Tie(holding{t.Context()}, time.Now().Add(time.Hour))
	for range 2 {
		if l.Value(held{}) != t.Context() {
			t.Error("the value is gone")
		}
		l.End(context.Canceled)
	}
}
