//go:build linux || darwin

package memory_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/prompt/memory"
)

// writer starts a process that writes to the memory of f; 0 writes until it is
// killed.
func (f fixture) writer(who string, count int) (*exec.Cmd, *bufio.Scanner) {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.CommandContext(f.t.Context(), self)
	cmd.Env = append(os.Environ(), writerEnv+"="+filepath.Dir(f.project), "HOLDFAST_TEST_WHO="+who, "HOLDFAST_TEST_COUNT="+strconv.Itoa(count))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// note keeps the last thing that a writer said of each entry.
func note(said map[string]string, line string) {
	what, id, _ := strings.Cut(line, " ")
	said[id] = what
}

// Two processes that write at once lose nothing, and read each other.
func TestTwoProcesses(t *testing.T) {
	f := open(t)
	const each = 12
	said := map[string]string{}
	a, fromA := f.writer("ann", each)
	b, fromB := f.writer("ben", each)
	for _, out := range []*bufio.Scanner{fromA, fromB} {
		for out.Scan() {
			note(said, out.Text())
		}
	}
	for _, cmd := range []*exec.Cmd{a, b} {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 2*each || len(said) != 2*each {
		t.Fatalf("%d entries, and %d were written: %v", len(all), len(said), err)
	}
	for _, e := range all {
		want := map[string]memory.State{"confirmed": memory.Confirmed, "forgot": memory.Forgotten}[said[e.ID]]
		if e.State != want || e.Problem != "" || e.By != e.Owner.User {
			t.Errorf("a writer said %s of %+v", said[e.ID], e)
		}
	}
	if texts, _ := f.attached("", ""); len(texts) != each {
		t.Errorf("%d go with a request", len(texts))
	}
}

// Whoever writes waits for the others, as long as it may, and writes nothing
// before.
func TestOneWriterAtATime(t *testing.T) {
	f := open(t)
	e := f.propose(memory.Proposal{Scope: memory.User, Text: "x"})
	rows, err := os.OpenFile(filepath.Join(f.user, "rows.jsonl"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := syscall.Flock(int(rows.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := f.Confirm(ctx, e, e.Hash, "eve"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if now := f.find(e.ID); now.State != memory.Proposed {
		t.Errorf("got %+v", now)
	}
	done := make(chan error)
	go func() {
		_, err := f.Confirm(t.Context(), e, e.Hash, "eve")
		done <- err
	}()
	if err := syscall.Flock(int(rows.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

// Killed at any point, a writer leaves each entry in its old state or in the new
// one; what it said is so, and the next one goes on.
func TestKilledWriters(t *testing.T) {
	for lines := range 12 {
		f := open(t)
		said := map[string]string{}
		cmd, out := f.writer("ann", 0)
		for range lines {
			if out.Scan() {
				note(said, out.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // what was on its way
			note(said, out.Text())
		}
		_ = cmd.Wait() // it was killed
		known := 0
		all, err := f.again().List(t.Context())
		if err != nil {
			t.Fatalf("after %d lines: %v", lines, err)
		}
		for _, e := range all {
			what, ok := said[e.ID]
			if ok {
				known++
			}
			allowed := map[string][]memory.State{
				"": {memory.Proposed}, "proposed": {memory.Proposed, memory.Confirmed},
				"confirmed": {memory.Confirmed, memory.Forgotten}, "forgot": {memory.Forgotten},
			}[what]
			if !slices.Contains(allowed, e.State) || e.State != memory.Forgotten && (e.Problem != "" || e.Text == "") || e.State == memory.Forgotten && e.Text != "" {
				t.Errorf("after %d lines a writer said %q of %+v", lines, what, e)
			}
			if e.State == memory.Forgotten && e.Problem != "" { // its file was still there: the one thing to do again
				if e, err = f.Forget(t.Context(), e, "eve"); err != nil || e.Problem != "" {
					t.Errorf("got %+v, %v", e, err)
				}
			}
		}
		if known != len(said) {
			t.Errorf("after %d lines %d of %d entries that were spoken of are there", lines, known, len(said))
		}
		e := f.confirm(f.propose(memory.Proposal{Scope: memory.Project, Owner: memory.Owner{User: "ann"}, Text: "ann says 0"}))
		if e.State != memory.Confirmed {
			t.Errorf("the next writer gets %+v", e)
		}
	}
}
