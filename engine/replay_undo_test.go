package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// An event that the kernel refuses, a content that does not fit and a panic leave
// a run as it was: it then goes on to the same end.
func TestApplyUndoes(t *testing.T) {
	f := &fake{steps: steps{asksTwice, answers("done")}}
	a := agent(t, f, 10)
	a.Policy = firstOnly{}
	d := begin(t, a, "r", "q", nil)
	if o := d.run(); o == nil || o.Stop != kernel.StopAnswered {
		t.Fatalf("stopped: %+v", o)
	}
	again, unfit, panicked := engine.NewReplay("r", nil), 0, 0
	for i, e := range d.events {
		content, err := engine.DecodeContent(e.Kind(), d.records[i].Content)
		if err != nil {
			t.Fatal(err)
		}
		was, history := placeOf(t, again), again.History
		late := kernel.TimerFired{At: again.State.Now.Add(time.Second), Cmd: 9999}
		if _, err := again.Apply(late, engine.Content{}); err == nil {
			t.Fatalf("before event %d: a timer that nobody set went off", i)
		}
		if again.History != history {
			t.Errorf("before event %d: a refusal made another history", i)
		}
		switch err := withoutCalls(again, func() error { _, err := again.Apply(e, content); return err }); {
		case errors.Is(err, errPanicked):
			panicked++
		case err != nil:
			t.Fatalf("event %d: %v", i, err)
		default: // it looks for no call
			again = engine.NewReplay("r", nil)
			if err := again.Fold(d.records[:i]); err != nil {
				t.Fatal(err)
			}
		}
		if _, replied := e.(kernel.ModelReplied); replied {
			if _, err := again.Apply(e, engine.Content{}); kernel.CodeOf(err) != kernel.CodeInvalidEvent {
				t.Fatalf("event %d without its message: %v", i, err)
			}
			unfit++
		}
		if diff := cmp.Diff(was, placeOf(t, again)); diff != "" {
			t.Errorf("event %d: the run is at another place: %s", i, diff)
		}
		if _, err := again.Apply(e, content); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	if diff := cmp.Diff(placeOf(t, d.x.Replay), placeOf(t, again)); diff != "" {
		t.Errorf("the end is another one: %s", diff)
	}
	if unfit != 2 || panicked != 1 {
		t.Errorf("%d contents that do not fit, %d panics", unfit, panicked)
	}
}

// asksTwice asks for two calls.
func asksTwice(*model.Request) (*model.Reply, error) {
	r := &model.Reply{Message: kernel.Message{Role: kernel.RoleAssistant}, Stop: kernel.StopCalls}
	for _, id := range []string{"c1", "c2"} {
		c := kernel.Call{ID: id, Name: "look", Arguments: `{"at":"` + id + `"}`}
		r.Message.Blocks = append(r.Message.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &c})
	}
	return r, nil
}

var errPanicked = errors.New("it panicked")

// withoutCalls runs do while the calls of the history are not there, which
// whatever looks for one does not survive.
func withoutCalls(r *engine.Replay, do func() error) (err error) {
	var blocks []*kernel.Block
	var calls []*kernel.Call
	for _, m := range r.History.Messages() {
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Kind == kernel.BlockCall {
				blocks, calls = append(blocks, b), append(calls, b.Call)
				b.Call = nil
			}
		}
	}
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
		for i, b := range blocks {
			b.Call = calls[i]
		}
	}()
	return do()
}

// place is what an event changes of a run.
type place struct {
	State     string
	Seq       int64
	Messages  []kernel.Message
	Results   int
	NoResults int
	Added     int
}

func placeOf(t *testing.T, r *engine.Replay) place {
	t.Helper()
	state, err := kernel.EncodeState(r.State)
	if err != nil {
		t.Fatal(err)
	}
	return place{string(state), r.Seq, slices.Clone(r.History.Messages()), len(r.Results), len(r.NoResults), len(r.Added())}
}
