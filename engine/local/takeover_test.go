package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// world is where a tool has its effects: by key, and how often each happened.
type world struct {
	mu   sync.Mutex
	done map[string]int
}

func (w *world) do(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil {
		w.done = map[string]int{}
	}
	w.done[key]++
}

func (w *world) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[key] > 0
}

func (w *world) most() (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.done {
		most = max(most, n)
	}
	return most
}

// looked is a reconcilable probe.
type looked struct {
	probe
	lookup func(tool.Call) tool.Found
}

func (l looked) Lookup(_ context.Context, c tool.Call) (tool.Found, error) { return l.lookup(c), nil }

// acting is a tool of a class that has its effect in w; around is called with
// each run, and has the effect happen.
func acting(effect kernel.EffectClass, w *world, around func(ctx context.Context, do func()) error) tool.Tool {
	p := probe{name: "act", effect: effect, run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if err := around(ctx, func() { w.do(c.Key) }); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: "acted"}, nil
	}}
	if effect != kernel.Reconcilable {
		return p
	}
	return looked{p, func(c tool.Call) tool.Found {
		if w.has(c.Key) {
			return tool.Found{Presence: kernel.Present, Result: tool.Result{Text: "acted"}}
		}
		return tool.Found{Presence: kernel.Absent}
	}}
}

var classes = []kernel.EffectClass{kernel.Read, kernel.Idempotent, kernel.Reconcilable, kernel.Once}

// Report A14: a run that is taken over in the middle of a call goes by the call's
// class, and the process that lost it records nothing, whether the effect
// happened there or not.
func TestLeaseLostInTheMiddleOfATool(t *testing.T) {
	for _, class := range classes {
		for _, happened := range []bool{false, true} {
			for _, noticed := range []string{"by the heartbeat", "by the report"} {
				t.Run(fmt.Sprint(class, " ", happened, " ", noticed), func(t *testing.T) {
					var w world
					begun, taken := make(chan struct{}), make(chan struct{})
					first := true
					act := acting(class, &w, func(ctx context.Context, do func()) error {
						if !first {
							do()
							return nil
						}
						first = false
						if happened {
							do()
						}
						close(begun)
						if noticed == "by the report" {
							<-taken
							return nil
						}
						<-ctx.Done()
						return ctx.Err()
					})
					m := &script{steps: []step{calls(call("a", "act", `{}`)), says("done")}}
					agent := &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour })}
					j := memory.New()
					lease := time.Minute
					if noticed == "by the heartbeat" {
						lease = local.MinLease
					}
					slow := open(t, j, func(c *local.Config) { c.Owner, c.Lease = "slow", lease })
					lost := make(chan error, 1)
					go func() {
						_, err := slow.Run(t.Context(), engine.Start{Run: "r", Agent: agent, Question: "q"})
						lost <- err
					}()
					<-begun
					worker := open(t, j, later(time.Minute+time.Second), knows(agent), func(c *local.Config) { c.Owner = "fast" })
					work(t, worker)
					close(taken)
					if err := <-lost; kernel.CodeOf(err) != kernel.CodeLeaseLost {
						t.Errorf("the slow process: %v", err)
					}
					r := get(t, worker, "r")
					wantTakenOver(t, j, r, class, happened, &w)
				})
			}
		}
	}
}

func wantTakenOver(t *testing.T, j journal.Reader, r *engine.Run, class kernel.EffectClass, happened bool, w *world) {
	t.Helper()
	wantStop(t, r, kernel.StopAnswered, "")
	sameAsStored(t, j, r)
	got := results(r)
	want, times := "a: acted", 1
	switch {
	case class == kernel.Once && happened:
		want = "a: Interrupted, may have taken effect"
	case class == kernel.Once:
		want, times = "a: Interrupted, may have taken effect", 0
	case class != kernel.Reconcilable && happened:
		times = 2 // what is read, or done again under the same key, is no second effect
	}
	if !strings.HasPrefix(got[0], want) || w.most() != times {
		t.Errorf("%s, happened %t: %q, %d times", class, happened, got, w.most())
	}
	state := map[kernel.EffectClass]journal.EffectState{kernel.Idempotent: journal.EffectLanded, kernel.Reconcilable: journal.EffectLanded, kernel.Once: journal.EffectUnknown}[class]
	if list := effects(t, j, journal.EffectQuery{}); class == kernel.Read && len(list) != 0 || class != kernel.Read && (len(list) != 1 || list[0].State != state) {
		t.Errorf("%s: effects %+v", class, list)
	}
}

