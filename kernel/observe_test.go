package kernel

import (
	"reflect"
	"strings"
	"testing"
)

// I11: what observers say changes nothing but the run's warnings. Each walk is
// taken once more with observers that say nothing: its orders are the same.
func TestObserversChangeNothing(t *testing.T) {
	observed := 0
	for seed := range uint64(1500) {
		w := takeWalk(seeded(seed), seed%2 == 0, 150)
		var s State
		for i, e := range w.events {
			if o, ok := e.(Observed); ok {
				observed++
				o.Warnings = nil
				e = o
			}
			var commands []Command
			s, commands = mustStep(t, s, e)
			if got, want := unwarned(commands), unwarned(w.commands[i]); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s: orders %v, want %v", seed, DescribeEvent(e), got, want)
			}
		}
	}
	if observed < 200 {
		t.Fatalf("only %d observations", observed)
	}
}

// unwarned leaves a run's warnings out of its outcome.
func unwarned(commands []Command) []Command {
	out := make([]Command, len(commands))
	for i, c := range commands {
		if f, ok := c.(Finish); ok {
			f.Outcome.Warnings = nil
			c = f
		}
		out[i] = c
	}
	return out
}

// A run without observers, notices and summaries has nothing of them: its state
// is the same, byte for byte, as before there were any.
func TestUnusedCostsNothing(t *testing.T) {
	p := playLines(t, newPlayer(), []string{"started", "prepared", "replied calls=[c1 read {}]", "decided c1 allow read", "begun c1", "returned c1 ok"})
	for _, name := range []string{"notices", "attached", "observing", "observe", "shrink", "shrunk", "tries", "summar"} {
		if b := string(encoded(t, p.state)); strings.Contains(b, name) {
			t.Errorf("%s is in %s", name, b)
		}
	}
}
