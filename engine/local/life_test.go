package local_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// What is wrong with a start is said before anything is journaled.
func TestStartRefuses(t *testing.T) {
	var n counter
	good := func() engine.Start {
		return engine.Start{Question: "q", Agent: &engine.Agent{Model: &script{}, Tools: tools(t, n.tool("look"), n.tool("peek"))}}
	}
	cases := map[string]struct {
		change func(*engine.Start)
		code   kernel.Code
	}{
		"no agent":        {func(s *engine.Start) { s.Agent = nil }, kernel.CodeConfiguration},
		"no model":        {func(s *engine.Start) { s.Agent.Model = nil }, kernel.CodeConfiguration},
		"no question":     {func(s *engine.Start) { s.Question = " \n" }, kernel.CodeInvalidArgument},
		"long and broken": {func(s *engine.Start) { s.Question = strings.Repeat("\x80", 300) }, kernel.CodeInvalidArgument},
		"broken question": {func(s *engine.Start) { s.Question = "\xff" }, kernel.CodeInvalidArgument},
		"long question":   {func(s *engine.Start) { s.Question = strings.Repeat("a", 1<<20+1) }, kernel.CodeInvalidArgument},
		"user with NUL":   {func(s *engine.Start) { s.User = "a\x00" }, kernel.CodeInvalidArgument},
		"no turns":        {func(s *engine.Start) { s.Agent.Limits = limits(func(l *kernel.Limits) { l.Turns = 0 }) }, kernel.CodeConfiguration},
		"no deadline":     {func(s *engine.Start) { s.Agent.Limits = limits(func(l *kernel.Limits) { l.Deadline = 0 }) }, kernel.CodeConfiguration},
		"cost, no price":  {func(s *engine.Start) { s.Agent.Limits = limits(func(l *kernel.Limits) { l.Cost = 1 }) }, kernel.CodeConfiguration},
		"lone continue":   {func(s *engine.Start) { s.Agent.Continue = true }, kernel.CodeConfiguration},
		"no such tool":    {func(s *engine.Start) { s.Requires = []string{"fly"} }, kernel.CodeNotFound},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j := memory.New()
			s := good()
			c.change(&s)
			_, err := open(t, j).Run(t.Context(), s)
			if kernel.CodeOf(err) != c.code {
				t.Errorf("error %v, want %s", err, c.code)
			}
			if heads, _ := j.Heads(context.Background(), journal.Query{}); len(heads) != 0 {
				t.Error("a run was journaled")
			}
		})
	}
}

// Row 29, case 30: the tool that covers what is required, with the least
// besides, is offered alone; a tie asks back before any request.
func TestSelectionByCapability(t *testing.T) {
	caps := func(name string, caps ...string) tool.Tool {
		return capable{probe{name: name, run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }}, caps}
	}
	reader, editor, admin := caps("reader", "read"), caps("editor", "read", "write"), caps("admin", "read", "write", "delete")
	m := &script{steps: []step{says("done")}}
	e := open(t, memory.New())
	r, err := e.Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, reader, editor, admin)}, Question: "fix it", Requires: []string{"read", "write"}})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	if got := m.requests()[0].Tools; len(got) != 1 || got[0].Name != "editor" {
		t.Errorf("offered %+v", got)
	}
	m = &script{}
	r, err = e.Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, reader, caps("viewer", "read"))}, Question: "look", Requires: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Outcome; o.Stop != kernel.StopClarify || !strings.Contains(o.Detail, "reader") || !strings.Contains(o.Detail, "viewer") || len(m.requests()) != 0 {
		t.Errorf("outcome %+v after %d requests", o, len(m.requests()))
	}
}

type capable struct {
	probe
	caps []string
}

func (c capable) Spec() tool.Spec {
	s := c.probe.Spec()
	s.Capabilities = c.caps
	return s
}

type keyed struct{ probe }

func (k keyed) Key(c tool.Call) (string, error) {
	if strings.Contains(string(c.Arguments), "0") {
		return "", nil
	}
	return "order-7", nil
}

