package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// cramped is the name of a process that may write no large file: crampedDesk.
const cramped = "cramped"

// A desk beside which SQLite cannot make its index is not called faulty: the hint
// says what is in its way.
func TestNoRoom(t *testing.T) {
	f := open(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], cramped, f.path)
	out, err := cmd.Output()
	if err != nil || string(out) != "all as it should be\n" {
		t.Errorf("%s, %v", out, err)
	}
}

// crampedDesk opens the desk at path, and copies it, where no file may have more than 16 KiB.
func crampedDesk(path string) int {
	const most = 16 << 10
	whole, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	copied := whole.Copy(context.Background(), path+".copy")
	_ = whole.Close() // it was only read
	_ = os.Remove(path + "-shm")
	_, opened := sqlite.Open(context.Background(), path, sqlite.Options{})
	for what, err := range map[string]error{"the copy of the desk": copied, "the desk's file": opened} {
		e, ok := errors.AsType[*kernel.Error](err)
		if !ok || e.Code != kernel.CodeLocalStorage || e.Message != what+" cannot grow: this process may not write a larger file" || !strings.Contains(e.Hint, "ulimit -f") {
			fmt.Println(what, err)
			return 1
		}
	}
	fmt.Println("all as it should be")
	return 0
}
