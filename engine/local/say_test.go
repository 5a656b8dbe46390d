package local_test

import (
	"context"
	"fmt"
	"strings"
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
	"github.com/holdfast-run/holdfast/verify"
)

// told is a history as the model is sent it, in short.
func told(messages []kernel.Message) (out []string) {
	for _, m := range messages {
		b := m.Blocks[0]
		switch b.Kind {
		case kernel.BlockCall:
			out = append(out, "calls "+b.Call.ID)
		case kernel.BlockResult:
			out = append(out, "result "+b.CallID)
		default:
			out = append(out, string(m.Role)+" "+b.Text)
		}
	}
	return out
}

func sent(req *model.Request) []string {
	messages := make([]kernel.Message, len(req.Messages))
	for i := range req.Messages {
		messages[i] = *req.Messages[i].Message
	}
	return told(messages)
}

// What the user says while a run is under way enters its history before the next
// request, and never between a call and its result; said before a final answer
// was given, it keeps the run going.
func TestSayInEveryPhase(t *testing.T) {
	look := calls(call("a", "look", `{}`))
	usual := []string{"user q", "calls a", "result a", "user and hurry", "assistant done"}
	answered := []string{"user q", "assistant first", "user and hurry", "assistant done"}
	for phase, want := range map[string][]string{
		"the first request":  {"user q", "calls a", "result a", "user and hurry", "assistant done"},
		"backing off":        {"user q", "calls a", "result a", "user and hurry", "assistant done"},
		"deciding":           usual,
		"asking":             usual,
		"a tool runs":        usual,
		"a tool waits":       usual,
		"the last request":   answered,
		"the answer is look": {"user q", "assistant first", "user and hurry", "assistant done"},
	} {
		t.Run(phase, func(t *testing.T) {
			j := memory.New()
			var e *local.Engine
			var once atomic.Bool
			said := make(chan struct{})
			say := func(now string) {
				if now != phase || !once.CompareAndSwap(false, true) {
					return
				}
				defer close(said)
				// Twice under one id: it is one message.
				for range 2 {
					if err := e.Signal(t.Context(), "r", engine.Signal{ID: "s", Kind: engine.SignalSay, By: "ann", Text: "and hurry"}); err != nil {
						t.Error(err)
					}
				}
			}
			tries := 0
			probe := probe{name: "look", effect: kernel.Read, tries: 2, run: func(context.Context, tool.Call) (tool.Result, error) {
				say("a tool runs")
				if tries++; phase == "a tool waits" && tries == 1 {
					return tool.Result{}, &tool.Error{Message: "busy", Transient: true}
				}
				if phase == "a tool waits" {
					<-said // in time
				}
				return tool.Result{Text: "seen"}, nil
			}}
			at := func(phase string, then step) step {
				return func(ctx context.Context, req *model.Request) (*model.Reply, error) {
					say(phase)
					return then(ctx, req)
				}
			}
			m := &script{steps: []step{at("the first request", look), says("done")}}
			switch phase {
			case "backing off":
				m.steps = []step{fails(overloaded), func(ctx context.Context, req *model.Request) (*model.Reply, error) {
					<-said // in time
					return look(ctx, req)
				}, says("done")}
			case "the last request", "the answer is look":
				m.steps = []step{at("the last request", says("first")), says("done")}
			}
			a := &engine.Agent{Model: m, Tools: tools(t, probe), Policy: deciding(func(policy.Request) (policy.Decision, error) {
				say("deciding")
				if phase == "asking" {
					return policy.Decision{Answer: kernel.Ask}, nil
				}
				return policy.Decision{Answer: kernel.Allow}, nil
			}), Approver: approver(func(context.Context, policy.Approval) (policy.Verdict, error) {
				say("asking")
				return policy.Verdict{Approved: true, By: "op"}, nil
			})}
			if phase == "the answer is look" {
				a.Verifier = verifier(func(verify.Facts) (verify.Verdict, error) {
					say("the answer is look")
					return verify.Verdict{Finding: "no"}, nil
				})
			}
			e = open(t, &listening{Journal: j, on: func(kind kernel.EventKind) {
				if kind == kernel.KindModelFailed {
					go say("backing off")
				}
				if kind == kernel.KindCallReturned && phase == "a tool waits" {
					go say("a tool waits")
				}
			}})
			r, err := e.Run(t.Context(), engine.Start{Run: "r", Agent: a, Question: "q"})
			if err != nil {
				t.Fatal(err)
			}
			wantStop(t, r, kernel.StopAnswered, "")
			sameAsStored(t, j, r)
			if got := told(r.History); !cmp.Equal(got, want) {
				t.Error(cmp.Diff(want, got))
			}
			if last := m.requests()[len(m.requests())-1]; !cmp.Equal(sent(last), want[:len(want)-1]) {
				t.Error("sent", cmp.Diff(want[:len(want)-1], sent(last)))
			}
			if n := count(kinds(t, j, "r"), kernel.KindUserSaid); n != 1 {
				t.Errorf("said %d times", n)
			}
		})
	}
}

