package local_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// onStop is a journal that calls before ahead of each commit that is to stop a
// run.
type onStop struct {
	journal.Journal
	before func(run string)
}

func (o *onStop) Append(ctx context.Context, e journal.Entry) error {
	if e.Head.State == journal.Stopped {
		o.before(e.Head.Run)
	}
	return o.Journal.Append(ctx, e)
}

func sayTo(t *testing.T, j journal.Journal, run, id string) {
	t.Helper()
	s := journal.Signal{ID: id, Run: run, Kind: journal.SignalSay, At: time.Now(), Payload: []byte(`{"text":"` + id + `"}`)}
	if _, err := j.Send(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// What another process has said, and was told is recorded, is heard even when
// the run was just about to stop.
func TestSaidWhileTheRunStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	here, there := file(t, path), file(t, path)
	spoke := false
	j := &onStop{Journal: here, before: func(run string) {
		if !spoke {
			spoke = true
			sayTo(t, there, run, "and hurry")
		}
	}}
	m := &script{steps: []step{says("first"), says("done")}}
	r, err := open(t, j).Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	want := []string{"user q", "assistant first", "user and hurry", "assistant done"}
	if got := told(r.History); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if h := get(t, open(t, here), r.Head.Run).Head; h.Pending != 0 {
		t.Errorf("head %+v", h)
	}
}

// Nobody keeps a run from its end by talking to it without a pause.
func TestSaidWithoutEnd(t *testing.T) {
	n := 0
	under := memory.New()
	j := &onStop{Journal: under, before: func(run string) {
		n++
		sayTo(t, under, run, fmt.Sprint("word ", n))
	}}
	m := &script{steps: []step{says("1"), says("2"), says("3")}}
	a := &engine.Agent{Model: m, Limits: limits(func(l *kernel.Limits) { l.Turns = 3 })}
	r, err := open(t, j).Run(t.Context(), engine.Start{Agent: a, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	if r.Answer != "3" {
		t.Errorf("answer %q", r.Answer)
	}
	sameAsStored(t, under, r)
}

// peeks is a journal that tells of each look at a head.
type peeks struct {
	journal.Journal
	at chan struct{}
}

func (p *peeks) Head(ctx context.Context, run string) (journal.Head, error) {
	select {
	case p.at <- struct{}{}:
	default:
	}
	return p.Journal.Head(ctx, run)
}

// Whoever watches a run that another process has taken over sees what becomes of
// it there.
func TestWatchOfARunThatIsTakenOver(t *testing.T) {
	j := memory.New()
	begun, taken := make(chan struct{}), make(chan struct{})
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(begun)
		<-taken
		return says("late")(ctx, req)
	}, says("done")}}
	agent := &engine.Agent{Model: m}
	looks := &peeks{Journal: j, at: make(chan struct{}, 1)}
	slow := open(t, looks, often)
	lost, watched := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := slow.Run(t.Context(), engine.Start{Agent: agent, Question: "q", Run: "r"})
		lost <- err
	}()
	<-begun
	fast := &onStop{Journal: j, before: func(string) {
		close(taken)
		if err := <-lost; kernel.CodeOf(err) != kernel.CodeLeaseLost {
			t.Errorf("the slow process: %v", err)
		}
		select { // whatever it was for
		case <-looks.at:
		default:
		}
		go func() {
			var last engine.Update
			var failed error
			for u, err := range slow.Watch(t.Context(), "r", 0) {
				last, failed = u, err
			}
			if failed == nil && last.Outcome == nil {
				failed = errForeign
			}
			watched <- failed
		}()
		select {
		case <-looks.at: // it has found that nobody drives the run here
		case err := <-watched:
			watched <- err
		}
	}}
	work(t, open(t, fast, later(11*time.Second), knows(agent)))
	if err := <-watched; err != nil {
		t.Errorf("the watcher there: %v", err)
	}
}

