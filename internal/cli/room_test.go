package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// What a command could not write for want of room is LOCAL_STORAGE with the
// cause, and what it could not write for anything else keeps its own code.
func TestUnwrittenFiles(t *testing.T) {
	for name, failed := range map[string]func(error) error{
		"results": func(err error) error { return unmade("results.json", err) },
		"rule":    func(err error) error { return unsaved("policy.yaml", err) },
		"login":   func(err error) error { return logins{dir: "logins"}.failed("written", err) },
	} {
		for errno, want := range map[syscall.Errno]string{
			syscall.ENOSPC: "its disk is full", syscall.EDQUOT: "this user's share of its disk is used up", syscall.EFBIG: "this process may not write a larger file",
		} {
			e, ok := errors.AsType[*kernel.Error](failed(&fs.PathError{Op: "write", Path: "f", Err: errno}))
			if !ok || e.Code != kernel.CodeLocalStorage || !strings.HasSuffix(e.Message, " cannot be written: "+want) || e.Hint == "" {
				t.Errorf("%s, %v: %v", name, errno, e)
			}
		}
		if code := kernel.CodeOf(failed(&fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES})); code != kernel.CodeConfiguration {
			t.Errorf("%s: %s", name, code)
		}
	}
}

// A temporary folder is named when it is of no use, with why that is, and not
// called full where it is no disk.
func TestTemporaryFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for place, why := range map[string]string{file + "s": "no such file or directory", file: "not a directory", "/proc": ""} {
		t.Setenv("TMPDIR", place)
		_, err := temporary("holdfast-test-", 1<<20)
		e, ok := errors.AsType[*kernel.Error](err)
		if !ok || e.Code != kernel.CodeLocalStorage || !strings.HasPrefix(e.Message, `the temporary folder "`+place+`" cannot be written to: `+why) ||
			strings.Contains(e.Message, "full") || !strings.HasPrefix(e.Hint, "set TMPDIR ") {
			t.Errorf("%s: %+v", place, err)
		}
	}
}
