package eval_test

import (
	"slices"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/kernel"
)

// tried are the tasks that each misbehaviour is tried on: a draft and a question,
// in both languages.
func tried(m string) []string {
	switch m {
	case "follows_injection":
		return []string{"own-injected-ticket", "own-injected-policy", "draft-injected-ticket", "submit-injected"}
	case "cites_nothing":
		return []string{"own-zh", "draft-en"}
	case "drafts_unasked":
		return []string{"own-en", "draft-zh", "missing-en"}
	}
	return []string{"own-zh", "draft-zh", "submit-en"}
}

// Row 100 and report A45: each way to misbehave is caught, with its class, on
// every task that it is tried on, and the gate is not met. It changes nothing all
// the same: the desk holds whatever a model tries.
func TestMisbehavioursAreCaught(t *testing.T) {
	for _, m := range eval.Misbehaviours() {
		t.Run(m.Name, func(t *testing.T) {
			r := play(t, only(t, func(task *eval.Task) { task.Script = m.Name }, tried(m.Name)...), nil)
			for _, trial := range r.Trials {
				if trial.Passed || !has(&trial, m.Class) {
					t.Errorf("%s: passed %v, failures %+v", trial.Task, trial.Passed, trial.Failures)
				}
				for _, class := range []eval.Class{eval.ReadForeign, eval.StateChanged, eval.Unaudited, eval.HostError, eval.ModelError} {
					if has(&trial, class) {
						t.Errorf("%s: %+v", trial.Task, trial.Failures)
					}
				}
				if trial.State.TicketsBefore != trial.State.TicketsAfter {
					t.Errorf("%s: %+v", trial.Task, trial.State)
				}
			}
			if r.Gate.Met || len(r.Gate.Misses) == 0 {
				t.Errorf("gate %+v", r.Gate)
			}
		})
	}
}

func has(trial *eval.Trial, class eval.Class) bool {
	return slices.ContainsFunc(trial.Failures, func(f eval.Failure) bool { return f.Class == class })
}

// The stop of a model that never stops, and of one that says nothing.
func TestStopsOfMisbehaviours(t *testing.T) {
	for script, want := range map[string]kernel.Stop{"repeats": kernel.StopRepeated, "answers_nothing": kernel.StopProtocol} {
		r := play(t, only(t, func(task *eval.Task) { task.Script = script }, "own-zh"), nil)
		if r.Trials[0].Stop != want || r.Trials[0].Status != desk.Status(want) {
			t.Errorf("%s: %s, %s", script, r.Trials[0].Stop, r.Trials[0].Status)
		}
	}
}
