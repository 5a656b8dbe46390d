package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

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

// A run that has not stopped is reported as it stands. Row 67 and invariant
// I14: what was used is there before the stop is, with what is charged and not
// reported (two requests that were cut, and one that is out).
func TestReportOfARunUnderWay(t *testing.T) {
	run := &engine.Run{Head: journal.Head{Run: "r", Session: "s", State: journal.Running}, State: kernel.State{
		Turn: 2, Calls: 1, Requests: 3, Warnings: []string{"careful"},
		Budget: kernel.Budget{
			Usage:   kernel.Usage{Input: 900, Output: 40, CacheRead: 30, CacheWrite: 7},
			Replies: 2, Reported: 1, Held: kernel.Amount{Tokens: 500}, Reserved: kernel.Amount{Tokens: 70},
		},
	}}
	var out bytes.Buffer
	if err := writeJSON(&out, newReport(run)); err != nil {
		t.Fatal(err)
	}
	want := `{"run":"r","session":"s","state":"running","stop":"","detail":"","verified":"unchecked","text":"","turns":2,"calls":1,"requests":3,` +
		`"usage":{"input_tokens":900,"output_tokens":40,"cache_read_tokens":30,"cache_write_tokens":7,"replies":2,"replies_with_usage":1,"held_tokens":570},` +
		`"warnings":["careful"],"evidence":[],"last_good":"","first_bad":""}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	out.Reset()
	newDisplay(&out).summary(run, "")
	want = "\nstate: running, driven by nobody\n" +
		"usage: 900 input tokens, 40 output tokens, reported by 1 of 2 replies, 570 tokens held; turns 2, calls 1, requests 3\n" +
		"warning: careful\n"
	if out.String() != want {
		t.Errorf("got  %qwant %q", out.String(), want)
	}
}

// What a run was told and did not take up counts whatever state it is in, and
// who drives it is said of each that runs.
func TestStandingOf(t *testing.T) {
	now := time.Now()
	lease := func(owner string) journal.Lease { return journal.Lease{Owner: owner, Until: now.Add(time.Minute)} }
	for want, h := range map[string]journal.Head{
		"running, driven by nobody":                        {State: journal.Running},
		"running, driven by nobody, 2 signals to take up":  {State: journal.Running, Pending: 2},
		"running, driven by somebody, 1 signal to take up": {State: journal.Running, Pending: 1, Lease: lease("somebody")},
		"waiting for approval apr_1, 1 signal to take up":  {State: journal.Waiting, Pending: 1, WaitingFor: "approval", Approval: "apr_1"},
		"waiting for the resolution of an unknown effect":  {State: journal.Waiting, WaitingFor: string(kernel.WaitResolution)},
		"running, driven by nobody, 3 signals to take up":  {State: journal.Running, Pending: 3, Lease: journal.Lease{Owner: "gone", Until: now.Add(-time.Minute)}},
		"stopped": {State: journal.Stopped, Pending: 1},
	} {
		if got := standingOf(&h, now); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}

// Tokens that are held show in the text and in the object when there are any,
// and only then.
func TestReportOfHeldTokens(t *testing.T) {
	for _, held := range []int64{0, 123} {
		run := stopped(kernel.Outcome{Stop: kernel.StopAnswered, HeldTokens: held})
		var object, text bytes.Buffer
		if err := writeJSON(&object, newReport(run)); err != nil {
			t.Fatal(err)
		}
		newDisplay(&text).summary(run, "")
		if got := strings.Contains(object.String(), `"held_tokens":123}`); got != (held > 0) || strings.Contains(object.String(), "held") != (held > 0) {
			t.Errorf("%d held: %s", held, object.String())
		}
		if strings.Contains(text.String(), ", 123 tokens held;") != (held > 0) || strings.Contains(text.String(), "held") != (held > 0) {
			t.Errorf("%d held: %s", held, text.String())
		}
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
