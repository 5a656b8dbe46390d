package engine_test

import (
	"bytes"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// The calls of a reply are kept once, by its event. What a text block brings
// along is no call.
func TestCallsAreKeptOnce(t *testing.T) {
	f := &fake{steps: steps{func(*model.Request) (*model.Reply, error) {
		call, stray := kernel.Call{ID: "c1", Name: "look", Arguments: `{"at":"c1"}`}, kernel.Call{ID: "c2", Name: "look", Arguments: `{"at":"c2"}`}
		return &model.Reply{Stop: kernel.StopCalls, Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
			{Kind: kernel.BlockText, Text: "Wait.", Call: &stray}, {Kind: kernel.BlockCall, Call: &call},
		}}}, nil
	}, answers("done")}}
	d := begin(t, agent(t, f, 1), "r", "q", nil)
	if o := d.run(); o == nil || o.Stop != kernel.StopAnswered || o.Calls != 1 {
		t.Fatalf("stopped: %+v", o)
	}
	for i, e := range d.events {
		if r, is := e.(kernel.ModelReplied); is && len(r.Reply.Calls) > 0 {
			if c := d.records[i].Content; bytes.Contains(c, []byte("look")) || len(r.Reply.Calls) != 1 {
				t.Errorf("%d calls, and beside them %s", len(r.Reply.Calls), c)
			}
		}
	}
}
