package eval

import (
	"slices"
	"testing"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Every stop but an answer has its class, and none of them passes.
func TestStopsHaveClasses(t *testing.T) {
	for stop, want := range map[kernel.Stop]Class{
		kernel.StopFatal: HostError, kernel.StopHostError: HostError, kernel.StopCancelled: HostError,
		kernel.StopTurnLimit: Limit, kernel.StopToolLimit: Limit, kernel.StopTokenLimit: Limit, kernel.StopCostLimit: Limit,
		kernel.StopDeadline: Limit, kernel.StopRepeated: Limit, kernel.StopContext: Limit,
		kernel.StopClarify: NoAnswer, kernel.StopTruncated: NoAnswer, kernel.StopFiltered: NoAnswer, kernel.StopRefused: NoAnswer, kernel.StopProtocol: NoAnswer,
		kernel.StopModelError: ModelError,
		kernel.StopAnswered:   WrongStatus, kernel.StopVerified: WrongStatus, // where the status is another one
	} {
		f := &facts{task: &Task{Expect: Expect{Status: []desk.Status{"x"}}}, run: &holdfast.Run{Outcome: &kernel.Outcome{Stop: stop}}, result: &desk.Result{Status: desk.Answered}}
		f.judgeStop()
		if len(f.failures) != 1 || f.failures[0].Class != want || f.failures[0].Basis != ByRecord {
			t.Errorf("%s: %+v, want %s", stop, f.failures, want)
		}
	}
	f := &facts{run: &holdfast.Run{}}
	if f.judgeStop(); len(f.failures) != 1 || f.failures[0].Class != HostError {
		t.Errorf("without a stop: %+v", f.failures)
	}
}

// A class is noted once in a trial, with what was found first.
func TestEachClassOnce(t *testing.T) {
	f := &facts{}
	f.wrongf(Limit, ByRecord, "first")
	f.wrongf(Limit, ByRecord, "second")
	f.wrongf(NoAnswer, ByRecord, "third")
	if len(f.failures) != 2 || f.failures[0].Detail != "first" {
		t.Errorf("%+v", f.failures)
	}
	if all := Classes(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("a class stands twice in %v", all)
	}
}
