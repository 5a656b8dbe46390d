package prompt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

func reply(text string, calls ...kernel.Call) *kernel.Message {
	m := &kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}
	for range calls {
		m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockCall})
	}
	return m
}

func commit(t *testing.T, h *prompt.History, c kernel.Commit, content prompt.Content) {
	t.Helper()
	if _, err := h.Commit(c, content); err != nil {
		t.Fatal(err)
	}
}

func lines(h *prompt.History) (out []string) {
	for _, m := range h.Messages() {
		s := string(m.Role)
		for _, b := range m.Blocks {
			s += "|" + b.Text + b.CallID
			if b.Call != nil {
				s += b.Call.ID + b.Call.Arguments
			}
		}
		out = append(out, s)
	}
	return out
}

// Row 1: user, assistant with its calls, results under the same ids, answer.
func TestHistory(t *testing.T) {
	var h prompt.History
	calls := []kernel.Call{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: "{}"}}
	commit(t, &h, kernel.Commit{What: kernel.CommitQuestion}, prompt.Content{Question: "why"})
	commit(t, &h, kernel.Commit{What: kernel.CommitReply, Calls: calls}, prompt.Content{Message: reply("look", calls...)})
	commit(t, &h, kernel.Commit{What: kernel.CommitResult, Call: "a"}, prompt.Content{Result: "42"})
	commit(t, &h, kernel.Commit{What: kernel.CommitResult, Call: "b", Text: "Not run."}, prompt.Content{})
	commit(t, &h, kernel.Commit{What: kernel.CommitReply}, prompt.Content{Message: reply("done")})
	commit(t, &h, kernel.Commit{What: kernel.CommitFinding, Text: "not yet"}, prompt.Content{})
	commit(t, &h, kernel.Commit{What: kernel.CommitSaid}, prompt.Content{Said: "and hurry"})
	want := []string{"user|why", "assistant|look|a{}|b{}", "tool|42a", "tool|Not run.b", "assistant|done", "user|not yet", "user|and hurry"}
	if got := lines(&h); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestHistoryRefuses(t *testing.T) {
	var h prompt.History
	for name, c := range map[string]struct {
		commit  kernel.Commit
		content prompt.Content
	}{
		"an unknown commit":         {kernel.Commit{What: "wish"}, prompt.Content{}},
		"a reply without a message": {kernel.Commit{What: kernel.CommitReply}, prompt.Content{}},
		"calls nobody admitted":     {kernel.Commit{What: kernel.CommitReply}, prompt.Content{Message: reply("", kernel.Call{})}},
	} {
		if _, err := h.Commit(c.commit, c.content); kernel.CodeOf(err) != kernel.CodeInvalidEvent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(h.Messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

// What is handed out is not written to by later commits.
func TestMessagesDoNotChange(t *testing.T) {
	h := prompt.NewHistory(make([]kernel.Message, 1, 8))
	before := h.Messages()
	commit(t, h, kernel.Commit{What: kernel.CommitQuestion}, prompt.Content{Question: "one"})
	_ = append(before, kernel.Message{Role: "intruder"})
	if got := h.Messages()[1].Role; got != kernel.RoleUser {
		t.Errorf("a caller's append reached the history: %s", got)
	}
}

// A history that a crash left open is acceptable again after Close.
func TestClose(t *testing.T) {
	calls := []kernel.Call{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: "{}"}}
	var h prompt.History
	commit(t, &h, kernel.Commit{What: kernel.CommitReply, Calls: calls}, prompt.Content{Message: reply("", calls...)})
	commit(t, &h, kernel.Commit{What: kernel.CommitResult, Call: "a"}, prompt.Content{Result: "42"})
	if n := h.Close(); n != 1 {
		t.Errorf("closed %d calls", n)
	}
	last := h.Messages()[2].Blocks[0]
	if last.CallID != "b" || !last.IsError || !strings.Contains(last.Text, "may have taken effect") {
		t.Errorf("closed with %+v", last)
	}
	if n := h.Close(); n != 0 || len(h.Messages()) != 3 {
		t.Errorf("closed %d calls again", n)
	}
	// An id that an earlier run of the session used is another call.
	commit(t, &h, kernel.Commit{What: kernel.CommitReply, Calls: calls[:1]}, prompt.Content{Message: reply("", calls[:1]...)})
	if n := h.Close(); n != 1 || len(h.Messages()) != 5 || h.Messages()[4].Blocks[0].CallID != "a" {
		t.Errorf("closed %d calls of the next reply", n)
	}
}

// Row 76: the instructions name the tools that are there, and none otherwise.
func TestSystem(t *testing.T) {
	if got := prompt.System("Be brief.", nil); got != "Be brief." {
		t.Errorf("without tools: %q", got)
	}
	got := prompt.System("Be brief.", []string{"multiply", "note"})
	if !strings.HasPrefix(got, "Be brief.\n\n") || !strings.Contains(got, "multiply, note.") {
		t.Errorf("with tools: %q", got)
	}
	if got := prompt.System("", []string{"multiply"}); strings.HasPrefix(got, "\n") {
		t.Errorf("without instructions: %q", got)
	}
}

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "a": 1, "abcd": 1, "abcde": 2, "汉": 2, "汉字汉字": 6, "ab汉": 3} {
		if got := prompt.EstimateTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// A run's ids are made unique in its session, the same ones each time, and the
// run's own messages stay as they are.
func TestQualify(t *testing.T) {
	var h prompt.History
	calls := []kernel.Call{{ID: "call_1", Name: "f", Arguments: "{}"}}
	commit(t, &h, kernel.Commit{What: kernel.CommitReply, Calls: calls}, prompt.Content{Message: reply("", calls...)})
	commit(t, &h, kernel.Commit{What: kernel.CommitResult, Call: "call_1"}, prompt.Content{Result: "42"})
	one, again, two := prompt.Qualify(h.Messages(), "run_1"), prompt.Qualify(h.Messages(), "run_1"), prompt.Qualify(h.Messages(), "run_2")
	id := one[0].Blocks[1].Call.ID
	if id == "call_1" || one[1].Blocks[0].CallID != id || again[0].Blocks[1].Call.ID != id || two[0].Blocks[1].Call.ID == id {
		t.Errorf("ids %q, %q, %q", id, again[0].Blocks[1].Call.ID, two[0].Blocks[1].Call.ID)
	}
	if got := h.Messages()[0].Blocks[1].Call.ID; got != "call_1" {
		t.Errorf("the run's own message now has id %q", got)
	}
}