// A start that fails leaves those alone who watch a run of that name, and those
// who wait for what is under way.
func TestFailedStart(t *testing.T) {
	j := memory.New()
	begun, release := make(chan struct{}), make(chan struct{})
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(begun)
		<-release
		return says("done")(ctx, req)
	}}}
	driver := open(t, j)
	id, err := driver.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	other := open(t, j, often)
	tried := false
	var last engine.Update
	for u, err := range other.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if last = u; !tried {
			tried = true
			if _, err := other.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: &script{}}, Question: "q", Run: id}); kernel.CodeOf(err) != kernel.CodeConflict {
				t.Fatalf("the same run once more: %v", err)
			}
			close(release)
		}
	}
	if last.Outcome == nil {
		t.Errorf("watched to %+v", last)
	}

	// Work waits for what is under way, and finds that it never came to be.
	waiting := make(chan struct{})
	var worker *local.Engine
	failing := &onFirst{Journal: j, then: func() error { <-waiting; return errFull }}
	worker = open(t, failing, knows(&engine.Agent{Model: &script{}}), func(c *local.Config) {
		c.Wait = func(a, b, c <-chan struct{}) {
			close(waiting)
			select {
			case <-a:
			case <-b:
			case <-c:
			}
		}
	})
	failing.reached = make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := worker.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: &script{}}, Question: "q"})
		ended <- err
	}()
	<-failing.reached
	work(t, worker)
	if err := <-ended; kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Errorf("a start that is not journaled: %v", err)
	}
}

// onFirst is a journal in which the first entry of a run comes to what then
// returns.
type onFirst struct {
	journal.Journal
	reached chan struct{}
	then    func() error
}

func (o *onFirst) Append(ctx context.Context, e journal.Entry) error {
	if e.Records[0].Seq != 1 {
		return o.Journal.Append(ctx, e)
	}
	close(o.reached)
	return o.then()
}

// Two questions are asked here at once, and one is answered while the other is
// still shown.
func TestTwoAskedHere(t *testing.T) {
	for range 10 {
		twoAskedHere(t)
	}
}

func twoAskedHere(t *testing.T) {
	t.Helper()
	decided := make(chan struct{})
	var paid atomic.Int64
	m := &script{steps: []step{calls(call("c1", "pay", `{}`), call("c2", "pay", `{"n":1}`)), says("done")}}
	a := payer(t, m, &paid, asking{})
	a.Approver = approver(func(_ context.Context, p policy.Approval) (policy.Verdict, error) {
		if p.Call == "c2" {
			<-decided
		}
		return policy.Verdict{Approved: true}, nil
	})
	e := open(t, &listening{Journal: memory.New(), on: func(kind kernel.EventKind) {
		if kind == kernel.KindCallReturned && paid.Load() == 1 {
			close(decided)
		}
	}})
	r, err := e.Run(t.Context(), engine.Start{Agent: a, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	if paid.Load() != 2 {
		t.Errorf("paid %d times: %q", paid.Load(), results(r))
	}
}

// unreadable is a journal whose signals cannot be read, once.
type unreadable struct {
	journal.Journal
	failed atomic.Bool
}

func (u *unreadable) Signals(ctx context.Context, run string) ([]journal.Signal, error) {
	if u.failed.CompareAndSwap(false, true) {
		return nil, errFull
	}
	return u.Journal.Signals(ctx, run)
}

// A signal that cannot be read for a moment is heard a moment later, and the run
// goes on meanwhile.
func TestSignalsCannotBeRead(t *testing.T) {
	j := &unreadable{Journal: memory.New()}
	begun, heard := make(chan struct{}), make(chan struct{})
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(begun)
		<-heard
		return says("first")(ctx, req)
	}, says("done")}}
	e := open(t, &listening{Journal: j, on: func(kind kernel.EventKind) {
		if kind == kernel.KindUserSaid {
			close(heard)
		}
	}}, often)
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalSay, Text: "and hurry"}); err != nil {
		t.Fatal(err)
	}
	wantStop(t, stopOf(t, e, id), kernel.StopAnswered, "")
	if !j.failed.Load() {
		t.Error("the signals were read at once")
	}
}

