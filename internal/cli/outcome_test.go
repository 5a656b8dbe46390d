package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func stopped(o kernel.Outcome) *engine.Run {
	return &engine.Run{Head: journal.Head{Run: "r", Session: "s", State: journal.Stopped}, Outcome: &o}
}

// Row 21: a host_error claims no count of calls.
func TestReportOfAHostError(t *testing.T) {
	var out bytes.Buffer
	if err := writeJSON(&out, newReport(stopped(kernel.Outcome{Stop: kernel.StopHostError, Detail: "INTERNAL", Turns: 1, Calls: 3, Requests: 2}))); err != nil {
		t.Fatal(err)
	}
	want := `{"run":"r","session":"s","state":"stopped","stop":"host_error","detail":"INTERNAL","verified":"unchecked","text":"","turns":1,"calls":null,"requests":2,` +
		`"usage":{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"replies":0,"replies_with_usage":0},` +
		`"warnings":[],"evidence":[],"last_good":"","first_bad":""}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

// A run that has not stopped is reported as it stands.
func TestReportOfARunUnderWay(t *testing.T) {
	r := newReport(&engine.Run{Head: journal.Head{State: journal.Running}, State: kernel.State{Turn: 2, Calls: 1, Requests: 3}})
	if r.State != "running" || r.Stop != "" || r.Turns != 2 || *r.Calls != 1 || r.Requests != 3 || r.Verified != "unchecked" {
		t.Errorf("got %+v", r)
	}
	var out bytes.Buffer
	newDisplay(&out).summary(&engine.Run{Head: journal.Head{State: journal.Running}})
	if !strings.Contains(out.String(), "state: running") {
		t.Errorf("got %q", out.String())
	}
}

// Row 86: exit 0 is for answered and verified_success alone.
func TestSucceeded(t *testing.T) {
	for _, stop := range []kernel.Stop{
		kernel.StopVerified, kernel.StopFatal, kernel.StopTurnLimit, kernel.StopToolLimit, kernel.StopTokenLimit, kernel.StopCostLimit,
		kernel.StopDeadline, kernel.StopRepeated, kernel.StopAnswered, kernel.StopClarify, kernel.StopTruncated, kernel.StopFiltered,
		kernel.StopRefused, kernel.StopProtocol, kernel.StopModelError, kernel.StopContext, kernel.StopHostError, kernel.StopCancelled,
	} {
		want := stop == kernel.StopAnswered || stop == kernel.StopVerified
		if got := succeeded(&kernel.Outcome{Stop: stop}); got != want {
			t.Errorf("%s: %v", stop, got)
		}
	}
	if succeeded(nil) {
		t.Error("no outcome is no success")
	}
}

// A line of the timeline shows results as one line, and never private blocks.
func TestEventLine(t *testing.T) {
	m := &kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
		{Kind: kernel.BlockThinking, Text: "PRIVATE", Private: &kernel.Private{Data: []byte("PRIVATE")}},
		{Kind: kernel.BlockReason, Text: "PRIVATE", Private: &kernel.Private{Data: []byte("PRIVATE")}},
		{Kind: kernel.BlockText, Text: "two\nlines\x1b[31m"},
	}}
	line := eventLine(kernel.ModelReplied{Turn: 1, Reply: kernel.ReplyFacts{Stop: kernel.StopEnd}}, engine.Content{Message: m})
	if strings.Contains(line, "PRIVATE") || !strings.HasSuffix(line, `: two\nlines\x1b[31m`) {
		t.Errorf("got %q", line)
	}
	line = eventLine(kernel.CallReturned{Call: "c"}, engine.Content{Result: &engine.Result{Text: strings.Repeat("x\n", 5000)}})
	if strings.Contains(line, "\n") || len(line) > 400 {
		t.Errorf("%d bytes: %q", len(line), line)
	}
	var out bytes.Buffer
	newDisplay(&out).conversation([]kernel.Message{*m})
	if strings.Contains(out.String(), "PRIVATE") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("got %q", out.String())
	}
}

func TestQuoteArgument(t *testing.T) {
	for in, want := range map[string]string{"a/b.db": "a/b.db", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quoteArgument(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
