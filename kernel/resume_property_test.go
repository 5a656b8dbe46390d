package kernel

import (
	"reflect"
	"testing"
)

// A process may die at any instant, and another one takes the run over: however
// the run is cut, it still comes to one stop, with each call answered once. What
// the auditor checks besides holds through the cut.
func TestTakenOverAnywhere(t *testing.T) {
	for seed := range uint64(100) {
		whole := takeWalk(seeded(seed), false, 2000)
		whole.failWith(t)
		for cut := 1; cut < len(whole.events); cut++ {
			w := takeCutWalk(seeded(seed), false, 2000, cut)
			w.failWith(t)
			if w.last().Phase != PhaseStopped || countFinish(w) != 1 {
				t.Fatalf("seed %d, cut before event %d: %d stops, %s", seed, cut, countFinish(w), DescribeState(w.last()))
			}
		}
	}
}

func countFinish(w *walk) (n int) {
	for _, c := range flatten(w.commands) {
		if _, ok := c.(Finish); ok {
			n++
		}
	}
	return n
}

// Taking over twice in a row is taking over once: the second driver is ordered
// what the first one was, under the same numbers, and nothing new.
func TestTwoTakeOversAreOne(t *testing.T) {
	for seed := range uint64(600) {
		for i, s := range takeWalk(seeded(seed), seed%2 == 0, 120).states {
			if s.Phase == PhaseNew || s.Phase == PhaseStopped {
				continue
			}
			takeOver := Resumed{At: s.Now.Add(1)}
			once, first := mustStep(t, s, takeOver)
			if once.Phase == PhaseStopped {
				continue
			}
			twice, second := mustStep(t, once, takeOver)
			twice.Resumes--
			sameState(t, twice, once)
			checkSecond(t, i, once.LastCmd, first, second)
		}
	}
}

func checkSecond(t *testing.T, state int, last Seq, first, second []Command) {
	t.Helper()
	ordered := map[Seq]Command{}
	for _, c := range first {
		if n, reports := commandKey(c); reports != "" {
			ordered[n] = c
		} else if a, ok := c.(Abort); ok {
			delete(ordered, a.Cmd) // the deadline's timer, when people are waited for
		}
	}
	for _, c := range second {
		n, reports := commandKey(c)
		if reports == "" || n > last || !reflect.DeepEqual(ordered[n], c) {
			t.Fatalf("state %d: the second take-over orders %s, the first %v", state, DescribeCommand(c), ordered[n])
		}
		delete(ordered, n)
	}
	for _, c := range ordered {
		t.Fatalf("state %d: the second take-over does not order %s", state, DescribeCommand(c))
	}
}
