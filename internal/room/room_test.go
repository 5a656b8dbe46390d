//go:build linux || darwin

package room_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/internal/room"
)

// A disk is short of more than it has, also for a file whose folders are still to
// be made, and not of what it has; what is no disk is short of nothing.
func TestShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there", "yet.db")
	if what, hint := room.Short(path, 1); what != "" || hint != "" {
		t.Errorf("of one byte: %s", what)
	}
	if what, hint := room.Short(path, 1<<62); what != "its disk is full" || hint == "" {
		t.Errorf("of more than there is: %q, %q", what, hint)
	}
	for _, none := range []string{"/proc", "/proc/self"} { // not there on macOS, which is as good
		if what, _ := room.Short(none, 1); what != "" {
			t.Errorf("%s: %s", none, what)
		}
	}
}

// Only what the system calls a want of room is one.
func TestWhy(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "its disk is full", syscall.EFBIG: "this process may not write a larger file",
		syscall.EDQUOT: "this user's share of its disk is used up", syscall.EIO: "", syscall.EACCES: "", errors.ErrUnsupported: "",
	} {
		what, hint := room.Why(&fs.PathError{Op: "write", Path: "f", Err: err})
		if what != want || (hint == "") != (want == "") {
			t.Errorf("%v: %q, %q", err, what, hint)
		}
	}
}
