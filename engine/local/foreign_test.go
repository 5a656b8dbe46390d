package local_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// rude makes an agent whose model, policy, approver or verifier does what
// misbehave does, when it is that one's turn.
func rude(t *testing.T, who string, misbehave func()) *engine.Agent {
	t.Helper()
	at := func(name string) {
		if who == name {
			misbehave()
		}
	}
	var n counter
	look := calls(call("a", "look", `{}`))
	return &engine.Agent{
		Tools: tools(t, n.tool("look")),
		Model: &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			at("model")
			return look(ctx, req)
		}, says("done")}},
		Policy: deciding(func(policy.Request) (policy.Decision, error) {
			at("policy")
			return policy.Decision{Answer: kernel.Ask}, nil
		}),
		Approver: approver(func(context.Context, policy.Approval) (policy.Verdict, error) {
			at("approver")
			return policy.Verdict{Approved: true}, nil
		}),
		Verifier: verifier(func(verify.Facts) (verify.Verdict, error) {
			at("verifier")
			return verify.Verdict{}, nil
		}),
	}
}

var foreigners = []string{"model", "policy", "approver", "verifier"}

// Duty 7: code that ignores the end of its context holds up neither a cancel
// nor the deadline, and what it says later counts for nothing. While somebody is
// asked the run's time stands still: that run is cancelled, and does not wait
// for its approver.
func TestDeafCode(t *testing.T) {
	stops := map[string]kernel.Stop{"model": kernel.StopDeadline, "policy": kernel.StopDeadline, "approver": kernel.StopCancelled, "verifier": kernel.StopAnswered}
	for _, who := range foreigners {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			e := open(t, memory.New())
			id, err := e.Start(t.Context(), engine.Start{Question: "q", Agent: rude(t, who, func() { <-release })})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // virtual: past the deadline, the grace and the verifier's time
			if who == "approver" {
				if r, err := e.Get(t.Context(), id); err != nil || r.Head.State != journal.Waiting {
					t.Errorf("while somebody is asked: %v, %+v", err, r.Head)
				}
				if err := e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalCancel}); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			r, err := e.Get(t.Context(), id)
			if err != nil || r.Outcome == nil {
				t.Errorf("deaf %s: %v, %s", who, err, kernel.DescribeState(r.State))
			} else if r.Outcome.Stop != stops[who] {
				t.Errorf("deaf %s: stop %s", who, r.Outcome.Stop)
			}
			close(release)
			synctest.Wait()
		})
	}
}

// Code that ends its goroutine ends its command, and not the run. An approver
// that does leaves the question open.
func TestCodeThatExits(t *testing.T) {
	for _, who := range foreigners {
		r := run(t, rude(t, who, runtime.Goexit))
		switch who {
		case "model":
			wantStop(t, r, kernel.StopModelError, "aborted")
		case "approver":
			wantWaiting(t, r)
		default:
			wantStop(t, r, kernel.StopAnswered, "")
		}
	}
}

// wantWaiting fails the test when the run does not wait for an approval.
func wantWaiting(t *testing.T, r *engine.Run) {
	t.Helper()
	if r.Outcome != nil || r.Head.State != journal.Waiting || r.Head.Approval == "" {
		t.Errorf("head %+v, outcome %+v", r.Head, r.Outcome)
	}
}

// Code that panics is contained, the approver's and the key's included.
func TestCodeThatPanics(t *testing.T) {
	for _, who := range foreigners {
		r := run(t, rude(t, who, func() { panic("sk-secret") }))
		switch who {
		case "model":
			wantStop(t, r, kernel.StopModelError, "internal")
		case "approver":
			wantWaiting(t, r)
		default:
			wantStop(t, r, kernel.StopAnswered, "")
			if refused := strings.HasPrefix(results(r)[0], "a: Not run"); refused != (who == "policy") {
				t.Errorf("panicking %s: results %q", who, results(r))
			}
		}
	}
}