// adjustable is a clock that a test can set ahead.
type adjustable struct{ by atomic.Int64 }

func (c *adjustable) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func (*adjustable) AfterFunc(d time.Duration, f func()) engine.Timer { return time.AfterFunc(d, f) }

// onStart is a journal that calls then right behind the commit of a claim.
type onStart struct {
	journal.Journal
	then func()
}

func (o *onStart) Append(ctx context.Context, e journal.Entry) error {
	claims := e.Claim != nil
	err := o.Journal.Append(ctx, e)
	if claims && err == nil {
		o.then()
	}
	return err
}

// Report A31: a process that was held up between the claim and the effect, past
// its lease, asks before it begins: when the run was taken over, the effect does
// not happen there; when it was not, it does.
func TestHeldUpBeforeTheEffect(t *testing.T) {
	for _, taken := range []bool{true, false} {
		var w world
		act := acting(kernel.Once, &w, func(_ context.Context, do func()) error { do(); return nil })
		m := &script{steps: []step{calls(call("a", "act", `{}`)), says("done")}}
		agent := &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour })}
		j := memory.New()
		clock := &adjustable{}
		held := &onStart{Journal: j, then: func() {
			clock.by.Store(int64(time.Minute))
			if taken {
				work(t, open(t, j, later(time.Minute), knows(agent)))
			}
		}}
		e := open(t, held, func(c *local.Config) { c.Clock = clock })
		r, err := e.Run(t.Context(), engine.Start{Run: "r", Agent: agent, Question: "q"})
		if !taken {
			if err != nil || w.most() != 1 || r.Outcome.Stop != kernel.StopAnswered {
				t.Errorf("not taken over: %v, %d times", err, w.most())
			}
			continue
		}
		if kernel.CodeOf(err) != kernel.CodeLeaseLost || w.most() != 0 {
			t.Errorf("taken over: %v, %d times", err, w.most())
		}
		wantTakenOver(t, j, get(t, open(t, j), "r"), kernel.Once, false, &w)
	}
}

// Two processes never drive one run, and none takes over what is driven; nor
// does a second run of the same session begin anywhere.
func TestDrivenOnce(t *testing.T) {
	j := memory.New()
	begun, release := make(chan struct{}), make(chan struct{})
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(begun)
		<-release
		return says("done")(ctx, req)
	}}}
	agent := &engine.Agent{Model: m}
	e := open(t, j)
	id, err := e.Start(t.Context(), engine.Start{Agent: agent, Question: "q", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	other := open(t, j, knows(agent))
	head, err := j.Head(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Acquire(t.Context(), id, "other", time.Now(), time.Now().Add(time.Minute)); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("a lease that is held: %v", err)
	}
	if _, err := other.Start(t.Context(), engine.Start{Agent: agent, Question: "q", Session: "s"}); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("a second run of the session: %v", err)
	}
	if _, err := other.Start(t.Context(), engine.Start{Agent: agent, Question: "q", Run: id}); kernel.CodeOf(err) != kernel.CodeLeaseLost && kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("the same run once more: %v", err)
	}
	close(release)
	wantStop(t, stopOf(t, e, id), kernel.StopAnswered, "")
	if after, err := j.Head(t.Context(), id); err != nil || after.Lease.Token != head.Lease.Token || count(kinds(t, j, id), kernel.KindResumed) != 0 {
		t.Errorf("lease %+v, events %q", after.Lease, kinds(t, j, id))
	}
}

// died makes a run whose process is gone in the middle of what its agent does:
// kill ends it.
func died(t *testing.T, j journal.Journal, s engine.Start, agent func(kill func()) *engine.Agent) {
	t.Helper()
	m := &mortal{Journal: j}
	s.Run, s.Question, s.Agent = "r", "q", agent(func() { m.dead.Store(true) })
	if _, err := open(t, m).Run(t.Context(), s); kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Fatalf("the process did not die: %v", err)
	}
}

