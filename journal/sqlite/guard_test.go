package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// What others may write, or replace, is refused by both ways to open it.
func TestGuarded(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string // empty: it is opened
	}{
		"as it is made":      {func(*testing.T, string) {}, ""},
		"read by all":        {chmod("", 0o644), ""},
		"written by group":   {chmod("", 0o660), "may be written by more than its owner"},
		"written by others":  {chmod("", 0o602), "may be written by more than its owner"},
		"log":                {chmod("-wal", 0o660), "journal.db-wal may be written by more than its owner"},
		"index of the log":   {chmod("-shm", 0o606), "journal.db-shm may be written by more than its owner"},
		"rollback journal":   {chmod("-journal", 0o666), "journal.db-journal may be written by more than its owner"},
		"folder of everyone": {folder(0o777), "they may replace files in its folder"},
		"folder like /tmp":   {folder(0o777 | os.ModeSticky), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			closed(t, path)
			c.spoil(t, path)
			wantGuarded(t, path, path, c.says)
		})
	}
}

// A link does not lead around the guard.
func TestGuardedLink(t *testing.T) {
	path, link := newPath(t), newPath(t)
	closed(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	wantGuarded(t, link, path, "")
	folder(0o777)(t, path)
	wantGuarded(t, link, path, "they may replace files in its folder")
	folder(0o700)(t, path)
	folder(0o777)(t, link)
	wantGuarded(t, link, path, "they may replace files in its folder")
}

// A new file is not made in a folder of everyone.
func TestGuardedCreate(t *testing.T) {
	path := newPath(t)
	folder(0o777)(t, path)
	_, err := Open(t.Context(), path, Options{})
	wantLocalStorage(t, err, path, "they may replace files in its folder")
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("the refused folder holds %v, %v", entries, err)
	}
}

func wantGuarded(t *testing.T, path, target, says string) {
	t.Helper()
	before := snapshot(t, target)
	r, err := OpenReader(t.Context(), path, Options{})
	if says == "" {
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		j, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	wantLocalStorage(t, err, path, says)
	_, err = Open(t.Context(), path, Options{})
	wantLocalStorage(t, err, path, says)
	if e, ok := errors.AsType[*kernel.Error](err); !ok || !strings.Contains(e.Hint, "chmod go-w ") {
		t.Errorf("%v has no hint at chmod", err)
	}
	if !bytes.Equal(before, snapshot(t, target)) {
		t.Error("the refused file was changed")
	}
}

// chmod sets the mode of a file beside the journal, which it makes if need be.
func chmod(suffix string, mode os.FileMode) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f, err := os.OpenFile(path+suffix, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path+suffix, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// folder sets the mode of the folder.
func folder(mode os.FileMode) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.Chmod(filepath.Dir(path), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplaceable(t *testing.T) {
	for _, c := range []struct {
		mode          os.FileMode
		group, shared bool // with a private group, and with another one
	}{
		{0o700, false, false},
		{0o755, false, false},
		{0o770, false, true},
		{0o775, false, true},
		{0o702, true, true},
		{0o777, true, true},
		{0o777 | os.ModeSticky, false, false},
		{0o770 | os.ModeSticky, false, false},
		{0o777 | os.ModeSetgid, true, true},
	} {
		if got := replaceable(c.mode, true); got != c.group {
			t.Errorf("%v with a private group: %v", c.mode, got)
		}
		if got := replaceable(c.mode, false); got != c.shared {
			t.Errorf("%v with another group: %v", c.mode, got)
		}
	}
}

// A file that holds anything of others is refused, and not a byte of it
// changes.
func TestForeignObjects(t *testing.T) {
	for name, c := range map[string]struct{ statement, says string }{
		"trigger": {
			`CREATE TRIGGER spy AFTER INSERT ON events BEGIN DELETE FROM effects; END`,
			`holds a trigger that is not ours: "spy"`,
		},
		"trigger with a name of SQLite's own": {
			`PRAGMA writable_schema = 1; INSERT INTO sqlite_schema VALUES
				('trigger', 'sqlite_spy', 'events', 0, 'CREATE TRIGGER sqlite_spy AFTER INSERT ON events BEGIN DELETE FROM effects; END')`,
			`holds a trigger that is not ours: "sqlite_spy"`,
		},
		"view":          {`CREATE VIEW peek AS SELECT * FROM runs`, `holds a view that is not ours: "peek"`},
		"table":         {`CREATE TABLE notes (text)`, `holds a table that is not ours: "notes"`},
		"virtual table": {`CREATE VIRTUAL TABLE words USING fts5 (text)`, `that is not ours: "words`},
		"view for a table": {
			`DROP TABLE votes; CREATE VIEW votes AS SELECT 1`,
			`holds a view that is not ours: "votes"`,
		},
		"a missing table": {`DROP TABLE votes`, `does not hold what its version says`},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			closed(t, path)
			rawFile(t, path, c.statement)
			before := snapshot(t, path)
			_, err := Open(t.Context(), path, Options{})
			wantLocalStorage(t, err, path, c.says)
			_, err = OpenReader(t.Context(), path, Options{})
			wantLocalStorage(t, err, path, c.says)
			if !bytes.Equal(before, snapshot(t, path)) {
				t.Error("the refused file was changed")
			}
		})
	}
	t.Run("before a migration", func(t *testing.T) {
		path := newPath(t)
		oldFile(t, path)
		rawFile(t, path, `CREATE TABLE notes (text)`)
		before := snapshot(t, path)
		_, err := Open(t.Context(), path, Options{})
		wantLocalStorage(t, err, path, `holds a table that is not ours: "notes"`)
		if !bytes.Equal(before, snapshot(t, path)) {
			t.Error("the refused file was changed")
		}
	})
}

// A file with two names would have two logs, and show to each who opens it by
// one what was written by that.
func TestGuardedName(t *testing.T) {
	path := newPath(t)
	closed(t, path)
	other := filepath.Join(filepath.Dir(path), "other.db")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, other} {
		_, err := OpenReader(t.Context(), name, Options{})
		wantLocalStorage(t, err, name, "has 2 names")
		_, err = Open(t.Context(), name, Options{})
		wantLocalStorage(t, err, name, "has 2 names")
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	wantGuarded(t, path, path, "")
}

// Whatever writes the file after it was moved, removed or replaced would write
// where nobody looks, and its effects with it.
func TestReplacedFile(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			j := mustOpen(t, path, Options{})
			mustAppend(t, j, "r", 1, 1)
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			err := j.Append(t.Context(), journal.Entry{Head: headOf("s"), Records: recordsOf(1, 1)})
			wantLocalStorage(t, err, path, "it was moved, removed or replaced")
		})
	}
}
