package kernel

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type rapidChooser struct{ t *rapid.T }

func (r rapidChooser) pick(n int) int { return rapid.IntRange(0, n-1).Draw(r.t, "choice") }

type randChooser struct{ r *rand.Rand }

func (r randChooser) pick(n int) int { return r.r.IntN(n) }

func seeded(seed uint64) chooser { return randChooser{rand.New(rand.NewPCG(seed, 2))} }

// walk is what a random walk left behind.
type walk struct {
	spec     Spec
	events   []Event // accepted
	commands [][]Command
	states   []State // before each event, and after the last
	faults   []string
}

func (w *walk) last() State { return w.states[len(w.states)-1] }

// takeWalk drives a run for at most n events and has it watched.
func takeWalk(c chooser, hostile bool, n int) *walk { return takeCutWalk(c, hostile, n, 0) }

// takeCutWalk is takeWalk with a take-over behind the cut-th event; 0: none.
func takeCutWalk(c chooser, hostile bool, n, cut int) *walk {
	driver := newWalker(c, hostile)
	driver.cut = cut
	audit := newAuditor(driver.spec)
	second := newNaive(driver.spec)
	w := &walk{spec: driver.spec, states: []State{{}}}
	for range n {
		e, more := driver.next()
		if !more {
			break
		}
		before := w.last()
		after, commands, err := Step(before, e)
		audit.step(before, e, after, commands, err)
		if err != nil {
			driver.refused(e)
			continue
		}
		second.step(before, e, after, commands)
		driver.accepted(e, commands)
		w.events = append(w.events, e)
		w.commands = append(w.commands, commands)
		w.states = append(w.states, after)
		if after.Phase == PhaseStopped && !hostile {
			break
		}
	}
	w.faults = slices.Concat(audit.faults, second.faults)
	return w
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// failWith shows the first thing that went wrong, and how it came to it.
func (w *walk) failWith(t failer) {
	t.Helper()
	if len(w.faults) == 0 {
		return
	}
	var b bytes.Buffer
	for i, e := range w.events {
		b.WriteString("\n" + DescribeEvent(e))
		for _, c := range w.commands[i] {
			b.WriteString("\n    " + DescribeCommand(c))
		}
	}
	t.Fatalf("%s\nspec %+v%s", w.faults[0], w.spec, b.String())
}

// The design's invariants I1–I8 and I14, as auditor checks them, for whatever a
// driver may deliver: late, twice, out of order, or nonsense.
func TestInvariantsUnderHostileOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { takeWalk(rapidChooser{t}, true, 120).failWith(t) })
}

// A fair driver reports each command once, in any order. Every run that it
// drives comes to a stop, within a bound that follows from the limits.
func TestFairRunsStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := takeWalk(rapidChooser{t}, false, 2000)
		w.failWith(t)
		if w.last().Phase != PhaseStopped {
			t.Fatalf("not stopped: %s", DescribeState(w.last()))
		}
		if bound := eventBound(w); len(w.events) > bound {
			t.Fatalf("%d events, at most %d are possible", len(w.events), bound)
		}
	})
}

// eventBound is the most events that a fair driver can feed a run: the start,
// the deadline; per request a preparation, a report, a timer and a verdict; per
// call two decisions, the ends of two questions, and per attempt (at most 3 in
// a walk) a start, a result and a timer, then a finding and an observation; a
// last verdict. A summary is a request; one summary too many ends the run. What
// comes from outside counts by itself, and a take-over may send each of the (at
// most 3) calls of its turn round once more, as a yes that lapses does its own.
func eventBound(w *walk) int {
	const perCall = 2 + 2 + 3*3 + 1 + 1
	bound := 3 + 4*(w.spec.Retry.PerRun+1) + w.spec.Limits.Calls*perCall + 1
	for i, e := range w.events {
		switch e.(type) {
		case Resumed:
			bound += 1 + 3*(perCall+1) + 4
		case UserSaid, EffectResolved, Noticed:
			bound++
		}
		for _, c := range w.commands[i] {
			if q, closes := c.(CloseApproval); closes && q.As == CloseLapsed {
				bound += perCall
			}
		}
	}
	return bound
}

// A run is its events: feeding them again gives the same states and the same
// commands, byte for byte, also through the codec.
func TestReplayIsIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := takeWalk(rapidChooser{t}, true, 120)
		var s, decoded State
		for i, e := range w.events {
			var commands []Command
			s, commands = mustStep(t, s, e)
			if !reflect.DeepEqual(commands, w.commands[i]) {
				t.Fatalf("event %d gives other commands when it is replayed", i)
			}
			sameState(t, s, w.states[i+1])

			// The same through what a journal keeps.
			decoded, commands = mustStep(t, throughCodec(t, decoded), eventThroughCodec(t, e))
			if !reflect.DeepEqual(jsonOf(t, commands), jsonOf(t, w.commands[i])) {
				t.Fatalf("event %d gives other commands behind the codec:\n%s\n%s", i, jsonOf(t, commands), jsonOf(t, w.commands[i]))
			}
			sameState(t, decoded, s)
		}
	})
}
