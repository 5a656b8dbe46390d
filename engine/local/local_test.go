package local_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// Case 1: two requests; the second ends with the result under the call's id.
func TestOneToolCall(t *testing.T) {
	var n counter
	m := &script{steps: []step{calls(call("call_1", "look", `{"n":1}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	if r.Answer != "done" || r.Outcome.Turns != 2 || r.Outcome.Calls != 1 || r.Outcome.Verified != kernel.Unchecked {
		t.Errorf("answer %q, outcome %+v", r.Answer, r.Outcome)
	}
	if want := (kernel.Usage{Input: 20, Output: 10}); r.Outcome.Usage != want || r.Outcome.ReportedReplies != 2 {
		t.Errorf("usage %+v of %d replies", r.Outcome.Usage, r.Outcome.ReportedReplies)
	}
	second := m.requests()[1].Messages
	last := second[len(second)-1]
	if last.Role != kernel.RoleTool || last.Blocks[0].CallID != "call_1" || last.Blocks[0].Text != "look 1" {
		t.Errorf("the second request ends with %+v", last.Message)
	}
}

// Cases 4 and 8, Report A41: an unknown tool is answered under its own id, the
// valid call beside it runs, and the results come in call order.
func TestUnknownToolIsAnswered(t *testing.T) {
	var n counter
	m := &script{steps: []step{calls(call("a", "looks", `{}`), call("b", "look", `{}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look")), Policy: allowAll{}})
	wantStop(t, r, kernel.StopAnswered, "")
	got := results(r)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a: Not run: ") || !strings.Contains(got[0], "look") || got[1] != "b: look 1" {
		t.Errorf("results %q", got)
	}
}

// Without a policy nothing runs.
func TestNoPolicyDenies(t *testing.T) {
	var n counter
	m := &script{steps: []step{calls(call("a", "look", `{}`)), says("I could not")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, n.tool("look"))})
	wantStop(t, r, kernel.StopAnswered, "")
	if n.count() != 0 {
		t.Error("a call ran without a policy")
	}
	if want := []string{"a: Not run: denied by policy: this agent has no policy, so nothing is allowed"}; !cmp.Equal(results(r), want) {
		t.Error(cmp.Diff(want, results(r)))
	}
}