// One run that takes long keeps none from beginning, however many there are: as
// many are driven as may be at once, and then the rest.
func TestWorkBesideALongRun(t *testing.T) {
	const many = 300
	j := memory.New()
	full, others := make(chan struct{}), make(chan struct{})
	var begun, done atomic.Int64
	var first sync.Map // the processes in which runs die in the middle of their call
	act := probe{name: "act", effect: kernel.Read, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if m, dies := first.LoadAndDelete(c.Run); dies {
			m.(*mortal).dead.Store(true)
			return tool.Result{}, errForeign
		}
		if c.Run == "r000" {
			<-others
			return tool.Result{Text: "acted"}, nil
		}
		begun.Add(1)
		<-full
		if done.Add(1) == many-1 {
			close(others)
		}
		return tool.Result{Text: "acted"}, nil
	}}
	m := turns(func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		if len(req.Messages) == 1 {
			return calls(call("a", "act", `{}`))(ctx, req)
		}
		return says("done")(ctx, req)
	})
	agent := &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}, Limits: limits(func(*kernel.Limits) {})}
	for i := range many {
		dying, id := &mortal{Journal: j}, fmt.Sprintf("r%03d", i)
		first.Store(id, dying)
		if _, err := open(t, dying).Run(t.Context(), engine.Start{Run: id, Question: "q", Agent: agent}); kernel.CodeOf(err) != kernel.CodeLocalStorage {
			t.Fatal(err)
		}
	}
	var once sync.Once
	work(t, open(t, j, later(11*time.Second), knows(agent), func(c *local.Config) {
		c.Wait = func(a, b, c <-chan struct{}) { // as many are under way as may be
			once.Do(func() { close(full) })
			select {
			case <-a:
			case <-b:
			case <-c:
			}
		}
	}))
	for i := range many {
		if r := get(t, open(t, j), fmt.Sprintf("r%03d", i)); !cmp.Equal(results(r), []string{"a: acted"}) {
			t.Fatalf("%s: %q", r.Head.Run, results(r))
		}
	}
	if begun.Load() != many-1 {
		t.Errorf("%d runs went on beside the long one", begun.Load())
	}
}

// A cancel lets nothing begin that was allowed before and that nobody here has
// heard of yet.
func TestCancelBeatsAYesFromElsewhere(t *testing.T) {
	j := memory.New()
	shown := make(chan string, 1)
	var paid atomic.Int64
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: "pay"}}) // which decide at once
	if err != nil {
		t.Fatal(err)
	}
	a := payer(t, paying(`{}`), &paid, rules)
	a.Approver = approver(func(ctx context.Context, p policy.Approval) (policy.Verdict, error) {
		shown <- p.ID
		<-ctx.Done()
		return policy.Verdict{}, ctx.Err()
	})
	e := open(t, j, func(c *local.Config) { c.Poll = time.Hour })
	id, err := e.Start(t.Context(), engine.Start{Agent: a, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	question := <-shown
	if err := open(t, j).Signal(t.Context(), id, approve(question, "boss")); err != nil {
		t.Fatal(err)
	}
	sayTo(t, j, id, "never mind")
	if err := e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalCancel, Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	r := stopOf(t, e, id)
	wantStop(t, r, kernel.StopCancelled, "enough")
	sameAsStored(t, j, r)
	want := []string{"user q", "calls c1", "result c1", "user never mind"}
	if got := told(r.History); paid.Load() != 0 || len(effects(t, j, journal.EffectQuery{})) != 0 || !cmp.Equal(got, want) {
		t.Errorf("paid %d times, effects %+v, told %q", paid.Load(), effects(t, j, journal.EffectQuery{}), got)
	}
	if got := results(r); got[0] != "c1: Not run: the run stopped before this call (cancelled)." || r.Head.Pending != 0 {
		t.Errorf("results %q, head %+v", got, r.Head)
	}
	if s := approval(t, j, question).State; s != journal.ApprovalWithdrawn {
		t.Errorf("approval %s", s)
	}
}
