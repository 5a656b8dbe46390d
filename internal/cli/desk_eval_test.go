package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// Row 86: an interrupt ends an evaluation with 130, and what was done so far is in
// the folder.
func TestInterruptedEvaluation(t *testing.T) {
	const tasks = 6 // of which four run at once
	server, err := stub.Start(stub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	var stalled atomic.Int64
	full := make(chan struct{})
	server.Respond(func(r *stub.Request) stub.Step {
		if strings.Contains(r.Messages[0].Text, "first") {
			return stub.Text("Which ticket?")
		}
		if stalled.Add(1) == 4 {
			close(full) // so the first one has made room
		}
		return stub.Step{Reply: &stub.Reply{Text: "late"}, Stall: stub.Never()}
	})
	lines := []string{`{"id":"first","kind":"missing_id","user":"alice","question":"the first one","expect":{"status":["needs_clarification"]}}`}
	for i := range tasks - 1 {
		lines = append(lines, fmt.Sprintf(`{"id":"%d","kind":"missing_id","user":"alice","question":"one more","expect":{}}`, i))
	}
	dir := project(t, map[string]string{"tasks.jsonl": strings.Join(lines, "\n")})
	cmd := process(t, dir, "desk", "eval", "--mode", "live", "--tasks", "tasks.jsonl", "--out", "results")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=k", "OPENAI_MODEL=m", "OPENAI_BASE_URL="+server.OpenAIURL())
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-full:
	case err := <-ended:
		t.Fatalf("it ended by itself: %v, %s", err, said.String())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != exitInterrupt || !strings.Contains(said.String(), `"code":"CANCELLED"`) {
		t.Errorf("%v, %s", err, said.String())
	}
	var r eval.Report
	b, err := os.ReadFile(filepath.Join(dir, "results", "results.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Complete || r.Gate.Met || len(r.Trials) != 1 || r.Trials[0].Task != "first" || !r.Trials[0].Passed {
		t.Errorf("%v, %s", err, b)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "holdfast-eval-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// At a terminal the results are a table.
func TestEvaluationAtATerminal(t *testing.T) {
	dir := project(t, map[string]string{"tasks.jsonl": `{"id":"a","kind":"missing_id","user":"alice","question":"why?","steps":[{"text":"Which ticket?"}],"expect":{"status":["needs_clarification"]}}`})
	cmd := process(t, dir, "desk", "eval", "--tasks", "tasks.jsonl")
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	shown, err := io.ReadAll(screen)
	if err != nil && !errors.Is(err, syscall.EIO) { // which is how a terminal ends
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := string(shown); !strings.Contains(text, "missing_id  1       1       100.0 %") || !strings.Contains(text, "gate: met") || strings.Contains(text, "{") {
		t.Error(text)
	}
}
