package local_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// crowd are processes that work on one file, of which some die, and people who
// decide, talk and cancel meanwhile.
type crowd struct {
	t     *testing.T
	path  string
	world world // of the tools, by key
	began struct {
		sync.Mutex
		n map[string]int // runs of the class once, by key
	}
	steps, deaths atomic.Int64
}

// A crowd of processes drives many runs on one file to their ends, and none of
// them has an effect that its class does not allow.
func TestCrowd(t *testing.T) {
	const runs = 12
	c := &crowd{t: t, path: filepath.Join(t.TempDir(), "runs.db")}
	c.began.n = map[string]int{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	j := file(t, c.path)
	starter := open(t, j, knows(c.agent(nil)))
	for i := range runs {
		if _, err := starter.Start(ctx, engine.Start{Run: fmt.Sprint("r", i), Agent: c.agent(nil), Question: "q", User: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	starter.Leave() // for the others
	var all sync.WaitGroup
	all.Go(func() { c.decide(ctx) })
	all.Go(func() { c.talk(ctx, runs) })
	for range 2 {
		all.Go(func() {
			for c.work(ctx) { // and another one when it has died
				c.deaths.Add(1)
			}
		})
	}
	c.wait(j, runs)
	stop()
	all.Wait()
	c.check(j)
	t.Logf("%d processes died in %d steps", c.deaths.Load(), c.steps.Load())
	if c.deaths.Load() == 0 {
		t.Error("nobody died")
	}
}

// work is a process that works until ctx ends, or until it dies in the middle of
// what it does. It reports which it was.
func (c *crowd) work(ctx context.Context) (died bool) {
	j := file(c.t, c.path)
	m := &mortal{Journal: j}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	die := func() {
		if c.steps.Add(1)%17 == 0 {
			m.dead.Store(true)
			stop()
		}
	}
	e := open(c.t, m, knows(c.agent(die)), often, func(c *local.Config) { c.Lease = local.MinLease })
	err := e.Work(ctx, local.Workload{})
	_ = e.Close()
	if died = m.dead.Load(); !died && err != nil { // of a dead process nobody asks how
		c.t.Error(err)
	}
	return died
}

// agent calls a tool of each class in turn; a model that is asked once more
// answers.
func (c *crowd) agent(die func()) *engine.Agent {
	if die == nil {
		die = func() {}
	}
	var list []tool.Tool
	for _, class := range classes {
		act := probe{name: string(class), effect: class, run: func(_ context.Context, call tool.Call) (tool.Result, error) {
			die()
			if class == kernel.Once {
				c.began.Lock()
				c.began.n[call.Key]++
				c.began.Unlock()
			}
			c.world.do(call.Key)
			die()
			return tool.Result{Text: "acted"}, nil
		}}
		if class == kernel.Reconcilable {
			list = append(list, looked{act, func(call tool.Call) tool.Found {
				if c.world.has(call.Key) {
					return tool.Found{Presence: kernel.Present, Result: tool.Result{Text: "acted"}}
				}
				return tool.Found{Presence: kernel.Absent}
			}})
			continue
		}
		list = append(list, act)
	}
	m := turns(func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		die()
		replies := 0
		for _, m := range req.Messages {
			if m.Role == kernel.RoleAssistant {
				replies++
			}
		}
		if replies >= len(classes) {
			return says("done")(ctx, req)
		}
		name := string(classes[replies])
		return calls(call(name+"1", name, `{}`), call(name+"2", name, `{"n":2}`))(ctx, req)
	})
	return &engine.Agent{
		Model: m, Tools: tools(c.t, list...), Limits: limits(func(l *kernel.Limits) { l.Turns, l.Calls, l.Repeat = 20, 20, 0 }),
		Retry: kernel.Retry{Attempts: 20, PerRun: 100, Wait: time.Minute},
		Policy: deciding(func(r policy.Request) (policy.Decision, error) {
			if r.Effect == kernel.Once {
				return policy.Decision{Answer: kernel.Ask}, nil
			}
			return policy.Decision{Answer: kernel.Allow}, nil
		}),
	}
}

// decide approves and refuses what is open, twice each.
func (c *crowd) decide(ctx context.Context) {
	j := file(c.t, c.path)
	for ctx.Err() == nil {
		list, err := j.Approvals(ctx, journal.ApprovalQuery{State: journal.ApprovalOpen})
		if err != nil && ctx.Err() == nil {
			c.t.Error(err)
		}
		for _, a := range list {
			v := journal.Vote{ID: "v", Approval: a.ID, By: "bob", Approve: rand.IntN(4) > 0, Hash: a.Hash, At: time.Now()}
			for range 2 {
				if _, err := j.Decide(context.Background(), v); err != nil && kernel.CodeOf(err) != kernel.CodeAlreadyDecided {
					c.t.Error(err)
				}
			}
		}
		nap(ctx)
	}
}

// talk says something to runs, and cancels a few.
func (c *crowd) talk(ctx context.Context, runs int) {
	j := file(c.t, c.path)
	for n := 0; n < 2*runs && ctx.Err() == nil; n++ {
		s := journal.Signal{ID: fmt.Sprint(n), Run: fmt.Sprint("r", rand.IntN(runs)), Kind: journal.SignalSay, At: time.Now(), Payload: []byte(`{"text":"hurry"}`)}
		if n%12 == 11 {
			s.Kind, s.Payload = journal.SignalCancel, nil
		}
		if _, err := j.Send(context.Background(), s); err != nil && kernel.CodeOf(err) != kernel.CodeRunStopped {
			c.t.Error(err)
		}
		nap(ctx)
	}
}

// nap lets the others have their turn.
func nap(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.IntN(10)) * time.Millisecond):
	}
}

// wait waits until all runs have stopped.
func (c *crowd) wait(j journal.Reader, runs int) {
	c.t.Helper()
	for begun := time.Now(); ; nap(c.t.Context()) {
		over, err := j.Heads(c.t.Context(), journal.Query{State: journal.Stopped})
		if err != nil {
			c.t.Fatal(err)
		}
		if len(over) == runs {
			return
		}
		if time.Since(begun) > time.Minute {
			c.t.Fatalf("%d of %d runs are over", len(over), runs)
		}
	}
}

func (c *crowd) check(j journal.Reader) {
	t := c.t
	report, err := journal.VerifyAll(t.Context(), j, nil)
	if err != nil || report.Flaw != nil {
		t.Errorf("the journal does not verify: %v, %s", err, report.Flaw)
	}
	for key, n := range c.began.n {
		if n > 1 {
			t.Errorf("once, %d times: %s", n, key)
		}
	}
	for _, row := range effects(t, j, journal.EffectQuery{}) {
		key := row.Run + "/" + row.Call
		switch n := c.world.done[key]; {
		case row.State == journal.EffectRunning,
			row.State == journal.EffectLanded && n == 0,
			row.State == journal.EffectNone && n > 0,
			row.Class != kernel.Idempotent && n > 1:
			t.Errorf("%s of class %s happened %d times, and the ledger says %s", key, row.Class, n, row.State)
		}
	}
	heads, err := j.Heads(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		if h.Pending != 0 || h.Lease.Owner != "" || h.Stop != kernel.StopAnswered && h.Stop != kernel.StopCancelled {
			t.Errorf("%+v", h)
		}
		if _, err := engine.Load(t.Context(), j, h.Run); err != nil {
			t.Error(err)
		}
	}
}
