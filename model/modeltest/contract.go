package modeltest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// Maker makes a model that gives these replies, one after another along one
// conversation. What it opens it closes with t.Cleanup.
type Maker func(t *testing.T, replies ...stub.Reply) model.Model

// Contract checks what model.Model promises whatever the wire is: a
// conversation of a turn with calls and an answer, deltas, usage, stop
// reasons, and the end of the context.
func Contract(t *testing.T, maker Maker) {
	t.Run("a conversation", func(t *testing.T) { contractConversation(t, maker) })
	t.Run("deltas are the text and nothing private", func(t *testing.T) { contractDeltas(t, maker) })
	t.Run("a request is not changed", func(t *testing.T) { contractRequest(t, maker) })
	t.Run("an ended context", func(t *testing.T) { contractEnded(t, maker) })
	t.Run("info never changes", func(t *testing.T) {
		m := maker(t, stub.Reply{Text: "hi"})
		before := m.Info()
		if before.Provider == "" || before.Name == "" || before.Profile == "" || before.MaxTokens < 1 {
			t.Errorf("info %+v", before)
		}
		if _, _, err := call(t, m, user("hello")); err != nil {
			t.Error(err)
		}
		if m.Info() != before {
			t.Errorf("info %+v, then %+v", before, m.Info())
		}
	})
}

func contractConversation(t *testing.T, maker Maker) {
	usage := &kernel.Usage{Input: 30, Output: 7}
	replies := []stub.Reply{
		{Text: "Two at once.", Calls: []stub.Call{
			{ID: "call_1", Name: "read", Args: `{"path":"a"}`},
			{ID: "call_2", Name: "search", Args: `{"q":"b"}`},
		}, Usage: usage},
		{Text: "Done: 中 😀", Usage: usage},
	}
	m := maker(t, replies...)
	history := []*kernel.Message{userMessage("do it")}
	for i, want := range replies {
		got, _, err := call(t, m, request(history...))
		if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		if diff := cmp.Diff(expected(want), got, replyOptions()); diff != "" {
			t.Errorf("turn %d:\n%s", i+1, diff)
		}
		if got.Size <= 0 {
			t.Errorf("turn %d: size %d", i+1, got.Size)
		}
		history = append(history, &got.Message)
		for _, c := range want.Calls {
			history = append(history, resultMessage(c.ID, "result of "+c.Name, false))
		}
	}
}

func contractDeltas(t *testing.T, maker Maker) {
	m := maker(t, stub.Reply{Text: "one two  three\nfour ", Thinking: []stub.Thinking{{Text: "SECRET plan"}}})
	got, deltas, err := call(t, m, user("count"))
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(&got.Message); text != "one two  three\nfour " || deltas != text {
		t.Errorf("text %q, deltas %q", text, deltas)
	}
	m = maker(t, stub.Reply{Text: "unwatched"})
	if _, err := m.Call(t.Context(), user("hi"), nil); err != nil {
		t.Errorf("nobody watched: %v", err)
	}
}

func contractRequest(t *testing.T, maker Maker) {
	m := maker(t, stub.Reply{Text: "hi"})
	build := func() *model.Request {
		req := user("hello")
		req.System = "be brief"
		req.Tools = []model.Tool{{Name: "f", Description: "d", Schema: []byte(`{"type":"object"}`)}}
		return req
	}
	req := build()
	if _, _, err := call(t, m, req); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(build(), req); diff != "" {
		t.Error(diff)
	}
}

func contractEnded(t *testing.T, maker Maker) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := maker(t, stub.Reply{Text: "hi"}).Call(ctx, user("hello"), nil)
	if e := failureOf(t, r, err); e.Kind != kernel.FailAborted {
		t.Errorf("kind %s, want %s", e.Kind, kernel.FailAborted)
	}
}

func textOf(m *kernel.Message) string {
	var text string
	for _, b := range m.Blocks {
		if b.Kind == kernel.BlockText {
			text += b.Text
		}
	}
	return text
}
