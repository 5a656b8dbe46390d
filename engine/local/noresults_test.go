package local_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/verify"
)

// denies says no to calls of one tool, and yes to all others.
func denies(name string) policy.Policy {
	return deciding(func(r policy.Request) (policy.Decision, error) {
		if r.Tool == name {
			return policy.Decision{Answer: kernel.Deny, Reason: "not here"}, nil
		}
		return policy.Decision{Answer: kernel.Allow}, nil
	})
}

// briefly is what a test compares of the calls without a result.
func briefly(list []verify.NoResult) (out []string) {
	for _, r := range list {
		out = append(out, fmt.Sprintf("turn %d: %s %s %s %q %s %t", r.Turn, r.Call, r.Tool, r.Arguments, r.Code, r.Text, r.IsError))
	}
	return out
}

// Row 98: a verifier is told of the calls that were refused too, whoever refused
// them, and may rest on them; replaying finds the same.
func TestVerifierSeesRefusedCalls(t *testing.T) {
	var n counter
	var seen verify.Facts
	m := &script{steps: []step{
		calls(call("a", "looks", `{"n":1}`), call("b", "look", `{"n":1}`), call("c", "look", `{"x":1}`), call("d", "look", `[]`)),
		calls(call("e", "send", `{}`), call("f", "bad name", `{}`)),
		calls(call("g", "look", `[]`)),
		says("done"),
	}}
	r := run(t, &engine.Agent{
		Model: m, Tools: tools(t, n.tool("look"), n.tool("send")), Policy: denies("send"),
		Verifier: verifier(func(f verify.Facts) (verify.Verdict, error) {
			seen = f
			v := verify.Verdict{Finding: "calls were refused", Evidence: []string{f.NoResults[0].Evidence}}
			copy(f.NoResults[0].Arguments, "XX") // its own
			return v, nil
		}),
	})
	wantStop(t, r, kernel.StopAnswered, "")
	if r.Outcome.Finding != "calls were refused" {
		t.Errorf("outcome %+v", r.Outcome)
	}
	want := []string{
		`turn 1: a looks {"n":1} "UNKNOWN_TOOL" Not run: no tool is named looks; available: look, send true`,
		`turn 1: c look {"x":1} "INVALID_ARGUMENT" Not run: unexpected arguments: x true`,
		`turn 1: d look {} "INVALID_ARGUMENT" Not run: the arguments are not one JSON object: not a JSON object at byte 0. true`,
		`turn 2: e send {} "" Not run: denied by policy: not here true`,
		`turn 2: f bad_name {} "UNKNOWN_TOOL" Not run: there is no tool "bad name". true`,
		`turn 3: g look {} "INVALID_ARGUMENT" Not run: the arguments are not one JSON object: not a JSON object at byte 0. true`,
	}
	if diff := cmp.Diff(want, briefly(r.NoResults)); diff != "" {
		t.Error(diff)
	}
	if len(seen.NoResults) != len(want) || len(seen.Results) != 1 || seen.Results[0].Seq <= seen.NoResults[0].Seq || seen.Results[0].Seq > seen.NoResults[1].Seq {
		t.Errorf("facts %+v", seen)
	}
}

// Row 98: whoever takes a run over judges it by what was refused before, too.
func TestVerifierSeesWhatWasRefusedBeforeATakeover(t *testing.T) {
	var n counter
	j := memory.New()
	var seen []string
	question := ""
	agent := func(m model.Model) *engine.Agent {
		return &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour }), Verifier: verifier(func(f verify.Facts) (verify.Verdict, error) {
			seen, question = briefly(f.NoResults), f.Question
			return verify.Verdict{Finding: "no"}, nil
		})}
	}
	died(t, j, engine.Start{}, func(kill func()) *engine.Agent {
		return agent(&script{steps: []step{calls(call("a", "approve", `{}`)), func(context.Context, *model.Request) (*model.Reply, error) {
			kill()
			return nil, errForeign
		}}})
	})
	worker := open(t, j, later(time.Minute), func(c *local.Config) {
		c.Agents = func(context.Context, *engine.Stored) (*engine.Agent, error) {
			return agent(&script{steps: []step{calls(call("b", "look", `{"x":1}`)), says("done")}}), nil
		}
	})
	work(t, worker)
	r := get(t, worker, "r")
	sameAsStored(t, j, r)
	want := []string{
		`turn 1: a approve {} "UNKNOWN_TOOL" Not run: no tool is named approve; available: look true`,
		`turn 2: b look {"x":1} "INVALID_ARGUMENT" Not run: unexpected arguments: x true`,
	}
	if diff := cmp.Diff(want, seen); diff != "" || question != "q" {
		t.Errorf("question %q, %s", question, diff)
	}
}