// What a run was started with is kept with it, and given to whoever makes its
// agent again; what is no JSON object is refused.
func TestConfigIsKept(t *testing.T) {
	config := json.RawMessage(`{"model":"m","tools":["a", "b"]}`)
	j := memory.New()
	died(t, j, engine.Start{Tenant: "acme", User: "ann", Config: config}, func(kill func()) *engine.Agent {
		return &engine.Agent{Model: &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			kill()
			return says("lost")(ctx, req)
		}}}}
	})
	made := 0
	worker := open(t, j, later(11*time.Second), func(c *local.Config) {
		c.Agents = func(_ context.Context, s *engine.Stored) (*engine.Agent, error) {
			made++
			if string(s.Question.Config) != string(config) || s.Question.Text != "q" || s.Head.Run != "r" || s.Head.Tenant != "acme" || s.Head.User != "ann" {
				t.Errorf("to make the agent of %+v, %+v", s.Head, s.Question)
			}
			return &engine.Agent{Model: &script{steps: []step{says("done")}}}, nil
		}
	})
	work(t, worker)
	if r := get(t, worker, "r"); made != 1 || r.Answer != "done" {
		t.Errorf("made %d agents, answer %q", made, r.Answer)
	}
	for _, bad := range []string{``, `null`, `[]`, `"x"`, `{`, `{"a":1}{}`, "{\"a\":\"\xff\"}"} {
		_, err := worker.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: &script{}}, Question: "q", Config: json.RawMessage(bad)})
		if kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("configuration %q: %v", bad, err)
		}
	}
}

// A run that cannot be taken over is left as it is, and said to be, once.
func TestLeft(t *testing.T) {
	j := memory.New()
	died(t, j, engine.Start{}, func(kill func()) *engine.Agent {
		return &engine.Agent{Model: &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			kill()
			return says("lost")(ctx, req)
		}}}}
	})
	before, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	for name, agents := range map[string]func() (*engine.Agent, error){
		"fails":    func() (*engine.Agent, error) { return nil, errForeign },
		"is none":  func() (*engine.Agent, error) { return nil, nil },
		"panics":   func() (*engine.Agent, error) { panic("no") },
		"is empty": func() (*engine.Agent, error) { return &engine.Agent{}, nil },
	} {
		var left []string
		worker := open(t, j, later(time.Minute), func(c *local.Config) {
			c.Agents = func(context.Context, *engine.Stored) (*engine.Agent, error) { return agents() }
		})
		err := worker.Work(t.Context(), local.Workload{Once: true, Left: func(h journal.Head, err error) { left = append(left, fmt.Sprint(h.Run, " ", err != nil)) }})
		if err != nil || !cmp.Equal(left, []string{"r true"}) {
			t.Errorf("an agent that %s: %v, left %q", name, err, left)
		}
		after, err := j.Head(t.Context(), "r")
		if err != nil || after.LastSeq != before.LastSeq || after.Lease.Owner != "" {
			t.Errorf("an agent that %s: %+v, %v", name, after, err)
		}
	}
	if _, err := open(t, j).Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: &script{}}, Question: "q"}); err != nil {
		t.Error(err)
	}
	if err := open(t, j).Work(t.Context(), local.Workload{}); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("to work without agents: %v", err)
	}
}

