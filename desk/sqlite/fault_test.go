package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// What cannot be a desk is told apart, alike by both ways to open it; the hint sends
// nobody to the command that would be refused too, and the file stays as it was.
func TestWhatIsNoDesk(t *testing.T) {
	f := open(t)
	dir := t.TempDir()
	if err := f.Copy(t.Context(), filepath.Join(dir, "whole")); err != nil {
		t.Fatal(err)
	}
	whole := must(os.ReadFile(filepath.Join(dir, "whole")))(t)
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ path, want string }{
		{file("text", strings.Repeat("no desk at all\n", 100)), "is no SQLite database"},
		{file("cut", string(whole[:len(whole)/2])), "is damaged"},
		{dir, "this is none"},
	} {
		before, _ := os.ReadFile(c.path)
		_, opened := sqlite.Open(t.Context(), c.path, sqlite.Options{})
		_, created := sqlite.Create(t.Context(), c.path, sqlite.Options{})
		for _, err := range []error{opened, created} {
			e, ok := errors.AsType[*kernel.Error](err)
			if !ok || e.Code != kernel.CodeLocalStorage || !strings.Contains(e.Message, c.want) || e.Hint == "" || strings.Contains(e.Hint, "init") {
				t.Errorf("%s: %v", c.path, err)
			}
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(after, before) {
			t.Errorf("%s was changed", c.path)
		}
	}
}
