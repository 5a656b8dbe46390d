package local

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

type caller struct{}

func (caller) Info() model.Info {
	return model.Info{Provider: "test", Profile: kernel.Strict, MaxTokens: 1}
}

func (caller) Call(context.Context, *model.Request, func(model.Delta)) (*model.Reply, error) {
	return &model.Reply{Stop: kernel.StopCalls, Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
		{Kind: kernel.BlockCall, Call: &kernel.Call{ID: "a", Name: "pay", Arguments: "{}"}},
	}}}, nil
}

// payer is an agent that pays once, and whose policy answers so.
func payer(t *testing.T, answer kernel.Answer, paid *bool) *engine.Agent {
	t.Helper()
	pay, err := tool.Func(tool.Spec{Name: "pay", Description: "Pays."}, func(context.Context, tool.Call, struct{}) (string, error) {
		*paid = true
		return "paid", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(pay)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: answer, Tool: "pay"}})
	if err != nil {
		t.Fatal(err)
	}
	return &engine.Agent{Model: caller{}, Tools: set, Policy: rules}
}

// cancelling returns once a cancel waits for the commit of run r that is under
// way. The channel gets what comes of it.
func cancelling(e *Engine) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.Signal(context.Background(), "r", engine.Signal{Kind: engine.SignalCancel}) }()
	for e.live("r").wish.Load() == nil {
		runtime.Gosched()
	}
	return done
}

// claims tells of the commit that claims a call, before it is done.
type claims struct {
	journal.Journal
	claiming func()
}

func (c claims) Append(ctx context.Context, e journal.Entry) error {
	for _, r := range e.Records {
		if r.Kind == kernel.KindCallStarted {
			c.claiming()
		}
	}
	return c.Journal.Append(ctx, e)
}

// I3: a cancel that comes while a call's claim is committed is heeded before
// the tool begins.
func TestCancelDuringTheClaim(t *testing.T) {
	ran := false
	agent := payer(t, kernel.Allow, &ran)
	var e *Engine
	var signalled <-chan error
	j := claims{memory.New(), func() {
		signalled = cancelling(e)
	}}
	e, err := New(Config{Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), engine.Start{Run: "r", Question: "q", Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-signalled; err != nil {
		t.Errorf("the cancel: %v", err)
	}
	answer := r.History[len(r.History)-1].Blocks[0].Text
	if ran || r.Outcome.Stop != kernel.StopCancelled || !strings.Contains(answer, "not run") {
		t.Errorf("ran %t, stop %s, answer %q", ran, r.Outcome.Stop, answer)
	}
}

// A cancel that comes while the run is parked is recorded for it, and ends it.
func TestCancelWhileParking(t *testing.T) {
	agent := payer(t, kernel.Ask, new(bool))
	var e *Engine
	var signalled <-chan error
	j := parks{memory.New(), func() {
		signalled = cancelling(e)
	}}
	e, err := New(Config{Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.Run(t.Context(), engine.Start{Run: "r", Question: "q", Agent: agent}); err != nil {
		t.Fatal(err)
	}
	if err := <-signalled; err != nil {
		t.Fatalf("the cancel: %v", err)
	}
	for _, err := range e.Watch(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Get(t.Context(), "r")
	if err != nil || r.Outcome == nil || r.Outcome.Stop != kernel.StopCancelled {
		t.Errorf("%+v, %v", r, err)
	}
}

// Runs that wait here and that another process has ended are not remembered.
func TestTidy(t *testing.T) {
	agent := payer(t, kernel.Ask, new(bool))
	j := memory.New()
	e, err := New(Config{Journal: j, Poll: time.Hour, Lease: MaxLease})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	worker, err := New(Config{Journal: j, Agents: func(context.Context, *engine.Stored) (*engine.Agent, error) { return agent, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = worker.Close() }()
	const many, stay = 2 * maxTidied, 3
	for i := range many + stay {
		r, err := e.Run(t.Context(), engine.Start{Question: "q", Agent: agent})
		if err == nil && i < many {
			err = worker.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalCancel})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := worker.Work(t.Context(), Workload{Once: true}); err != nil {
		t.Fatal(err)
	}
	if n := len(e.parked); n != many+stay {
		t.Fatalf("%d runs are parked", n)
	}
	for range 3 {
		e.tidy()
	}
	if n := len(e.parked); n != stay {
		t.Errorf("%d runs are parked, want %d", n, stay)
	}
}

// parks tells of the commit that parks a run, once it is done.
type parks struct {
	journal.Journal
	parked func()
}

func (p parks) Append(ctx context.Context, e journal.Entry) error {
	err := p.Journal.Append(ctx, e)
	if e.Release && e.Head.State == journal.Waiting {
		p.parked()
	}
	return err
}