// Row 70, case 32: one key is one effect, as the ledger has it; another request
// under it is refused, and so is an empty key.
func TestBusinessKey(t *testing.T) {
	ran := 0
	order := keyed{probe{name: "order", effect: kernel.Once, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		ran++
		if c.Key != "order-7" {
			t.Errorf("key %q", c.Key)
		}
		return tool.Result{Text: fmt.Sprintf("receipt %d", ran)}, nil
	}}}
	m := &script{steps: []step{
		calls(call("a", "order", `{"n":1}`)), calls(call("b", "order", `{ "n": 1 }`)),
		calls(call("c", "order", `{"n":2}`)), calls(call("d", "order", `{"n":0}`)), says("done"),
	}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, order), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	want := []string{
		"a: receipt 1", "b: receipt 1",
		"c: Not run: this idempotency key belongs to a different request (effect " + journal.EffectID("", "order", "key order-7") + ").",
		"d: Not run: the tool's idempotency key for this call is empty.",
	}
	if ran != 1 || !cmp.Equal(results(r), want) {
		t.Errorf("ran %d times\n%s", ran, cmp.Diff(want, results(r)))
	}
}

// Cancelling ends a running tool and a model request, and answers every call.
func TestCancel(t *testing.T) {
	started := make(chan struct{})
	blocking := probe{name: "block", effect: kernel.Once, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(started)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	m := &script{steps: []step{calls(call("a", "block", `{}`), call("b", "block", `{}`))}}
	e := open(t, memory.New())
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, blocking), Policy: allowAll{}}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	for range 3 { // delivered often, it is one cancel
		err := e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalCancel, By: "op", Reason: "enough"})
		if err != nil && kernel.CodeOf(err) != kernel.CodeRunStopped { // the first one may have been enough
			t.Fatal(err)
		}
	}
	last := drain(t, e, id)
	if last.Outcome == nil || last.Outcome.Stop != kernel.StopCancelled || last.Outcome.Detail != "enough" {
		t.Fatalf("outcome %+v", last.Outcome)
	}
	r, err := e.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got := results(r)
	if len(got) != 2 || !strings.Contains(got[0], "may have taken effect") || !strings.HasPrefix(got[1], "b: Not run: ") {
		t.Errorf("results %q", got)
	}
	if code := kernel.CodeOf(e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalCancel})); code != kernel.CodeRunStopped {
		t.Errorf("cancel after the stop: %s", code)
	}
	if code := kernel.CodeOf(e.Signal(t.Context(), id, engine.Signal{})); code != kernel.CodeInvalidArgument {
		t.Errorf("a signal of no kind: %s", code)
	}
	if code := kernel.CodeOf(e.Signal(t.Context(), "run_none", engine.Signal{Kind: engine.SignalCancel})); code != kernel.CodeNotFound {
		t.Errorf("cancel of nothing: %s", code)
	}
}

// drain watches a run to its stop and returns the last update.
func drain(t *testing.T, e *local.Engine, id string) (last engine.Update) {
	t.Helper()
	for u, err := range e.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = u
	}
	return last
}

// A request that is under way ends with its caller's context.
func TestContextCancelsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &script{steps: []step{func(ctx context.Context, _ *model.Request) (*model.Reply, error) {
		cancel()
		<-ctx.Done()
		return nil, &model.Error{Kind: kernel.FailAborted}
	}}}
	r, err := open(t, memory.New()).Run(ctx, engine.Start{Agent: &engine.Agent{Model: m}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopCancelled, "interrupted")
}

// Watching sees every record once, in order, whenever it begins, and deltas in
// between.
func TestWatch(t *testing.T) {
	var n counter
	release := make(chan struct{})
	m := &script{steps: []step{calls(call("a", "look", `{}`)), func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		<-release
		return says("hello")(ctx, req)
	}}}
	e := open(t, memory.New())
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	var live []int64
	text := ""
	for u, err := range e.Watch(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, returned := u.Event.(kernel.CallReturned); returned {
			close(release)
		}
		if u.Event == nil {
			text += u.Delta
			continue
		}
		live = append(live, u.Seq)
	}
	if text != "hello" {
		t.Errorf("deltas %q", text)
	}
	var later []int64
	for u, err := range e.Watch(t.Context(), id, live[2]) {
		if err != nil {
			t.Fatal(err)
		}
		later = append(later, u.Seq)
	}
	for i, seq := range live {
		if seq != int64(i+1) {
			t.Fatalf("records %v", live)
		}
	}
	if !cmp.Equal(later, live[3:]) {
		t.Errorf("after %d: %v", live[2], later)
	}
	for _, err := range e.Watch(t.Context(), "run_none", 0) {
		if kernel.CodeOf(err) != kernel.CodeNotFound {
			t.Errorf("watching nothing: %v", err)
		}
	}
}

