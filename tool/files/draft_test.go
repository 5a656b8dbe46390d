//go:build linux || darwin

package files_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

// writerVar makes the test binary a process that writes to one file of the
// directory that it names, for ever.
const (
	writerVar = "HOLDFAST_TEST_WRITE_IN"
	writerKey = "run/call" // of its writes
)

func writeForEver(dir string) {
	w, err := files.Open(dir, files.Options{})
	if err != nil {
		os.Exit(1)
	}
	args, err := json.Marshal(map[string]string{"path": "sub/file", "content": strings.Repeat("x", files.MaxContent)})
	for err == nil {
		_, err = w.Write.Run(context.Background(), tool.Call{Key: writerKey, Arguments: args})
	}
	os.Exit(1)
}

// drafts are the names of drafts in a directory.
func drafts(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".holdfast-*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// killedWrite leaves what a process leaves that is killed in the middle of a
// write, and returns the draft's name.
func killedWrite(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil { // a write may end between the look and the kill
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), writerVar+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for len(drafts(t, filepath.Join(dir, "sub"))) == 0 {
			runtime.Gosched()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if left := drafts(t, filepath.Join(dir, "sub")); len(left) == 1 {
			return filepath.Base(left[0])
		}
	}
	t.Fatal("no write was killed in the middle")
	return ""
}

// A write that is killed leaves the old file or the new one, and a draft that
// no tool shows and that goes away in time.
func TestDraftsOfKilledWrites(t *testing.T) {
	b := newBench(t)
	b.put("sub/file", "old")
	draft := "sub/" + killedWrite(t, b.dir)

	if got := b.get("sub/file"); got != "old" && got != strings.Repeat("x", files.MaxContent) {
		t.Errorf("the file holds %d bytes", len(got))
	}
	if o := b.list("sub"); strings.Contains(o.Text, ".holdfast-") || strings.Contains(o.Text, "omitted") || !strings.Contains(o.Text, `"name":"file"`) {
		t.Errorf("list: %s", o.Text)
	}
	b.link(filepath.Base(draft), "sub/link")
	for _, p := range []string{draft, "sub/link", strings.ToUpper(draft), "sub/.holdfast-ABCDEFGHIJKLMNOPQRSTUVWXYZ.tmp"} {
		b.refused("read "+p, b.read(p), kernel.CodeInvalidArgument)
		b.refused("write "+p, b.write(p, "x"), kernel.CodeInvalidArgument)
	}

	// It may be the draft of a write that is under way, until it is old.
	b.put(".holdfast-notes.tmp", "mine")
	at := filepath.Join(b.dir, draft)
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, p := range []string{"sub/file", ".holdfast-notes.tmp"} {
		if err := os.Chtimes(filepath.Join(b.dir, p), old, old); err != nil {
			t.Fatal(err)
		}
	}
	reopen(t, b.dir)
	if _, err := os.Lstat(at); err != nil {
		t.Errorf("a young draft: %v", err)
	}
	if err := os.Chtimes(at, old, old); err != nil {
		t.Fatal(err)
	}
	reopen(t, b.dir)
	if _, err := os.Lstat(at); !os.IsNotExist(err) {
		t.Errorf("an old draft: %v", err)
	}
	if b.get(".holdfast-notes.tmp") != "mine" || b.get("sub/file") == "" {
		t.Error("something else was swept")
	}
}

func reopen(t *testing.T, dir string) {
	t.Helper()
	w, err := files.Open(dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
}
