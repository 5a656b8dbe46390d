package local_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
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
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// file is a journal on a file of the test's own.
func file(t *testing.T, path string) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// knows is the configuration of an engine that makes the same agent for every
// run.
func knows(a *engine.Agent) func(*local.Config) {
	return func(c *local.Config) {
		c.Agents = func(context.Context, *engine.Stored) (*engine.Agent, error) { return a, nil }
	}
}

func often(c *local.Config) { c.Poll = 5 * time.Millisecond }

// work lets an engine go on with what can go on.
func work(t *testing.T, e *local.Engine) {
	t.Helper()
	if err := e.Work(t.Context(), local.Workload{Once: true}); err != nil {
		t.Fatal(err)
	}
}

// start begins a run and waits until it waits for people.
func start(t *testing.T, e *local.Engine, s engine.Start) *engine.Run {
	t.Helper()
	if s.Question == "" {
		s.Question = "q"
	}
	r, err := e.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, r)
	return r
}

func get(t *testing.T, e engine.Engine, run string) *engine.Run {
	t.Helper()
	r, err := e.Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kinds are the events of a run.
func kinds(t *testing.T, j journal.Reader, run string) (out []kernel.EventKind) {
	t.Helper()
	for _, e := range events(t, j, run) {
		out = append(out, e.Kind())
	}
	return out
}

func events(t *testing.T, j journal.Reader, run string) (out []kernel.Event) {
	t.Helper()
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		e, err := kernel.DecodeEvent(records[i].Payload)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func count[T comparable](list []T, what T) (n int) {
	for _, x := range list {
		if x == what {
			n++
		}
	}
	return n
}

// payer is an agent that pays once, after somebody was asked; paid counts.
func payer(t *testing.T, m *script, paid *atomic.Int64, p policy.Policy) *engine.Agent {
	t.Helper()
	pay := probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: fmt.Sprint("receipt ", paid.Add(1))}, nil
	}}
	return &engine.Agent{Model: m, Tools: tools(t, pay), Policy: p}
}

func paying(args ...string) *script {
	m := &script{}
	for i, a := range args {
		m.steps = append(m.steps, calls(call(fmt.Sprint("c", i+1), "pay", a)))
	}
	m.steps = append(m.steps, says("done"))
	return m
}

// A run that waits on a file goes on where it waits as soon as another process
// has recorded the decision.
func TestDecidedElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	here, there := file(t, path), file(t, path)
	var paid atomic.Int64
	e := open(t, here, often)
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
	decide(t, open(t, there), r.Head.Run, true)
	r = stopOf(t, e, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}

// A run whose process is gone goes on in another one, which was told how to
// make its agent.
func TestWaitsForAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	var paid atomic.Int64
	first := file(t, path)
	e := open(t, first)
	m := paying(`{}`)
	a := payer(t, m, &paid, asking{})
	r := start(t, e, engine.Start{Agent: a})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()

	second := file(t, path)
	worker := open(t, second, knows(a))
	work(t, worker)
	if n := len(events(t, second, r.Head.Run)); n != int(r.Head.LastSeq) {
		t.Errorf("%d records, want %d: a run that waits for people is left alone", n, r.Head.LastSeq)
	}
	decide(t, worker, r.Head.Run, true)
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if paid.Load() != 1 || len(m.requests()) != 2 {
		t.Errorf("paid %d times, asked the model %d times", paid.Load(), len(m.requests()))
	}
}

// A waiting run holds no goroutine, and deciding one lets that one go on alone.
func TestWaitingHoldsNothing(t *testing.T) {
	const many = 1000
	j := memory.New()
	e := open(t, j, often)
	var paid atomic.Int64
	before := runtime.NumGoroutine()
	ids := make([]string, many)
	for i := range ids {
		r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
		ids[i] = r.Head.Run
	}
	// The rounds are timers; a goroutine of one may be about.
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines, %d before: %d runs wait", after, before, many)
	}
	for _, i := range []int{0, many / 2, many - 1} {
		decide(t, e, ids[i], true)
		wantStop(t, stopOf(t, e, ids[i]), kernel.StopAnswered, "")
	}
	waiting, err := j.Heads(t.Context(), journal.Query{State: journal.Waiting})
	if err != nil || len(waiting) != many-3 || paid.Load() != 3 {
		t.Errorf("%d wait, paid %d times, %v", len(waiting), paid.Load(), err)
	}
}

