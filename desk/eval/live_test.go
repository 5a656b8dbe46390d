package eval_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/anthropic"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
)

// answering is a server that does with each question what its task's steps say.
// change makes it misbehave; nil: it behaves.
func answering(t *testing.T, s *eval.Suite, change func(task *eval.Task, step int, played stub.Step) stub.Step) *stub.Server {
	t.Helper()
	server, err := stub.Start(stub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Respond(func(r *stub.Request) stub.Step {
		i := slices.IndexFunc(s.Tasks, func(task eval.Task) bool { return task.Question == r.Messages[0].Text })
		step := 0
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				step++
			}
		}
		if i < 0 || step >= len(s.Tasks[i].Steps) {
			return stub.Status(400)
		}
		task := &s.Tasks[i]
		played := stub.Text(task.Steps[step].Text)
		if name := task.Steps[step].Tool; name != "" {
			played = stub.Calls(stub.Call{ID: fmt.Sprintf("call_%d", step), Name: name, Args: cmp.Or(string(task.Steps[step].Args), "{}")})
		}
		if change != nil {
			played = change(task, step, played)
		}
		return played
	})
	return server
}

// wires are models of both wires, at a server.
func wires(t *testing.T, server *stub.Server) map[string]model.Model {
	t.Helper()
	o, err := openai.New(openai.Config{BaseURL: server.OpenAIURL(), Key: "k", Name: "stub", Profile: kernel.Strict, Stream: true, MaxTokens: 1024})
	if err != nil {
		t.Fatal(err)
	}
	a, err := anthropic.New(anthropic.Config{BaseURL: server.AnthropicURL(), Key: "k", Name: "stub", Profile: kernel.Strict, Stream: true, MaxTokens: 1024})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]model.Model{"openai": o, "anthropic": a}
}

func live(t *testing.T, s *eval.Suite, m model.Model) *eval.Report {
	t.Helper()
	r, err := eval.Run(t.Context(), eval.Config{Suite: s, Model: func(*eval.Task) (model.Model, error) { return m, nil }, Open: opener(t, nil), Runtime: runtime(t), Mode: "live"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Rows 3, 4 and 100: a live model that behaves passes tasks of every kind on both
// wires, and its usage is in the report.
func TestLiveModelThatBehaves(t *testing.T) {
	s := only(t, nil, "own-en", "foreign-override", "none-injected", "draft-injected-policy", "submit-zh", "missing-zh")
	for name, m := range wires(t, answering(t, s, nil)) {
		t.Run(name, func(t *testing.T) {
			r := live(t, s, m)
			if r.Overall.Passed != len(s.Tasks) || !r.Gate.Met || r.Setup.Model.Scripted || r.Setup.Model.Provider != name {
				t.Errorf("%+v, %+v", r.Overall, r.Gate)
			}
			if sum := r.Totals; sum.Requests != sum.Reported || sum.Input != 20*int64(sum.Requests) || sum.Longest < sum.Median || sum.Calls == 0 {
				t.Errorf("%+v", sum)
			}
			for _, trial := range r.Trials {
				if !trial.Passed || trial.Input == 0 || trial.Reported != trial.Turns {
					t.Errorf("%s: %+v, %d input tokens", trial.Task, trial.Failures, trial.Input)
				}
			}
		})
	}
}

// A live model that misbehaves is caught on both wires, whatever it does.
func TestLiveModelThatMisbehaves(t *testing.T) {
	last := func(task *eval.Task, step int) bool { return step == len(task.Steps)-1 }
	s := only(t, nil, "own-zh", "submit-injected")
	for name, tt := range map[string]struct {
		change func(task *eval.Task, step int, played stub.Step) stub.Step
		want   eval.Class
	}{
		"claims a submission": {func(task *eval.Task, step int, played stub.Step) stub.Step {
			if last(task, step) {
				return stub.Text("已提交成功。I have submitted it. P1001")
			}
			return played
		}, eval.ClaimedSubmission},
		"calls what is not there": {func(_ *eval.Task, step int, played stub.Step) stub.Step {
			if step == 0 {
				return stub.Calls(stub.Call{ID: "x", Name: "submit_ticket", Args: `{"id":"T1001"}`})
			}
			return played
		}, eval.WrongTool},
		"sends an identity": {func(_ *eval.Task, step int, played stub.Step) stub.Step {
			if step == 0 {
				return stub.Calls(stub.Call{ID: "x", Name: "get_ticket", Args: `{"ticket_id":"T1002","tenant":"acme","user_id":"bob"}`})
			}
			return played
		}, eval.SentIdentity},
		"answers at once": {func(_ *eval.Task, _ int, _ stub.Step) stub.Step { return stub.Text("P1001") }, eval.NotLookedUp},
		"is refused":      {func(_ *eval.Task, _ int, _ stub.Step) stub.Step { return stub.Status(401) }, eval.ModelError},
		"is cut off": {func(_ *eval.Task, _ int, _ stub.Step) stub.Step {
			return stub.Answer(stub.Reply{Text: "half", Stop: kernel.StopLength})
		}, eval.NoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			for wire, m := range wires(t, answering(t, s, tt.change)) {
				r := live(t, s, m)
				for _, trial := range r.Trials {
					if trial.Passed || !has(&trial, tt.want) {
						t.Errorf("%s, %s: %+v", wire, trial.Task, trial.Failures)
					}
				}
				if r.Gate.Met {
					t.Errorf("%s: the gate is met", wire)
				}
			}
		})
	}
}

// Row 13: a compatible server that gives every call the same id is judged by the
// ids that the run gave them, in the audit too.
func TestServerThatRepeatsIDs(t *testing.T) {
	s := only(t, nil, "own-zh", "draft-zh")
	server := answering(t, s, func(_ *eval.Task, _ int, played stub.Step) stub.Step {
		for i := range played.Reply.Calls {
			played.Reply.Calls[i].ID = "call_0"
		}
		return played
	})
	m, err := openai.New(openai.Config{BaseURL: server.OpenAIURL(), Key: "k", Name: "stub", Profile: kernel.Tolerant, Stream: true, MaxTokens: 1024})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range live(t, s, m).Trials {
		if !trial.Passed || trial.Calls[0].ID == trial.Calls[1].ID || trial.Calls[0].Tool != "get_ticket" || trial.Calls[1].Arguments == "" {
			t.Errorf("%+v, %+v", trial.Failures, trial.Calls)
		}
	}
}
