package local_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// A run that nobody drives is cancelled by whoever works, even where its agent
// cannot be made; where nobody works, the wish waits.
func TestCancelOfARunThatNobodyDrives(t *testing.T) {
	for phase, want := range map[string][]string{
		"requesting":  nil,
		"running":     {"a: Interrupted, may have taken effect"},
		"reconciling": {"a: "}, // as its tool says, if it is there to say it
		"waiting":     {"a: Not run: the run stopped before this call (cancelled)."},
	} {
		for _, made := range []bool{true, false} {
			t.Run(fmt.Sprint(phase, " ", made), func(t *testing.T) {
				var w world
				j := memory.New()
				var agent *engine.Agent
				build := func(kill func()) *engine.Agent {
					class := kernel.Once
					if phase == "reconciling" {
						class = kernel.Reconcilable
					}
					act := acting(class, &w, func(_ context.Context, do func()) error {
						do()
						kill()
						return nil
					})
					m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
						if phase == "requesting" {
							kill()
						}
						return calls(call("a", "act", `{}`))(ctx, req)
					}}}
					agent = &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(*kernel.Limits) {})}
					if phase == "waiting" {
						agent.Policy = asking{}
					}
					return agent
				}
				if phase == "waiting" {
					e := open(t, j)
					start(t, e, engine.Start{Run: "r", Agent: build(func() {})})
					_ = e.Close()
				} else {
					died(t, j, engine.Start{}, build)
				}
				idle := open(t, j)
				if phase == "waiting" { // a yes before the cancel lets nothing begin
					decide(t, idle, "r", true)
				}
				if err := idle.Signal(t.Context(), "r", engine.Signal{ID: "c", Kind: engine.SignalCancel, By: "op", Reason: "enough"}); err != nil {
					t.Fatal(err)
				}
				if h, err := j.Head(t.Context(), "r"); err != nil || h.Pending == 0 || h.State == journal.Stopped {
					t.Fatalf("before anyone works: %+v, %v", h, err)
				}
				worker := open(t, j, later(20*time.Second), func(c *local.Config) {
					c.Agents = func(context.Context, *engine.Stored) (*engine.Agent, error) {
						if made {
							return agent, nil
						}
						return nil, errForeign
					}
				})
				work(t, worker)
				r := get(t, worker, "r")
				wantStop(t, r, kernel.StopCancelled, "enough")
				sameAsStored(t, j, r)
				got := results(r)
				if len(got) != len(want) || len(want) > 0 && !strings.HasPrefix(got[0], want[0]) || r.Head.Pending != 0 {
					t.Errorf("results %q, head %+v", got, r.Head)
				}
				states := map[journal.EffectState]int{}
				for _, row := range effects(t, j, journal.EffectQuery{}) {
					states[row.State]++
				}
				known := map[journal.EffectState]int{}
				switch {
				case phase == "reconciling" && made:
					known[journal.EffectLanded] = 1
				case phase == "reconciling", phase == "running":
					known[journal.EffectUnknown] = 1
				}
				if !cmp.Equal(states, known) || w.most() != len(known) {
					t.Errorf("effects %v, want %v; happened %d times", states, known, w.most())
				}
			})
		}
	}
}

// A cancel that is given to a process which lost the run, and does not know yet,
// reaches whoever drives it.
func TestCancelAtTheWrongProcess(t *testing.T) {
	var w world
	both := make(chan context.Context, 2)
	act := acting(kernel.Idempotent, &w, func(ctx context.Context, _ func()) error {
		both <- ctx
		<-ctx.Done()
		return ctx.Err()
	})
	m := &script{steps: []step{calls(call("a", "act", `{}`))}}
	agent := &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour })}
	j := memory.New()
	slow := open(t, j)
	if _, err := slow.Start(t.Context(), engine.Start{Run: "r", Agent: agent, Question: "q"}); err != nil {
		t.Fatal(err)
	}
	<-both
	fast := open(t, j, later(time.Minute), knows(agent), often)
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- fast.Work(ctx, local.Workload{}) }()
	<-both
	if err := slow.Signal(t.Context(), "r", engine.Signal{Kind: engine.SignalCancel, Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	wantStop(t, stopOf(t, fast, "r"), kernel.StopCancelled, "enough")
	stop()
	if err := <-worked; err != nil {
		t.Error(err)
	}
}

// A cancel that is delivered twice is recorded once.
func TestCancelTwice(t *testing.T) {
	begun, ended, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := probe{name: "slow", effect: kernel.Once, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		<-release
		return tool.Result{}, ctx.Err()
	}}
	j := memory.New()
	e := open(t, j)
	m := &script{steps: []step{calls(call("a", "slow", `{}`))}}
	if _, err := e.Start(t.Context(), engine.Start{Run: "r", Agent: &engine.Agent{Model: m, Tools: tools(t, slow), Policy: allowAll{}}, Question: "q"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	for range 3 {
		if err := e.Signal(t.Context(), "r", engine.Signal{ID: "c", Kind: engine.SignalCancel}); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	close(release)
	r := stopOf(t, e, "r")
	wantStop(t, r, kernel.StopCancelled, "")
	if n := count(kinds(t, j, "r"), kernel.KindCancelled); n != 1 {
		t.Errorf("cancelled %d times", n)
	}
}