// A policy that asks in a way that no one could answer has not answered.
func TestPolicyThatAsksNonsense(t *testing.T) {
	for name, asking := range map[string]kernel.Asking{
		"expired":          {Expires: -time.Second},
		"for an instant":   {Grant: 1},
		"by a crowd":       {Approvers: kernel.Approvers{Quorum: 11}},
		"by too few":       {Approvers: kernel.Approvers{Quorum: 2, From: []string{"ann"}}},
		"again, of nobody": {OnExpiry: kernel.ExpiryEscalate},
	} {
		tl := &counter{}
		r := run(t, &engine.Agent{
			Model: &script{steps: []step{calls(call("c1", "deed", `{}`)), says("done")}},
			Tools: tools(t, tl.tool("deed")),
			Policy: deciding(func(policy.Request) (policy.Decision, error) {
				return policy.Decision{Answer: kernel.Ask, Asking: &asking}, nil
			}),
		})
		wantStop(t, r, kernel.StopAnswered, "")
		if got := results(r); tl.count() != 0 || len(got) != 1 || !strings.Contains(got[0], "the policy could not be asked") {
			t.Errorf("%s: ran %d times, told %q", name, tl.count(), got)
		}
	}
}

type badKey struct {
	probe
	key func() (string, error)
}

func (k badKey) Key(tool.Call) (string, error) { return k.key() }

func TestBadKeys(t *testing.T) {
	for name, key := range map[string]func() (string, error){
		"panics":      func() (string, error) { panic("sk-secret") },
		"fails":       func() (string, error) { return "", errForeign },
		"is no UTF-8": func() (string, error) { return "\xff", nil },
		"is too long": func() (string, error) { return strings.Repeat("k", 1025), nil },
	} {
		ran := 0
		pay := badKey{probe{name: "pay", run: func(context.Context, tool.Call) (tool.Result, error) { ran++; return tool.Result{}, nil }}, key}
		m := &script{steps: []step{calls(call("a", "pay", `{}`)), says("done")}}
		r := run(t, &engine.Agent{Model: m, Tools: tools(t, pay), Policy: allowAll{}})
		wantStop(t, r, kernel.StopAnswered, "")
		if got := results(r); ran != 0 || !strings.HasPrefix(got[0], "a: Not run: the tool cannot name the effect of this call: ") || strings.Contains(got[0], "secret") {
			t.Errorf("a key that %s: ran %d, %q", name, ran, got)
		}
	}
}

// encoding is a model that panics when it encodes a message of that role.
type encoding struct {
	*script
	bad kernel.Role
}

func (e encoding) EncodeMessage(m *kernel.Message, _ []byte) (model.Encoded, error) {
	if m.Role == e.bad {
		panic("boom")
	}
	return model.Encoded{Before: []byte("x")}, nil
}

func (e encoding) EncodeHead(string, []model.Tool) ([]byte, error) {
	if e.bad == "" {
		panic("boom")
	}
	return nil, nil
}