// listening is a journal that tells of each event once it is committed.
type listening struct {
	journal.Journal
	on func(kernel.EventKind)
}

func (l *listening) Append(ctx context.Context, e journal.Entry) error {
	var list []kernel.EventKind
	for i := range e.Records {
		list = append(list, e.Records[i].Kind)
	}
	err := l.Journal.Append(ctx, e)
	for _, kind := range list {
		if err == nil {
			l.on(kind)
		}
	}
	return err
}

// What is said while a run waits for people, or while nobody drives it, is there
// when it goes on; what is said to a run that ends is in its session.
func TestSayToARunThatWaits(t *testing.T) {
	j := memory.New()
	var paid atomic.Int64
	m := paying(`{}`)
	a := payer(t, m, &paid, asking{})
	e := open(t, j)
	r := start(t, e, engine.Start{Agent: a, Session: "s"})
	say := func(text string) {
		t.Helper()
		if err := e.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalSay, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	if got := get(t, e, r.Head.Run); got.Head.State != journal.Waiting || got.Head.Approval != r.Head.Approval || paid.Load() != 0 {
		t.Fatalf("after something was said: %+v", got.Head)
	}
	_ = e.Close()
	say("two")
	decide(t, e, r.Head.Run, true)
	worker := open(t, j, knows(a))
	work(t, worker)
	want := []string{"user q", "calls c1", "result c1", "user one", "user two", "assistant done"}
	if got := told(get(t, worker, r.Head.Run).History); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}

	// Said together with a cancel: the run ends, and the words stay.
	e = open(t, j)
	r = start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{}), Session: "s"})
	_ = e.Close()
	say("never mind")
	if err := e.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalCancel}); err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopCancelled, "")
	want = []string{"user q", "calls c1", "result c1", "user never mind"}
	if got := told(r.History); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if code := kernel.CodeOf(e.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalSay, Text: "hello?"})); code != kernel.CodeRunStopped {
		t.Errorf("said after the stop: %s", code)
	}
}

func TestSayRefuses(t *testing.T) {
	e := open(t, memory.New())
	for _, text := range []string{"", " \n", "\xff", strings.Repeat("a", 1<<20+1)} {
		if code := kernel.CodeOf(e.Signal(t.Context(), "r", engine.Signal{Kind: engine.SignalSay, Text: text})); code != kernel.CodeInvalidArgument {
			t.Errorf("said %.10q: %s", text, code)
		}
	}
	if code := kernel.CodeOf(e.Signal(t.Context(), "r", engine.Signal{Kind: engine.SignalSay, Text: "hi"})); code != kernel.CodeNotFound {
		t.Errorf("said to nobody: %s", code)
	}
}

// A text of the full size is said whatever it holds, and however its JSON grows.
func TestSayTheMost(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat("<", 1<<20), strings.Repeat("\x01", 1<<20)} {
		j := memory.New()
		e := open(t, j)
		var paid atomic.Int64
		r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
		if err := e.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalSay, Text: text}); err != nil {
			t.Errorf("%d bytes of %.1q: %v", len(text), text, err)
		}
	}
}