// A session goes on where its runs left it, for its own tenant and user alone;
// what a stopped run left open is answered.
func TestSession(t *testing.T) {
	var n counter
	j := memory.New()
	e := open(t, j)
	askAs := func(s engine.Start, question string, steps ...step) *script {
		m := &script{steps: steps}
		s.Question, s.Session = question, "s"
		s.Agent = &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Calls = 1 })}
		if _, err := e.Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return m
	}
	ask := func(user, question string, steps ...step) *script {
		return askAs(engine.Start{User: user}, question, steps...)
	}
	ask("ann", "one", says("1"))
	ask("ann", "two", calls(call("a", "look", `{}`), call("b", "look", `{}`))) // over the limit of calls
	third := ask("ann", "three", says("3")).requests()[0].Messages
	var got []string
	for _, m := range third {
		b := m.Blocks[0]
		got = append(got, fmt.Sprintf("%s %s%.1s", m.Role, b.Text, b.CallID)) // the id is qualified
	}
	want := []string{"user one", "assistant 1", "user two", "assistant ", "tool Not run: the run stopped before this call (tool_limit).a", "tool Not run: the run stopped before this call (tool_limit).b", "user three"}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if call, answer := third[3].Blocks[0].Call.ID, third[4].Blocks[0].CallID; call != answer || call == "a" {
		t.Errorf("call %q is answered under %q", call, answer)
	}
	// I15: the same session id under another user or tenant is another session.
	if m := askAs(engine.Start{Tenant: "acme", User: "ann"}, "mine", says("4")); len(m.requests()[0].Messages) != 1 {
		t.Errorf("another tenant sees %d messages", len(m.requests()[0].Messages))
	}
	if other := ask("bob", "mine", says("4")).requests()[0].Messages; len(other) != 1 {
		t.Errorf("another user sees %d messages", len(other))
	}
}

// Many runs share one file, and each reads back as it was.
func TestManyRunsOnOneFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	j, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	e := open(t, j)
	var n counter
	set := tools(t, n.tool("look"))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			m := &script{steps: []step{calls(call("a", "look", `{}`)), calls(call("b", "look", `{"n":2}`)), says("done")}}
			r, err := e.Run(context.Background(), engine.Start{Agent: &engine.Agent{Model: m, Tools: set, Policy: allowAll{}}, Question: fmt.Sprint("question ", i)})
			if err != nil || r.Outcome.Stop != kernel.StopAnswered {
				t.Errorf("run %d: %v %+v", i, err, r)
				return
			}
			stored, err := e.Get(context.Background(), r.Head.Run)
			if err != nil || !cmp.Equal(stored.Outcome, r.Outcome) || stored.Answer != "done" || stored.Head.Question != fmt.Sprint("question ", i) {
				t.Errorf("run %d reads back as %+v, %v", i, stored, err)
			}
		})
	}
	wg.Wait()
	if n.count() != 80 {
		t.Errorf("ran %d times", n.count())
	}
}

// The runs of a session follow one another.
func TestSessionIsBusy(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	m := &script{steps: []step{func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(started)
		<-release
		return says("done")(ctx, req)
	}}}
	e := open(t, memory.New())
	id, err := e.Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	again := engine.Start{Agent: &engine.Agent{Model: &script{steps: []step{says("done")}}}, Question: "q", Session: "s"}
	if _, err := e.Run(t.Context(), again); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("a second run of the session: %v", err)
	}
	close(release)
	drain(t, e, id)
	if r, err := e.Run(t.Context(), again); err != nil || len(r.History) != 2 {
		t.Errorf("after the first: %v", err)
	}
}

// Whoever was told that a run has stopped finds its session free.
func TestSessionIsFreeAtOnce(t *testing.T) {
	e := open(t, memory.New())
	for i := range 100 {
		m := &script{steps: []step{says("done")}}
		if _, err := e.Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m}, Question: "q", Session: "s"}); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
	}
}