// An encoder that panics ends the run in order, and leaves no run behind that
// the engine would wait for.
func TestEncoderPanics(t *testing.T) {
	for _, bad := range []kernel.Role{"", kernel.RoleUser, kernel.RoleAssistant, kernel.RoleTool} {
		var n counter
		j := memory.New()
		m := encoding{&script{steps: []step{calls(call("a", "look", `{}`)), says("done")}}, bad}
		r, err := open(t, j).Run(t.Context(), engine.Start{Question: "q", Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}}})
		if bad == "" {
			if kernel.CodeOf(err) != kernel.CodeInternal {
				t.Errorf("head: %+v, %v", r, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wantStop(t, r, kernel.StopContext, "a message cannot be encoded for the model: the model's encoder panicked")
		sameAsStored(t, j, r)
	}
}

// Duty 4: a tool whose start is refused, since it comes after the deadline,
// does not run. The decision on it was made in time, but had to wait for a
// commit.
func TestRefusedStartDoesNotRun(t *testing.T) {
	ran := 0
	pay := probe{name: "pay", run: func(context.Context, tool.Call) (tool.Result, error) { ran++; return tool.Result{}, nil }}
	appending := make(chan struct{})
	p := deciding(func(r policy.Request) (policy.Decision, error) {
		if r.Call == "a" {
			<-appending
		}
		return policy.Decision{Answer: kernel.Allow}, nil
	})
	const deadline = 50 * time.Millisecond
	late := time.After(2 * deadline) // the clock is what this test is about
	j := &troubled{Journal: memory.New(), trouble: func(n int, commit func() error) error {
		if n == 3 { // the decision on b
			close(appending)
			<-late
		}
		return commit()
	}}
	m := &script{steps: []step{calls(call("a", "pay", `{}`), call("b", "pay", `{}`))}}
	r, err := open(t, j).Run(t.Context(), engine.Start{Question: "q", Agent: &engine.Agent{
		Model: m, Tools: tools(t, pay), Policy: p, Limits: limits(func(l *kernel.Limits) { l.Deadline = deadline }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopDeadline, r.Outcome.Detail)
	if ran != 0 {
		t.Errorf("a tool ran %d times whose start was refused", ran)
	}
}

// Decisions that are made side by side share no memory with the run.
func TestConcurrentDecisions(t *testing.T) {
	order := keyed{probe{name: "order", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "ok"}, nil }}}
	for range 20 {
		var list []kernel.Call
		for i := range 8 {
			list = append(list, call(fmt.Sprint("c", i), "order", `{"n":1}`))
		}
		run(t, &engine.Agent{Model: &script{steps: []step{calls(list...), says("done")}}, Tools: tools(t, order), Policy: allowAll{}})
	}
}

// loud is a logger's handler that panics.
type loud struct{ slog.Handler }

func (loud) Enabled(context.Context, slog.Level) bool  { return true }
func (loud) Handle(context.Context, slog.Record) error { panic("sk-secret") }
func (l loud) WithAttrs([]slog.Attr) slog.Handler      { return l }
func (l loud) WithGroup(string) slog.Handler           { return l }

// A journal and a logger that panic end the run, and not the process.
func TestObserversThatPanic(t *testing.T) {
	for bad := 1; bad <= 3; bad++ {
		j := &troubled{Journal: memory.New(), trouble: func(n int, commit func() error) error {
			if n >= bad {
				panic("sk-secret")
			}
			return commit()
		}}
		e, err := local.New(local.Config{Journal: j, Log: slog.New(loud{})})
		if err != nil {
			t.Fatal(err)
		}
		var n counter
		if _, err := e.Run(t.Context(), twoLooks(t, &n)); kernel.CodeOf(err) != kernel.CodeLocalStorage {
			t.Errorf("the journal panics from append %d: %v", bad, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What foreign code says is bounded before it is journaled, and what it is
// given is its own to change.
func TestForeignWordsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	ask := deciding(func(policy.Request) (policy.Decision, error) {
		return policy.Decision{Answer: kernel.Ask, Reason: long, Rule: long}, nil
	})
	yes := approver(func(context.Context, policy.Approval) (policy.Verdict, error) {
		return policy.Verdict{Approved: true, By: long, Reason: long}, nil
	})
	judge := verifier(func(f verify.Facts) (verify.Verdict, error) {
		v := verify.Verdict{Finding: long}
		for i := range f.Results {
			f.Results[i].Evidence, f.Results[i].Text = "forged", "forged"
			copy(f.Results[i].Arguments, "XX")
		}
		return v, nil
	})
	var n counter
	j := memory.New()
	m := &script{steps: []step{fails(model.Error{Kind: kernel.FailConnection, Message: long}), calls(call("a", "look", `{}`)), says("done")}}
	r, err := open(t, j).Run(t.Context(), engine.Start{Question: "q", Agent: &engine.Agent{
		Model: m, Tools: tools(t, n.tool("look")), Policy: ask, Approver: yes, Verifier: judge,
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	sameAsStored(t, j, r)
	records, err := j.Read(t.Context(), r.Head.Run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		if len(rec.Payload) > 5000 {
			t.Errorf("record %d (%s) has %d bytes", rec.Seq, rec.Kind, len(rec.Payload))
		}
	}
}
