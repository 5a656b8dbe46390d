package local_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

var overloaded = model.Error{Kind: kernel.FailStatus, Status: 529}

// Case 24: a tool that ran is not entered again by a retry of the request.
func TestRetryDoesNotReenterTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		m := &script{steps: []step{calls(call("a", "look", `{}`)), fails(overloaded), says("done")}}
		r := run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}})
		wantStop(t, r, kernel.StopAnswered, "")
		if n.count() != 1 || r.Outcome.Requests != 3 || r.Outcome.Turns != 2 {
			t.Errorf("ran %d times; outcome %+v", n.count(), r.Outcome)
		}
		if r.Outcome.FirstBad != "" {
			t.Errorf("first bad %s after the request was recovered", r.Outcome.FirstBad)
		}
	})
}

// Case 20: four sends and three waits, then request_budget.
func TestRequestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := &script{steps: []step{fails(overloaded), fails(overloaded), fails(overloaded), fails(overloaded)}}
		r := run(t, &engine.Agent{Model: m})
		wantStop(t, r, kernel.StopModelError, "request_budget")
		waited := time.Since(begun)
		if r.Outcome.Requests != 4 || waited != r.State.Waited || waited < 1750*time.Millisecond || waited > 2187500*time.Microsecond {
			t.Errorf("%d requests, waited %s of planned %s", r.Outcome.Requests, waited, r.State.Waited)
		}
	})
}

// Case 15: a reply after the deadline runs nothing. The deadline ends the
// request, and the reply that comes all the same is too late.
func TestLateReplyRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		late := func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			time.Sleep(6 * time.Second) // virtual; deaf to ctx, and back within the grace
			return calls(call("a", "look", `{}`))(ctx, req)
		}
		m := &script{steps: []step{late}}
		r := run(t, &engine.Agent{
			Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{},
			Limits: limits(func(l *kernel.Limits) { l.Deadline = 5 * time.Second }),
		})
		wantStop(t, r, kernel.StopDeadline, r.Outcome.Detail) // which depends on who is first
		if n.count() != 0 || len(r.History) != 1 {
			t.Errorf("ran %d times, history of %d", n.count(), len(r.History))
		}
		if r.Outcome.Usage.Input != 10 {
			t.Error("what the late reply used is not counted")
		}
	})
}

// Row 110: the deadline ends a running tool, and answers every call.
func TestDeadlineEndsTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := probe{name: "slow", effect: kernel.Once, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}
		m := &script{steps: []step{calls(call("a", "slow", `{}`), call("b", "slow", `{}`))}}
		r := run(t, &engine.Agent{
			Model: m, Tools: tools(t, slow), Policy: allowAll{},
			Limits: limits(func(l *kernel.Limits) { l.Deadline = 5 * time.Second }),
		})
		wantStop(t, r, kernel.StopDeadline, r.Outcome.Detail) // which depends on who is first
		if got := results(r); len(got) != 2 || got[1] != "b: Not run: the run stopped before this call (deadline)." {
			t.Errorf("results %q", got)
		}
		if d := r.State.Observations; d != 1 {
			t.Errorf("%d observations", d)
		}
	})
}

// Case 26, row 64: a failure that is proved transient and without effect is
// tried again, at most as often as the tool allows.
func TestToolRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &tool.Error{Message: "busy", Transient: true, Disposition: kernel.DidNotHappen}
		runs := 0
		flaky := probe{name: "flaky", effect: kernel.Once, tries: 3, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			runs++
			if c.Attempt != runs {
				t.Errorf("attempt %d at run %d", c.Attempt, runs)
			}
			if runs < 3 {
				return tool.Result{}, busy
			}
			return tool.Result{Text: "ok"}, nil
		}}
		m := &script{steps: []step{calls(call("a", "flaky", `{}`)), says("done")}}
		r := run(t, &engine.Agent{Model: m, Tools: tools(t, flaky), Policy: allowAll{}})
		wantStop(t, r, kernel.StopAnswered, "")
		if got := results(r); runs != 3 || len(got) != 1 || got[0] != "a: ok" || r.State.Observations != 3 {
			t.Errorf("%d runs, results %q", runs, got)
		}
	})
}

// A failure that leaves the effect in doubt is never tried again.
func TestDoubtIsNotRetried(t *testing.T) {
	runs := 0
	broken := probe{name: "broken", effect: kernel.Once, tries: 3, run: func(context.Context, tool.Call) (tool.Result, error) {
		runs++
		return tool.Result{}, errForeign
	}}
	m := &script{steps: []step{calls(call("a", "broken", `{}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, broken), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	if runs != 1 || r.Results[0].Disposition != kernel.InDoubt {
		t.Errorf("%d runs, %+v", runs, r.Results)
	}
}

// A run that stops at its first event is over at once, not at its deadline.
func TestStopAtTheFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var n counter
		both := func(name string) tool.Tool { return capable{n.tool(name).(probe), []string{"read"}} }
		r, err := open(t, memory.New()).Run(t.Context(), engine.Start{
			Agent: &engine.Agent{Model: &script{}, Tools: tools(t, both("reader"), both("viewer"))}, Question: "look", Requires: []string{"read"},
		})
		if err != nil || r.Outcome.Stop != kernel.StopClarify || !time.Now().Equal(begun) {
			t.Errorf("%+v, %v after %s", r, err, time.Since(begun))
		}
	})
}

// A tool that ignores its end is left behind: the run goes on after the grace,
// and what the tool returns later counts for nothing.
func TestDeafToolIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var returned atomic.Bool
		deaf := probe{name: "deaf", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(10 * time.Minute) // virtual
			returned.Store(true)
			return tool.Result{Text: "at last"}, nil
		}}
		m := &script{steps: []step{calls(call("a", "deaf", `{}`)), says("done")}}
		r := run(t, &engine.Agent{Model: m, Tools: tools(t, deaf), Policy: allowAll{}})
		wantStop(t, r, kernel.StopDeadline, r.Outcome.Detail) // which depends on who is first
		if took := time.Since(begun); took > time.Minute || returned.Load() {
			t.Errorf("over after %s, returned: %t", took, returned.Load())
		}
		time.Sleep(time.Hour)
		if got := results(r); !returned.Load() || len(got) != 1 || !strings.Contains(got[0], "may have taken") {
			t.Errorf("returned: %t, results %q", returned.Load(), got)
		}
	})
}

// A tool that ends its goroutine ends its call, and not the run.
func TestToolThatExits(t *testing.T) {
	exits := probe{name: "exits", effect: kernel.Read, run: func(context.Context, tool.Call) (tool.Result, error) {
		runtime.Goexit()
		return tool.Result{}, nil
	}}
	m := &script{steps: []step{calls(call("a", "exits", `{}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, exits), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); len(got) != 1 || !strings.Contains(got[0], "failed unexpectedly") {
		t.Errorf("results %q", got)
	}
}