// A run whose process was killed while a call ran keeps its session until it was
// brought to its end; then the call is answered in it: nobody knows what came
// of it.
func TestSessionAfterAKill(t *testing.T) {
	j := memory.New()
	paying := &mortal{Journal: j}
	m := &script{steps: []step{calls(call("a", "pay", `{}`)), says("done")}}
	pay := probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
		paying.dead.Store(true)
		return tool.Result{Text: "paid"}, nil
	}}
	first := engine.Start{Run: "one", Agent: &engine.Agent{Model: m, Tools: tools(t, pay), Policy: allowAll{}}, Question: "one", Session: "s"}
	if _, err := open(t, paying).Run(t.Context(), first); kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Fatal(err)
	}
	e := open(t, j)
	m = &script{steps: []step{says("done")}}
	second := engine.Start{Agent: &engine.Agent{Model: m}, Question: "two", Session: "s"}
	if _, err := e.Run(t.Context(), second); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Fatalf("a second run of the session: %v", err)
	}
	if err := e.Signal(t.Context(), "one", engine.Signal{Kind: engine.SignalCancel}); err != nil {
		t.Fatal(err)
	}
	worker := open(t, j, later(time.Minute), func(c *local.Config) {
		c.Agents = func(context.Context, *engine.Stored) (*engine.Agent, error) { return nil, errForeign } // to cancel needs none
	})
	if err := worker.Work(t.Context(), local.Workload{Once: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	sent := m.requests()[0].Messages
	if len(sent) != 4 || sent[2].Role != kernel.RoleTool || !strings.Contains(sent[2].Blocks[0].Text, "may have taken effect") ||
		sent[2].Blocks[0].CallID != sent[1].Blocks[0].Call.ID {
		t.Errorf("the second run sends %d messages: %+v", len(sent), sent)
	}
}

// Private reasoning and calls are journaled once, and come back as they were.
func TestReplyReadsBack(t *testing.T) {
	private := &kernel.Private{Provider: "test", Data: []byte(`{"secret":true}`), Signed: true}
	m := &script{steps: []step{func(context.Context, *model.Request) (*model.Reply, error) {
		return &model.Reply{Stop: kernel.StopCalls, Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
			{Kind: kernel.BlockThinking, Private: private},
			{Kind: kernel.BlockText, Text: "let me look"},
			{Kind: kernel.BlockCall, Call: &kernel.Call{ID: "a", Name: "look", Arguments: `{"n":9007199254740993}`}},
		}}}, nil
	}, says("done")}}
	var n counter
	j := memory.New()
	r, err := open(t, j).Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}}, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := engine.Load(t.Context(), j, r.Head.Run)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(stored.History, r.History) {
		t.Error(cmp.Diff(r.History, stored.History))
	}
	if got := stored.History[1].Blocks; got[0].Private == nil || !bytes.Equal(got[0].Private.Data, private.Data) || got[2].Call.Arguments != `{"n":9007199254740993}` {
		t.Errorf("read back %+v", got)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", private, *private, private), "secret") {
		t.Error("private reasoning prints")
	}
}

// A decision is made on the call as it runs.
func TestPolicySeesIdentity(t *testing.T) {
	var n counter
	m := &script{steps: []step{calls(call("a", "look", `{"n":1}`)), says("done")}}
	p := deciding(func(r policy.Request) (policy.Decision, error) {
		if r.Tenant != "acme" || r.User != "ann" || r.Tool != "look" || string(r.Arguments) != `{"n":1}` || r.Effect != kernel.Read {
			t.Errorf("asked about %+v", r)
		}
		return policy.Decision{Answer: kernel.Deny, Reason: "no"}, nil
	})
	r, err := open(t, memory.New()).Run(t.Context(), engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: p}, Question: "q", Tenant: "acme", User: "ann"})
	if err != nil || n.count() != 0 {
		t.Errorf("%v, ran %d", err, n.count())
	}
	wantStop(t, r, kernel.StopAnswered, "")
}

// Whoever is told that a run of that id is there finds it, however soon they look.
func TestSameIDAtOnce(t *testing.T) {
	e := open(t, memory.New())
	for i := range 100 {
		id := fmt.Sprintf("run-%d", i)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				m := &script{steps: []step{says("done")}}
				_, err := e.Start(t.Context(), engine.Start{Run: id, Agent: &engine.Agent{Model: m}, Question: "q"})
				if code := kernel.CodeOf(err); err != nil && code != kernel.CodeConflict {
					t.Error(err)
				}
				if _, err := e.Get(t.Context(), id); err != nil {
					t.Errorf("after the start: %v", err)
				}
			})
		}
		all.Wait()
	}
}
