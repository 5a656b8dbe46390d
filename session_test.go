package holdfast_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// steps is a tool whose second call waits for its end.
type steps struct{ second chan struct{} }

func (steps) Spec() tool.Spec {
	return tool.Spec{
		Name: "step", Description: "Does a step.", Effect: kernel.Once,
		Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
	}
}

func (s steps) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if string(c.Arguments) == `{"n":2}` {
		close(s.second)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	return tool.Result{Text: "step done"}, nil
}

// Report A11, rows 101, 105: the user cancels while the second of three calls
// runs, and goes on in the same session, in a process of its own: the strict
// endpoint gets every call answered, in order, the interrupted one as what it is
// and not as refused, and then what was said meanwhile and the new words.
func TestContinueAfterAnInterrupt(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t,
			stub.Answer(stub.Reply{Text: "First this.", Calls: []stub.Call{
				{ID: "t1", Name: "step", Args: `{"n":1}`}, {ID: "t2", Name: "step", Args: `{"n":2}`}, {ID: "t3", Name: "step", Args: `{"n":3}`},
			}}),
			stub.Text("going on"), stub.Text("and on"))
		file := filepath.Join(t.TempDir(), "runs.db")
		ask := func(question string, cancel bool) *holdfast.Run {
			t.Helper()
			rt, err := holdfast.Open(t.Context(), holdfast.Options{File: file})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rt.Close() }()
			tools := steps{make(chan struct{})}
			set, err := tool.NewSet(tools)
			if err != nil {
				t.Fatal(err)
			}
			rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "*"}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if cancel {
				go func() {
					<-tools.second
					if err := rt.Signal(ctx, question, holdfast.Signal{Kind: holdfast.SignalSay, Text: "faster"}); err != nil {
						t.Error(err)
					}
					stop()
				}()
			}
			r, err := rt.RunStart(ctx, holdfast.Start{
				Agent: &holdfast.Agent{Model: w.model(t, srv, kernel.Strict), Tools: set, Policy: rules}, Run: question, Question: question, Session: "s",
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		stopped(t, ask("begin", true), kernel.StopCancelled)
		stopped(t, ask("continue", false), kernel.StopAnswered)
		stopped(t, ask("more", false), kernel.StopAnswered)
		requests := accepted(t, srv, 3)
		wantInterrupted(t, w, requests[1].Messages)
		before := requests[1].Messages
		if after := requests[2].Messages; !cmp.Equal(after[:len(before)], before) || after[len(after)-1].Text != "more" {
			t.Errorf("the history of the session changed: %s", cmp.Diff(before, after))
		}
	})
}

// wantInterrupted looks at the history that follows the interrupt, in the form of
// its wire.
func wantInterrupted(t *testing.T, w wire, got []stub.Message) {
	t.Helper()
	var lines []string
	for _, m := range got {
		for _, c := range m.Calls {
			lines = append(lines, m.Role+" calls "+c.Args)
		}
		for _, r := range m.Results {
			state := ""
			if w.anthropic {
				state = fmt.Sprint(" ", r.IsError)
			}
			lines = append(lines, m.Role+" result"+state+": "+r.Text)
		}
		if m.Text != "" {
			lines = append(lines, m.Role+": "+m.Text)
		}
	}
	role, ok, bad := "tool", "", ""
	if w.anthropic {
		role, ok, bad = "user", " false", " true"
	}
	want := []string{
		"user: begin",
		`assistant calls {"n":1}`, `assistant calls {"n":2}`, `assistant calls {"n":3}`, "assistant: First this.",
		role + " result" + ok + `: step done`,
		role + " result" + bad + `: {"status":"error","code":"CANCELLED","message":"interrupted: may have taken effect"}`,
		role + " result" + bad + ": Not run: the run stopped before this call (cancelled).",
		"user: faster", "user: continue",
	}
	if w.anthropic { // where it is one message
		want = append(want[:len(want)-2], "user: fastercontinue")
	}
	if !cmp.Equal(lines, want) {
		t.Error(cmp.Diff(want, lines))
	}
	if last := got[len(got)-1]; w.anthropic && (len(last.Results) != 3 || last.Text != "fastercontinue") {
		t.Errorf("the results and the new words are not one message: %+v", last)
	}
}
