package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func mustStep(t failer, s State, e Event) (State, []Command) {
	t.Helper()
	next, commands, err := Step(s, e)
	if err != nil {
		t.Fatalf("%s: %v", DescribeEvent(e), err)
	}
	return next, commands
}

func encoded(t failer, s State) []byte {
	t.Helper()
	b, err := EncodeState(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

func sameState(t failer, got, want State) {
	t.Helper()
	if g, w := encoded(t, got), encoded(t, want); !bytes.Equal(g, w) {
		t.Fatalf("states differ:\n%s\n%s", g, w)
	}
}

func throughCodec(t failer, s State) State {
	t.Helper()
	got, err := DecodeState(encoded(t, s))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got
}

func eventThroughCodec(t failer, e Event) Event {
	t.Helper()
	b, err := EncodeEvent(e)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := DecodeEvent(b)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got
}

func jsonOf(t failer, commands []Command) string {
	t.Helper()
	s := ""
	for _, c := range commands {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%v", err)
		}
		s += fmt.Sprintf("%T%s\n", c, b)
	}
	return s
}

// A state is a value: whatever Step makes of it, it stays as it was. Each state
// of a walk is taken up again, by other events than the first time, while the
// states that were made from it are kept; none of them may change.
func TestStepChangesNoOldState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapidChooser{t}
		w := takeWalk(c, true, 60)
		kept := append([]State(nil), w.states...)
		for i := range w.events {
			branch := newWalker(c, true)
			branch.active, branch.ever, branch.past = true, flatten(w.commands[:i+1]), slices.Clone(w.events[:i+1])
			branch.now = w.states[i].Now
			s := w.states[i]
			for range 3 {
				e := branch.garbage()
				next, commands, err := Step(s, e)
				if err == nil {
					branch.accepted(e, commands)
					s = next
					kept = append(kept, s)
				}
			}
		}
		before := make([][]byte, len(kept))
		for i, s := range kept {
			before[i] = encoded(t, s)
		}
		for i := range w.events { // once more from each state, all being kept
			if _, _, err := Step(w.states[i], w.events[i]); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
		}
		for i, s := range kept {
			if !bytes.Equal(before[i], encoded(t, s)) {
				t.Fatalf("state %d changed", i)
			}
		}
		for i, e := range w.events {
			s, _ := mustStep(t, w.states[i], e)
			sameState(t, s, w.states[i+1])
		}
	})
}

func flatten(commands [][]Command) (all []Command) {
	for _, c := range commands {
		all = append(all, c...)
	}
	return all
}

// What decides something and is no UTF-8 could not be journaled as it is; see
// TestRepairIsWhatTheCodecDoes for the rest.
func TestInvalidText(t *testing.T) {
	p := newPlayer()
	play := func(line string) {
		if _, err := p.line(line); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(e Event) {
		t.Helper()
		if _, _, err := Step(p.state, e); CodeOf(err) != CodeInvalidEvent {
			t.Errorf("%T: %v", e, err)
		}
	}
	play("started profile=tolerant")
	play("prepared")
	for _, c := range []Call{{ID: "\xff", Name: "read", Arguments: "{}"}, {ID: "c1", Name: "\xff"}, {ID: "c1", Name: "read", Arguments: `{"a":"` + "\xff" + `"}`}} {
		refuse(ModelReplied{Cmd: 3, Reply: ReplyFacts{Stop: StopCalls, Blocks: []BlockFact{{Kind: BlockCall}}, Calls: []Call{c}}})
	}
	play("replied calls=[c1 read {}]")
	refuse(CallDecided{Cmd: 4, Call: "c1", Answer: Allow, Effect: Read, Attempts: 1, Keyed: true, Key: "\xff"})
	play("decided c1 allow read")
	play("begun c1")
	refuse(CallReturned{Cmd: 5, Call: "c1", Result: ResultFacts{Status: StatusOK, Disposition: Landed, Digest: "\xff"}})
}

// In the room of earlier commands a step says the same, and leaves what stands
// before its own as it is.
func TestAdvance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := takeWalk(rapidChooser{t}, true, 60)
		kept := []Command{Abort{Cmd: 1}}
		for i, e := range w.events {
			next := w.states[i]
			commands, err := Advance(&next, kept, e)
			if err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			sameState(t, next, w.states[i+1])
			if got, want := jsonOf(t, commands), jsonOf(t, kept)+jsonOf(t, w.commands[i]); got != want {
				t.Fatalf("event %d:\n%s\nwant\n%s", i, got, want)
			}
			kept = commands[:len(kept)]
		}
	})
}

// What a step refuses orders nothing, not even for a moment: nothing is written
// behind the commands before it. A copy of the state stays good, whatever a step
// in place does.
func TestAdvanceRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := takeWalk(rapidChooser{t}, true, 40)
		refused := 0
		for i := range w.states {
			was := encoded(t, w.states[i])
			for _, e := range w.events {
				room := [...]Command{Abort{Cmd: 1}, nil, nil}
				spoilt := w.states[i]
				commands, err := Advance(&spoilt, room[:1], e)
				if err == nil {
					continue
				}
				refused++
				if len(commands) != 1 || room != [...]Command{Abort{Cmd: 1}, nil, nil} {
					t.Fatalf("state %d refuses %T with %v: %v ordered", i, e, err, room)
				}
			}
			if is := encoded(t, w.states[i]); !bytes.Equal(is, was) {
				t.Fatalf("a copy of state %d was changed:\n%s\n%s", i, was, is)
			}
		}
		if refused == 0 {
			t.Fatal("nothing was refused")
		}
	})
}
