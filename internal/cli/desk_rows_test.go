package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// askOf is a question to the model that the environment names.
func askOf(t *testing.T, dir string, server *stub.Server, wire string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := process(t, dir, append([]string{"desk", "ask", "--mode", "live", "--session", "s", "请为 T1001 准备草稿"}, more...)...)
	if wire == "anthropic" {
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=sk-secret", "ANTHROPIC_MODEL=m", "ANTHROPIC_BASE_URL="+server.AnthropicURL())
	} else {
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret", "OPENAI_MODEL=m", "OPENAI_BASE_URL="+server.OpenAIURL())
	}
	return cmd
}

// answered runs a question and reads its report and its exit code.
func answered(t *testing.T, cmd *exec.Cmd) (r deskReport, code int) {
	t.Helper()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderrOf(err))
	}
	if strings.Contains(string(out)+string(stderrOf(err)), "sk-secret") {
		t.Error("the key is shown")
	}
	return r, code
}

// Rows 83, 85, 91 and 92: a real model on either wire, whose calls are in the trace, and
// which is no script. Row 67: usage is the sum of what was reported, by how many of how
// many replies.
func TestDeskLive(t *testing.T) {
	for _, wire := range []string{"openai", "anthropic"} {
		t.Run(wire, func(t *testing.T) {
			dir, server := liveDesk(t)
			steps := deskAnswers()
			steps[0].Reply.Usage = &kernel.Usage{Input: 100, Output: 10}
			if wire == "openai" { // the other one always reports
				steps[1].Reply.Usage, steps[2].Reply.Usage = nil, nil
			}
			steps[3].Reply.Usage = &kernel.Usage{Input: 300, Output: 30}
			server.Play(steps...)
			r, code := answered(t, askOf(t, dir, server, wire))
			if code != 0 || r.Status != desk.DraftPrepared || r.Mode != "live" || r.Notice != "" || r.Model != "m" {
				t.Errorf("exit code %d, %+v", code, r)
			}
			if u := r.Usage; wire == "openai" && (u == nil || u.Input != 400 || u.Output != 40 || u.RepliesWithUsage != 2 || u.Replies != 4) {
				t.Errorf("usage %+v", u)
			}
			for i, want := range []deskEntry{{Step: 1, Tool: "get_ticket", Code: "OK"}, {Step: 2, Tool: "search_policies", Code: "OK"}, {Step: 3, Tool: "prepare_ticket_draft", Code: "OK"}} {
				if i >= len(r.Trace) || r.Trace[i].Elapsed <= 0 || r.Trace[i].Step != want.Step || r.Trace[i].Tool != want.Tool || r.Trace[i].Code != want.Code {
					t.Errorf("trace %+v", r.Trace)
				}
			}
			tools := slices.Sorted(slices.Values(server.Requests()[0].Tools))
			if !slices.Equal(tools, []string{"get_ticket", "list_my_tickets", "prepare_ticket_draft", "search_policies"}) {
				t.Errorf("the model is offered %v", tools)
			}
			wantOneDraft(t, dir)
		})
	}
}

// Rows 57, 86 and 87: what can become of a question that fails, by its status and
// its exact cause, with exit code 1; nothing is written, and neither a key nor
// the body of an error is shown.
func TestDeskAskFails(t *testing.T) {
	draft := stub.Call{ID: "c1", Name: "prepare_ticket_draft", Args: `{"subject":"a","body":"b"}`}
	read := stub.Call{ID: "c2", Name: "get_ticket", Args: `{"ticket_id":"T1001"}`}
	cut := stub.Answer(stub.Reply{Calls: []stub.Call{draft}, Stop: kernel.StopLength})
	silent := stub.Calls(draft)
	silent.Stall = stub.Never()
	for name, tt := range map[string]struct {
		steps          []stub.Step
		flags          []string
		status, detail string
	}{
		"MODEL_HTTP":         {[]stub.Step{stub.Status(400)}, nil, "model_error", "request_error:400"},
		"MODEL_PROTOCOL":     {[]stub.Step{stub.Calls(draft, draft)}, nil, "protocol_error", ""},
		"RESPONSE_TOO_LARGE": {[]stub.Step{stub.Text(strings.Repeat("x", 1_000_000))}, nil, "model_error", "too_large"},
		"OUTPUT_TRUNCATED":   {[]stub.Step{cut, cut}, nil, "output_truncated", "output_still_truncated"},
		"TOOL_BUDGET":        {[]stub.Step{stub.Calls(draft, read)}, []string{"--max-tool-calls", "1"}, "tool_limit", ""},
		"DEADLINE":           {[]stub.Step{silent}, []string{"--deadline", "0.3"}, "deadline", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, server := liveDesk(t)
			server.Play(tt.steps...)
			r, code := answered(t, askOf(t, dir, server, "openai", tt.flags...))
			if code != exitFailure || string(r.Status) != tt.status || !strings.Contains(r.Detail, tt.detail) || r.Calls != nil && *r.Calls != 0 {
				t.Errorf("exit code %d, status %s, detail %q, calls %v", code, r.Status, r.Detail, r.Calls)
			}
			if drafts := deskOutput[[]deskDraft](t, dir, "drafts"); len(drafts) != 0 {
				t.Errorf("drafts %+v", drafts)
			}
		})
	}
	// A refused key is named, with what to check, in the person's language.
	for lang, want := range map[string]string{"en": "the provider refuses the key: check OPENAI_API_KEY", "zh": "服务方不接受密钥"} {
		dir, server := liveDesk(t)
		server.Play(stub.Status(401))
		r, _ := answered(t, askOf(t, dir, server, "openai", "--lang", lang))
		if !strings.Contains(r.Hint, want) || !strings.Contains(r.Hint, "OPENAI_API_KEY") || r.DraftsOf != "s" {
			t.Errorf("%s: hint %q, session %q", lang, r.Hint, r.DraftsOf)
		}
	}
	// MODEL_NETWORK: nobody is there.
	dir, server := liveDesk(t)
	server.Close()
	if r, code := answered(t, askOf(t, dir, server, "openai", "--deadline", "0.3")); code != exitFailure || r.Status.Done() {
		t.Errorf("exit code %d, status %s", code, r.Status)
	}
}

