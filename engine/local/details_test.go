package local_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// I11: a watcher that does not read holds up no run, however much there is to see.
func TestSlowWatcher(t *testing.T) {
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		return says("done")(ctx, req)
	}}}
	talking := chatty{m, 10_000}
	e := open(t, memory.New())
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: talking}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range e.Watch(t.Context(), id, 0) { // holds on to the first update
		if err != nil || u.Seq != 1 {
			t.Fatal(u, err)
		}
		if r := stopOf(t, e, id); r.Outcome.Stop != kernel.StopAnswered {
			t.Errorf("outcome %+v", r.Outcome)
		}
		break
	}
}

// stopOf waits for a run's stop by a watcher of its own.
func stopOf(t *testing.T, e engine.Engine, id string) *engine.Run {
	t.Helper()
	for _, err := range e.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// chatty sends many deltas before each reply.
type chatty struct {
	*script
	deltas int
}

func (c chatty) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	for range c.deltas {
		watch(model.Delta{Text: "x"})
	}
	return c.script.Call(ctx, req, nil)
}

// A request says its turn and attempt, is bounded by the agent's timeout, and
// its estimate counts instructions, tools and messages.
func TestRequest(t *testing.T) {
	estimate := func(a *engine.Agent) int64 {
		r := run(t, a)
		return r.State.InputTokens
	}
	var n counter
	m := &script{steps: []step{fails(model.Error{Kind: kernel.FailConnection}), says("done")}}
	bare := estimate(&engine.Agent{Model: m, RequestTimeout: 7 * time.Second, Retry: kernel.Retry{Attempts: 2, PerRun: 2, Wait: time.Second}})
	for i, req := range m.requests() {
		if req.Timeout != 7*time.Second || req.Turn != 1 || req.Attempt != i+1 {
			t.Errorf("request %d: timeout %s, turn %d, attempt %d", i, req.Timeout, req.Turn, req.Attempt)
		}
	}
	long := estimate(&engine.Agent{Model: &script{steps: []step{says("done")}}, Instructions: strings.Repeat("word ", 800)})
	tooled := estimate(&engine.Agent{Model: &script{steps: []step{says("done")}}, Tools: tools(t, n.tool("look"))})
	if bare == 0 || long < bare+1000 || tooled < bare+20 {
		t.Errorf("estimates %d bare, %d with 4,000 bytes of instructions, %d with a tool", bare, long, tooled)
	}
	many := run(t, &engine.Agent{Model: &script{steps: []step{says("done")}}, Limits: limits(func(l *kernel.Limits) { l.Turns = 50 })})
	if many.State.Spec.Retry.PerRun != 100 {
		t.Errorf("%d requests allowed for 50 turns", many.State.Spec.Retry.PerRun)
	}
}

// A verifier sees the code and the time of what ran, and an answer only where
// there is one.
func TestFacts(t *testing.T) {
	broken := probe{name: "broken", effect: kernel.Read, run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, &tool.Error{Message: "no", Code: "NO_LUCK"}
	}}
	var seen verify.Facts
	look := verifier(func(f verify.Facts) (verify.Verdict, error) {
		seen = f
		return verify.Verdict{Finding: "no"}, nil
	})
	m := &script{steps: []step{calls(call("a", "broken", `{"n":1}`))}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, broken), Policy: allowAll{}, Verifier: look, Limits: limits(func(l *kernel.Limits) { l.Turns = 1 })})
	wantStop(t, r, kernel.StopTurnLimit, "")
	if len(seen.Results) != 1 || seen.Results[0].Code != "NO_LUCK" || string(seen.Results[0].Arguments) != `{"n":1}` || seen.Answer != "" || seen.AnswerEvidence != "" {
		t.Errorf("facts %+v", seen)
	}
	if r.Outcome.Finding != "no" || r.Answer != "" {
		t.Errorf("outcome %+v, answer %q", r.Outcome, r.Answer)
	}
}

// I12: a watcher sees what was committed, and no private reasoning.
func TestWatchersSeeNothingPrivate(t *testing.T) {
	m := &script{steps: []step{func(context.Context, *model.Request) (*model.Reply, error) {
		return &model.Reply{Stop: kernel.StopEnd, Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
			{Kind: kernel.BlockThinking, Private: &kernel.Private{Provider: "test", Data: []byte("c2VjcmV0"), Signed: true}},
			{Kind: kernel.BlockText, Text: "done"},
		}}}, nil
	}}}
	e := open(t, memory.New())
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	var committed []string
	for u, err := range e.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range u.Committed {
			committed = append(committed, string(c.Role))
		}
		if b, err := json.Marshal(u); err != nil || strings.Contains(string(b), "rivate") {
			t.Errorf("%s %v", b, err)
		}
	}
	if len(committed) != 2 || committed[1] != "assistant" {
		t.Errorf("committed %q", committed)
	}
}
