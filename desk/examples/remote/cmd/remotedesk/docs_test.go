package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/internal/cli"
)

// checked runs the tests and then looks for goroutines that they left behind.
type checked struct{ m *testing.M }

func (c checked) Run() int {
	code := c.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestMain makes the test binary both programs of the document.
func TestMain(m *testing.M) {
	testscript.Main(checked{m}, map[string]func(){
		"remotedesk": main,
		"holdfast":   func() { os.Exit(cli.Process(os.Args[1:])) },
	})
}

// reader is somebody who types what the document says.
type reader struct {
	*testing.T
	service string            // where it is
	words   map[string]string // what stands for a placeholder by now
}

// Row 106: every command of docs/desk-remote.md does what the document says
// that it does, in the order in which it stands there.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../../docs/desk-remote.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GORACE", "atexit_sleep_ms=10") // else each process of a test with -race takes a second to end
	r := &reader{T: t, words: map[string]string{}}
	typed := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.SplitSeq(strings.TrimSpace(string(block[1])), "\n") {
			command, expected, _ := strings.Cut(line, "  # ")
			r.command(command, expected)
			typed++
		}
	}
	if typed < 30 {
		t.Errorf("the document has only %d commands", typed)
	}
}

func (r *reader) command(line, expected string) {
	r.Helper()
	args := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)
	for i := range args {
		args[i] = strings.Trim(args[i], `"`)
		if word, ok := r.words[args[i]]; ok {
			args[i] = word
		}
	}
	if line == "remotedesk service" {
		r.serve()
		return
	}
	if args[0] == "remotedesk" {
		args = slices.Insert(args, 2, "--service", r.service)
	}
	code, out := r.run(args)
	wanted := 0
	switch {
	case strings.Contains(expected, `"unknown"`):
		wanted = exitUnknown
	case strings.Contains(expected, `"not_sent"`):
		wanted = exitFailure
	}
	if code != wanted || !strings.Contains(out, expected) {
		r.Fatalf("%s\nexits with %d, want %d and %s:\n%s", line, code, wanted, expected, out)
	}
	r.note(line, out)
}

func (r *reader) run(args []string) (code int, out string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), args[0], args[1:]...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// note keeps what the next commands are given: the draft that waits, and the
// effect of which nobody knows.
func (r *reader) note(line, out string) {
	r.Helper()
	switch {
	case line == "holdfast desk drafts":
		var drafts []struct {
			ID     string `json:"draft_id"`
			Hash   string `json:"content_hash"`
			Status string `json:"status"`
		}
		if err := json.Unmarshal([]byte(out), &drafts); err != nil {
			r.Fatal(err)
		}
		for _, d := range drafts {
			if d.Status == "pending" {
				r.words["ID"], r.words["HASH"] = d.ID, d.Hash
			}
		}
	case strings.HasPrefix(line, "holdfast effects ls"):
		rows := strings.Split(strings.TrimSpace(out), "\n")
		r.words["EFFECT"], _, _ = strings.Cut(rows[len(rows)-1], " ")
	}
}

// serve starts the service on a port of the test's own, which is not the
// document's.
func (r *reader) serve() {
	r.Helper()
	cmd := exec.CommandContext(context.Background(), "remotedesk", "service", "--listen", "127.0.0.1:0") // until it is interrupted
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			r.Errorf("the service: %v: %s", err, &errs)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	var at struct{ Listening string }
	if err != nil || json.Unmarshal([]byte(line), &at) != nil || at.Listening == "" {
		r.Fatalf("the service says %q: %v", line, err)
	}
	r.service = at.Listening
}