// Row 55: output tokens from 128 to 16,384, 4,096 where nothing is said.
func TestDeskOutputTokens(t *testing.T) {
	for value, want := range map[string]int64{"": 4096, "128": 128, "16384": 16384, "127": 0, "16385": 0, "abc": 0} {
		dir, server := liveDesk(t)
		server.Play(deskAnswers()...)
		cmd := askOf(t, dir, server, "anthropic")
		if value != "" {
			cmd.Env = append(cmd.Env, "ANTHROPIC_MAX_TOKENS="+value)
		}
		out, err := cmd.Output()
		switch {
		case want == 0 && (err == nil || !bytes.Contains(stderrOf(err), []byte(`"code":"CONFIGURATION"`)) || server.Count() != 0):
			t.Errorf("%q: %v, %s%s", value, err, out, stderrOf(err))
		case want > 0 && (err != nil || server.Requests()[0].MaxTokens != want):
			t.Errorf("%q: %v, %s", value, err, stderrOf(err))
		}
	}
}

// Row 86 and case 48: an interrupt ends a question in order, with exit code 130, its
// report on standard output and CANCELLED on standard error.
func TestDeskInterrupt(t *testing.T) {
	dir, server := liveDesk(t)
	steps := deskAnswers()
	steps[3].Stall = stub.Never()
	server.Play(steps...)
	cmd := askLive(t, dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	r := interrupt(t, cmd, os.Interrupt, func() { <-server.Arrived(3) })
	if r.Stop != "cancelled" || !strings.Contains(errs.String(), `{"error":{"code":"CANCELLED"`) {
		t.Errorf("%+v, %s", r, &errs)
	}
	wantOneDraft(t, dir)
}

// Row 86: an interrupt while a person is asked confirms nothing.
func TestDeskInterruptWhileAsked(t *testing.T) {
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	id := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "s", "q").Drafts[0]
	cmd := process(t, dir, "desk", "approve", id)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	shows, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 0, 4096)
	for b := make([]byte, 256); !bytes.Contains(text, []byte("Type yes:")); {
		n, err := shows.Read(b)
		if text = append(text, b[:n]...); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupt {
		t.Errorf("%v", err)
	}
	wantOneDraft(t, dir)
}

// Row 108: what holds content is for its owner alone, and the two kinds of it are apart:
// the runs, which hold what was asked and answered, can be deleted whenever no
// question is under way, and nothing that was prepared or confirmed goes with them.
func TestDeskRetention(t *testing.T) {
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	id := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "s", "q").Drafts[0]
	for _, name := range []string{"desk.db", "desk.db.runs.db"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	files, err := fs.Glob(os.DirFS(dir), "desk.db.runs.db*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	hash := deskOutput[deskDraft](t, dir, "show-draft", id).Hash
	deskOutput[map[string]any](t, dir, "approve", id, "--hash", hash)
	if r := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "s", "q"); r.Status != desk.AlreadySubmitted {
		t.Errorf("status %s", r.Status)
	}
}

// Last table of the inventory: an output that cannot be written is no fault of the
// storage, and a report that nobody read is no success.
func TestDeskOutputThatIsLost(t *testing.T) {
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	unwritable, err := os.Open(filepath.Join(dir, "desk.db")) // to read it alone
	if err != nil {
		t.Fatal(err)
	}
	defer unwritable.Close()
	for _, out := range []*os.File{write, unwritable} {
		var errs bytes.Buffer
		cmd := process(t, dir, "desk", "ask", "--scenario", "draft", "--session", "s", "q")
		cmd.Stdout, cmd.Stderr = out, &errs
		if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), `"code":"INTERNAL"`) {
			t.Errorf("%v: %s", err, &errs)
		}
		wantOneDraft(t, dir)
	}
}

// Row 48 and case 37: of two processes that confirm at once one makes the ticket,
// and both name it.
func TestTwoProcessesConfirm(t *testing.T) {
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	id := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "s", "q").Drafts[0]
	hash := deskOutput[deskDraft](t, dir, "show-draft", id).Hash
	type confirmed struct {
		Ticket  string `json:"ticket_id"`
		Already bool   `json:"already_submitted"`
	}
	var results [2]confirmed
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			out, err := process(t, dir, "desk", "approve", id, "--hash", hash).Output()
			if e := json.Unmarshal(out, &results[i]); err != nil || e != nil {
				t.Errorf("%v, %v: %s", err, e, stderrOf(err))
			}
		})
	}
	wg.Wait()
	if results[0].Ticket != results[1].Ticket || results[0].Already == results[1].Already {
		t.Errorf("%+v", results)
	}
	if tickets := deskOutput[[]deskTicket](t, dir, "tickets"); len(tickets) != 2 {
		t.Errorf("tickets %+v", tickets)
	}
}