// However often signals are delivered, in whatever order, to whichever engine,
// they count once.
func TestSignalsTwice(t *testing.T) {
	j := memory.New()
	var paid atomic.Int64
	e, other := open(t, j, often), open(t, j)
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`, `{"n":1}`), &paid, asking{}), User: "ann"})
	for _, sig := range []engine.Signal{
		{ID: "1", Kind: engine.SignalSay, Text: "one"},
		{ID: "2", Kind: engine.SignalSay, Text: "two"},
		{ID: "1", Kind: engine.SignalSay, Text: "one"},
		{ID: "3", Kind: engine.SignalApprove, Approval: r.Head.Approval, By: "bob"},
		{ID: "2", Kind: engine.SignalSay, Text: "two"},
		{ID: "3", Kind: engine.SignalApprove, Approval: r.Head.Approval, By: "bob"},
	} {
		for _, at := range []*local.Engine{e, other} {
			if err := at.Signal(t.Context(), r.Head.Run, sig); err != nil {
				t.Fatalf("%+v: %v", sig, err)
			}
		}
	}
	for u, err := range e.Watch(t.Context(), r.Head.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Waiting != nil && u.Waiting.Call == "c2" {
			break
		}
	}
	decide(t, e, r.Head.Run, true)
	r = stopOf(t, e, r.Head.Run)
	list := kinds(t, j, r.Head.Run)
	if got := fmt.Sprint(count(list, kernel.KindUserSaid), count(list, kernel.KindApprovalDecided), paid.Load()); got != "2 2 2" {
		t.Errorf("said, decided, paid: %s; %q", got, list)
	}
}

// What was heard in a step that had to be taken again is heard once.
func TestHeardOnce(t *testing.T) {
	under := memory.New()
	var refused atomic.Bool
	j := &disputed{under, &refused}
	e := open(t, j)
	var paid atomic.Int64
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
	if err := e.Signal(t.Context(), r.Head.Run, engine.Signal{Kind: engine.SignalSay, Text: "and hurry"}); err != nil {
		t.Fatal(err)
	}
	decide(t, e, r.Head.Run, true)
	r = stopOf(t, e, r.Head.Run)
	want := []string{"user q", "calls c1", "result c1", "user and hurry", "assistant done"}
	if got := told(r.History); !refused.Load() || !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// disputed is a journal in which somebody else was faster, once, when signals
// are taken up.
type disputed struct {
	journal.Journal
	refused *atomic.Bool
}

func (d *disputed) Append(ctx context.Context, e journal.Entry) error {
	if len(e.Applied) > 0 && d.refused.CompareAndSwap(false, true) {
		return journal.Untaken(e.Head.Run, e.Applied[0])
	}
	return d.Journal.Append(ctx, e)
}

// Invariant I15: whoever may speak to one run decides nothing of another, and
// resolves nothing of it.
func TestSignalOfAnotherRun(t *testing.T) {
	j := memory.New()
	var w world
	died(t, j, engine.Start{}, func(kill func()) *engine.Agent {
		act := acting(kernel.Once, &w, func(context.Context, func()) error { kill(); return nil })
		m := &script{steps: []step{calls(call("a", "act", `{}`)), says("done")}}
		return &engine.Agent{Model: m, Tools: tools(t, act), Policy: allowAll{}}
	})
	var paid atomic.Int64
	e := open(t, j, later(11*time.Second), knows(&engine.Agent{Model: &script{steps: []step{says("done")}}}))
	work(t, e)
	row := effects(t, j, journal.EffectQuery{State: journal.EffectUnknown})[0]
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
	for _, sig := range []engine.Signal{
		approve(r.Head.Approval, "op"), refuse(r.Head.Approval, "op"),
		{Kind: engine.SignalResolve, Effect: row.ID, As: kernel.FoundNoEffect, Reason: "looked"},
	} {
		run := "r"
		if sig.Effect != "" {
			run = r.Head.Run
		}
		if err := e.Signal(t.Context(), run, sig); kernel.CodeOf(err) != kernel.CodeNotFound {
			t.Errorf("%s: %v", sig.Kind, err)
		}
	}
	if a := approval(t, j, r.Head.Approval); a.State != journal.ApprovalOpen || len(a.Votes) != 0 || paid.Load() != 0 {
		t.Errorf("approval %+v", a)
	}
	if now := effects(t, j, journal.EffectQuery{State: journal.EffectUnknown}); len(now) != 1 || len(now[0].Resolutions) != 0 {
		t.Errorf("effects %+v", now)
	}
}
