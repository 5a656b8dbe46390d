package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func self(t *testing.T) *exec.Cmd {
	t.Helper()
	return exec.Command(os.Args[0])
}

// What was acknowledged is there after kill -9, without a gap, and the next
// process goes on from it.
func TestKilledWriter(t *testing.T) {
	path := newPath(t)
	acknowledged := map[string]int64{}
	for range 3 {
		c := startChild(t, self(t), "append", path)
		for range 300 {
			note(t, acknowledged, c.line())
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for line := c.line(); line != ""; line = c.line() { // printed before the end
			note(t, acknowledged, line)
		}
		_ = c.cmd.Wait()  // killed
		readAsIs(t, path) // a reader recovers the file too, without writing
		j, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for run, seq := range acknowledged {
			h, err := j.Head(t.Context(), run)
			if err != nil || h.LastSeq < seq {
				t.Errorf("%s: acknowledged up to %d, found %d, %v", run, seq, h.LastSeq, err)
			}
			if h.LastSeq%2 != 0 {
				t.Errorf("%s: half an append was written: %d", run, h.LastSeq)
			}
			wantRecords(t, j, run, h.LastSeq)
		}
		wantWhole(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acknowledged) != 8 {
		t.Errorf("%d runs got on, want 8", len(acknowledged))
	}
}

// note keeps the highest acknowledged number of a run.
func note(t *testing.T, acknowledged map[string]int64, line string) {
	t.Helper()
	var run string
	var seq int64
	if _, err := fmt.Sscanf(line, "%s %d", &run, &seq); err != nil {
		t.Fatalf("the other process printed %q", line)
	}
	acknowledged[run] = max(acknowledged[run], seq)
}

func readAsIs(t *testing.T, path string) {
	t.Helper()
	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if heads, err := r.Heads(t.Context(), journal.Query{}); err != nil || len(heads) == 0 {
		t.Errorf("reading after the crash: %d heads, %v", len(heads), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A process that is killed anywhere in creating the file leaves one that the
// next process can open.
func TestKilledWhileCreating(t *testing.T) {
	for range 10 {
		path := newPath(t)
		c := startChild(t, self(t), "open", path)
		if got := c.line(); got != "opening" {
			t.Fatalf("the other process printed %q", got)
		}
		c.kill()
		j := mustOpen(t, path, Options{})
		mustAppend(t, j, "r", 1, 2)
	}
}

// Report A43 (c): several processes create one file, and it is created once.
func TestManyProcessesCreate(t *testing.T) {
	path := newPath(t)
	var children []*child
	for range 6 {
		children = append(children, startChild(t, self(t), "open", path))
	}
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 2)
	for _, c := range children {
		c.finish(t)
	}
	wantRecords(t, j, "r", 2)
}

// Report A27 (a): an append waits while another process holds the lock, and
// when that takes too long it fails clearly, with nothing written.
func TestLockedByAnotherProcess(t *testing.T) {
	path := newPath(t)
	patient := mustOpen(t, path, Options{BusyTimeout: time.Hour})
	hasty := mustOpen(t, path, Options{BusyTimeout: time.Millisecond})
	mustAppend(t, hasty, "r", 1, 2)

	c := startChild(t, self(t), "lock", path)
	if got := c.line(); got != "locked" {
		t.Fatalf("the other process printed %q", got)
	}
	err := hasty.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: recordsOf(3, 2)})
	wantCode(t, err, kernel.CodeLocalStorage)
	if !strings.Contains(err.Error(), path+" is locked by another program") {
		t.Errorf("the message says nothing of the lock: %v", err)
	}
	wantRecords(t, hasty, "r", 2) // and a lock for writing holds up no reader

	waits := requestOf("w", 1, 2)
	if err := patient.writer.enqueue(waits); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-waits.done:
		t.Errorf("the append did not wait for the lock: %v", err)
	default:
	}
	c.finish(t)
	if err := <-waits.done; err != nil {
		t.Errorf("the append failed after waiting for the lock: %v", err)
	}
	mustAppend(t, hasty, "r", 3, 2)
	wantRecords(t, patient, "r", 4)
	wantRecords(t, patient, "w", 2)
}

// A user who may not write gets a clear answer; root is made to be one.
func TestReadOnlyUser(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "child")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own folder
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		folder, file os.FileMode // file 0: missing
		open, reader kernel.Code
		says         string
	}{
		{"file", 0o777 | os.ModeSticky, 0o444, kernel.CodeLocalStorage, "", "is read-only"},
		{"folder", 0o555, 0o444, kernel.CodeLocalStorage, kernel.CodeLocalStorage, "is read-only"},
		{"secret", 0o777 | os.ModeSticky, 0o200, kernel.CodeLocalStorage, kernel.CodeLocalStorage, "cannot be opened"},
		{"missing", 0o555, 0, kernel.CodeLocalStorage, kernel.CodeNotFound, "may not be used by this user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(dir, c.name)
			path := filepath.Join(folder, "journal.db")
			if c.file != 0 {
				closed(t, path)
				if err := os.Chmod(path, c.file); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(folder, c.folder); err != nil {
				t.Fatal(err)
			}
			got := reportAsNobody(t, binary, path)
			if kernel.CodeOf(orNil(got.Open)) != c.open || kernel.CodeOf(orNil(got.Reader)) != c.reader {
				t.Errorf("Open: %v, OpenReader: %v; want the codes %q and %q", orNil(got.Open), orNil(got.Reader), c.open, c.reader)
			}
			if got.Open != nil && (!strings.Contains(got.Open.Message, c.says) || !strings.Contains(got.Open.Message, path)) {
				t.Errorf("Open says %q, want the file's name and %q", got.Open.Message, c.says)
			}
			if got.Reader == nil && got.Heads != 1 {
				t.Errorf("%d runs were read, want 1", got.Heads)
			}
		})
	}
}

// closed leaves a journal with one run at path.
func closed(t *testing.T, path string) {
	t.Helper()
	j, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, "r", 1, 2)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func reportAsNobody(t *testing.T, binary, path string) openReport {
	t.Helper()
	cmd := exec.Command(binary)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = filepath.Dir(binary)
	c := startChild(t, cmd, "report", path)
	var report openReport
	if line := c.line(); json.Unmarshal([]byte(line), &report) != nil {
		t.Fatalf("the other process printed %q", line)
	}
	c.finish(t)
	return report
}

func orNil(e *kernel.Error) error {
	if e == nil {
		return nil
	}
	return e
}
