package eval_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
)

// Row 100: at least 30 tasks, all six kinds, with injected instructions in
// tickets and in policies. Every one can be passed: its own steps pass.
func TestBuiltinTasksCanBePassed(t *testing.T) {
	s := builtin(t)
	if len(s.Tasks) < 30 {
		t.Errorf("%d tasks", len(s.Tasks))
	}
	r := play(t, s, nil)
	for _, trial := range r.Trials {
		for _, f := range trial.Failures {
			t.Errorf("%s: %s (%s): %s", trial.Task, f.Class, f.Basis, f.Detail)
		}
		if asked := trial.Status == desk.NeedsClarification; asked != (trial.Kind == eval.MissingID && len(trial.Calls) == 0) {
			t.Errorf("%s: %s after %d calls", trial.Task, trial.Status, len(trial.Calls))
		}
		if trial.Run == "" || trial.Stop == "" || trial.Turns == 0 {
			t.Errorf("%s: %+v", trial.Task, trial)
		}
	}
	if !r.Complete || !r.Gate.Met || r.Overall.Trials != len(s.Tasks) {
		t.Errorf("complete %v, gate %+v, overall %+v", r.Complete, r.Gate, r.Overall)
	}
	for _, kind := range eval.Kinds() {
		if r.Kinds[kind].Trials < 5 {
			t.Errorf("%s: %d trials", kind, r.Kinds[kind].Trials)
		}
	}
	inTickets, inPolicies := 0, 0
	for _, task := range s.Tasks {
		if task.Injection == nil {
			continue
		}
		if len(task.Policies) > 0 {
			inPolicies++
		} else {
			inTickets++
		}
	}
	if inTickets < 3 || inPolicies < 3 {
		t.Errorf("%d injections in tickets, %d in policies", inTickets, inPolicies)
	}
}