// Whoever watches a run that waits is told once, and sees it go on.
func TestWatchOfAWaitingRun(t *testing.T) {
	e := open(t, memory.New(), often)
	var paid atomic.Int64
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`, `{"n":1}`), &paid, asking{})})
	var told []string
	var last engine.Update
	for u, err := range e.Watch(t.Context(), r.Head.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Waiting != nil {
			if u.Event != nil || u.Waiting.For != kernel.WaitApproval {
				t.Errorf("update %+v", u)
			}
			told = append(told, u.Waiting.Call)
			decide(t, e, r.Head.Run, true)
		}
		last = u
	}
	if want := []string{"c1", "c2"}; !cmp.Equal(told, want) || last.Outcome == nil {
		t.Errorf("told of %q, last %+v", told, last)
	}
}

// The time that people take is not the run's; all other time is.
func TestPeopleTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int64
		e := open(t, memory.New())
		a := payer(t, paying(`{}`), &paid, asking{})
		a.Limits = limits(func(l *kernel.Limits) { l.Deadline = 5 * time.Second })
		r := start(t, e, engine.Start{Agent: a})
		time.Sleep(time.Hour) // virtual
		decide(t, e, r.Head.Run, true)
		wantStop(t, stopOf(t, e, r.Head.Run), kernel.StopAnswered, "")
		if paid.Load() != 1 {
			t.Errorf("paid %d times", paid.Load())
		}
	})
}

// behind is a journal whose lists are not the latest: as for each of many
// processes that look at the same time, of which one is the first.
type behind struct {
	journal.Journal
	ready []journal.Head
}

func (b *behind) Ready(context.Context, time.Time, int) ([]journal.Head, error) { return b.ready, nil }

// A run that was ready, and waits for people again, is left as it is: to take it
// up would only be one more record.
func TestNotReadyAnyMore(t *testing.T) {
	j := memory.New()
	var paid atomic.Int64
	a := payer(t, paying(`{}`), &paid, asking{})
	r := start(t, open(t, j), engine.Start{Agent: a})
	before := kinds(t, j, r.Head.Run)
	late := open(t, &behind{j, []journal.Head{r.Head}}, knows(a))
	for range 3 {
		work(t, late)
	}
	if diff := cmp.Diff(before, kinds(t, j, r.Head.Run)); diff != "" {
		t.Errorf("taken up all the same (-before +after):\n%s", diff)
	}
	h, err := j.Head(t.Context(), r.Head.Run)
	if err != nil || h.Lease.Owner != "" {
		t.Errorf("left under the lease %+v, %v", h.Lease, err)
	}
}

// moody is a journal whose look at what changed fails, or panics, until it is
// well again.
type moody struct {
	journal.Journal
	fails atomic.Int64
}

func (m *moody) Changes(ctx context.Context) (int64, error) {
	switch n := m.fails.Add(-1); {
	case n > 0 && n%2 == 0:
		return 0, errFull
	case n > 0:
		panic("sk-secret")
	}
	return m.Journal.Changes(ctx)
}

// What cannot be looked for now is looked for again.
func TestLookingFails(t *testing.T) {
	j := &moody{Journal: memory.New()}
	j.fails.Store(6)
	var paid atomic.Int64
	e := open(t, j, often)
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{}), Question: strings.Repeat("ä", 200)})
	decide(t, open(t, j.Journal), r.Head.Run, true)
	wantStop(t, stopOf(t, e, r.Head.Run), kernel.StopAnswered, "")
	if j.fails.Load() > 0 || r.Head.Question != strings.Repeat("ä", 100) {
		t.Errorf("%d failures are left; question %q", j.fails.Load(), r.Head.Question)
	}
}

// onAcquire is a journal in which whoever first takes a run up is held before
// that.
type onAcquire struct {
	journal.Journal
	first            sync.Once
	reached, release chan struct{}
}

func (o *onAcquire) Acquire(ctx context.Context, run, owner string, now, until time.Time) (journal.Lease, error) {
	o.first.Do(func() {
		close(o.reached)
		<-o.release
	})
	return o.Journal.Acquire(ctx, run, owner, now, until)
}

// Work that is done when nothing can go on any more is not done while this
// process is taking a run up by itself.
func TestWorkWaitsForWhatIsTakenUp(t *testing.T) {
	var paid atomic.Int64
	held := &onAcquire{Journal: memory.New(), reached: make(chan struct{}), release: make(chan struct{})}
	var letGo sync.Once
	release := func() { letGo.Do(func() { close(held.release) }) }
	defer release()
	a := payer(t, paying(`{}`), &paid, asking{})
	e := open(t, held, often, knows(a), func(c *local.Config) {
		c.Wait = func(a, b, c <-chan struct{}) {
			select {
			case <-held.reached:
				release()
			default:
			}
			select {
			case <-a:
			case <-b:
			case <-c:
			}
		}
	})
	r := start(t, e, engine.Start{Agent: a})
	decide(t, open(t, held.Journal), r.Head.Run, true) // another process
	<-held.reached
	work(t, e)
	if got := get(t, e, r.Head.Run); got.Outcome == nil || paid.Load() != 1 {
		t.Errorf("after the work: %+v, paid %d times", got.Head, paid.Load())
	}
}