// The deadline counts from the run's start, a dead process included; attempts and
// waiting that were spent stay spent.
func TestSpentStaysSpent(t *testing.T) {
	for _, c := range []struct {
		down     time.Duration
		stop     kernel.Stop
		detail   string
		requests int
	}{
		{down: 2 * time.Second, stop: kernel.StopModelError, detail: "request_budget", requests: 3},
		{down: time.Hour, stop: kernel.StopDeadline, requests: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			retry := kernel.Retry{Attempts: 3, PerRun: 10, Wait: time.Minute}
			bounds := limits(func(l *kernel.Limits) { l.Deadline = 10 * time.Second })
			j := memory.New()
			died(t, j, engine.Start{}, func(kill func()) *engine.Agent {
				return &engine.Agent{Retry: retry, Limits: bounds, Model: &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
					kill()
					return fails(overloaded)(ctx, req)
				}}}}
			})
			time.Sleep(c.down)
			m := &script{steps: []step{fails(overloaded), fails(overloaded), fails(overloaded)}}
			worker := open(t, j, later(0), knows(&engine.Agent{Model: m, Retry: retry, Limits: bounds}), func(c *local.Config) { c.Lease = time.Second })
			if c.down < local.DefaultLease { // to the journal the first process is still there
				head, err := j.Head(t.Context(), "r")
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Release(t.Context(), "r", head.Lease); err != nil {
					t.Fatal(err)
				}
			}
			work(t, worker)
			r := get(t, worker, "r")
			if r.Outcome.Stop != c.stop || c.detail != "" && r.Outcome.Detail != c.detail || r.Outcome.Requests != c.requests || len(m.requests()) != c.requests-1 {
				t.Errorf("down for %s: %+v after %d requests here", c.down, r.Outcome, len(m.requests()))
			}
			if int64(r.State.Deadline) != begun.Add(10*time.Second).UnixNano() || c.requests > 1 && r.State.Waited < 500*time.Millisecond || r.Outcome.HeldTokens == 0 {
				t.Errorf("deadline %v, waited %s, held %d", r.State.Deadline, r.State.Waited, r.Outcome.HeldTokens)
			}
		})
	}
}

// A run that many wish something of at once is taken up once, and hears all.
func TestWokenByMany(t *testing.T) {
	for range 20 {
		j := memory.New()
		var paid atomic.Int64
		e := open(t, j, often)
		m := paying(`{}`)
		for range 8 { // a word that comes with the answer is answered, too
			m.steps = append(m.steps, says("done"))
		}
		a := payer(t, m, &paid, asking{})
		a.Limits = limits(func(l *kernel.Limits) { l.Turns = len(m.steps) })
		r := start(t, e, engine.Start{Agent: a})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				sig := engine.Signal{Kind: engine.SignalSay, Text: "hurry"}
				if i == 4 {
					sig = approve(r.Head.Approval, "ann")
				}
				err := e.Signal(context.Background(), r.Head.Run, sig)
				if err != nil && kernel.CodeOf(err) != kernel.CodeRunStopped {
					t.Error(err)
				}
			})
		}
		all.Wait()
		wantStop(t, stopOf(t, e, r.Head.Run), kernel.StopAnswered, "")
		if paid.Load() != 1 {
			t.Errorf("paid %d times", paid.Load())
		}
	}
}

// What a person found out stands, also where a tool says something else at the
// same time; the run goes on with what the tool returned.
func TestPersonAndLookupDisagree(t *testing.T) {
	var w world
	j := memory.New()
	var agent *engine.Agent
	var worker *local.Engine
	died(t, j, engine.Start{}, func(kill func()) *engine.Agent {
		act := acting(kernel.Reconcilable, &w, func(_ context.Context, do func()) error { do(); kill(); return nil }).(looked)
		there := act.lookup
		act.lookup = func(c tool.Call) tool.Found {
			row := effects(t, j, journal.EffectQuery{State: journal.EffectUnknown})[0]
			if err := worker.Signal(t.Context(), "r", engine.Signal{Kind: engine.SignalResolve, Effect: row.ID, As: kernel.FoundNoEffect, By: "op", Reason: "looked"}); err != nil {
				t.Error(err)
			}
			return there(c)
		}
		m := &script{steps: []step{calls(call("a", "act", `{}`)), says("done")}}
		agent = &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(*kernel.Limits) {})}
		return agent
	})
	worker = open(t, j, later(11*time.Second), knows(agent))
	work(t, worker)
	r := get(t, worker, "r")
	wantStop(t, r, kernel.StopAnswered, "")
	sameAsStored(t, j, r)
	row := effects(t, j, journal.EffectQuery{})[0]
	if got := results(r); got[0] != "a: acted" || row.State != journal.EffectNone || len(row.Resolutions) != 1 || w.most() != 1 {
		t.Errorf("%q, effect %+v", got, row)
	}
}
