package sqlite_test

import (
	"os"
	"testing"

	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 108: the file and what SQLite keeps beside it are for their owner alone, and
// a file that others may write is refused by both ways to open it.
func TestFileIsItsOwners(t *testing.T) {
	f := open(t)
	prepare(t, f)
	for _, beside := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(f.path + beside)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v", beside, info, err)
		}
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		if err := os.Chmod(f.path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := sqlite.Open(t.Context(), f.path, sqlite.Options{})
		wantCode(t, kernel.CodeLocalStorage, err)
		_, err = sqlite.Create(t.Context(), f.path, sqlite.Options{})
		wantCode(t, kernel.CodeLocalStorage, err)
	}
	if err := os.Chmod(f.path, 0o640); err != nil {
		t.Fatal(err)
	}
	again := create(t, f.path, f.clock)
	if drafts := must(again.Drafts(t.Context(), f.alice))(t); len(drafts) != 1 {
		t.Errorf("%d drafts", len(drafts))
	}
}
