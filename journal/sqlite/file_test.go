package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "journal.db")
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 1)
	for name, want := range map[string]os.FileMode{
		filepath.Join(dir, "a"):      os.ModeDir | 0o700,
		filepath.Join(dir, "a", "b"): os.ModeDir | 0o700,
		path:                         0o600,
		path + "-wal":                0o600,
		path + "-shm":                0o600,
	} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// A new file is in folders whose names are durable, all the way: also when a
// process was killed between making them and syncing them.
func TestCreateSyncsFolders(t *testing.T) {
	top := t.TempDir()
	f, err := locate(filepath.Join(top, "a", "b", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	var synced []string
	note := func(dir string) error {
		if _, err := os.Stat(f.path); err != nil {
			t.Errorf("%s is synced before the file is there", dir)
		}
		synced = append(synced, dir)
		return syncFolder(dir)
	}
	want := []string{filepath.Join(top, "a", "b"), filepath.Join(top, "a"), top}
	for _, state := range []string{"missing", "left empty by a process that was killed"} {
		synced = nil
		if err := f.create(note); err != nil {
			t.Fatal(err)
		}
		if len(synced) < 3 || !slices.Equal(synced[:3], want) || synced[len(synced)-1] != "/" {
			t.Errorf("%s: synced %q, want %q and on to the root", state, synced, want)
		}
	}
	closed(t, f.path)
	synced = nil
	if err := f.create(note); err != nil || synced != nil {
		t.Errorf("a journal that is there: synced %q, %v", synced, err)
	}
	// A folder that cannot be synced holds no durable journal.
	f, err = locate(filepath.Join(top, "c", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	wantLocalStorage(t, f.create(func(string) error { return syscall.EIO }), f.path, "cannot be")
	if err := syncFolder(filepath.Join(top, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// A name is a name, whatever it means in a URI, and it stays good after a
// change of the current folder.
func TestNames(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=memory&x=1", "50%25.db", "#1.db", "运行.db", "file:x.db", "-"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			j := mustOpen(t, name, Options{})
			t.Chdir("/")
			mustAppend(t, j, "r", 1, 1)
			wantRecords(t, j, "r", 1)
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range []string{"", ":memory:", "a\x00b"} {
		_, err := Open(t.Context(), name, Options{})
		wantCode(t, err, kernel.CodeConfiguration)
		_, err = OpenReader(t.Context(), name, Options{})
		wantCode(t, err, kernel.CodeConfiguration)
	}
}

// A file is in one piece after Close: the log is folded in.
func TestCloseLeavesOneFile(t *testing.T) {
	path := newPath(t)
	closed(t, path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("after Close there are %v, %v; want one file", entries, err)
	}
}

// Report A43 (a): a newer schema is refused, and not a byte of it changes, with
// a log beside it or without.
func TestNewerSchema(t *testing.T) {
	source := newPath(t)
	closed(t, source)
	raw := mustRaw(t, source)
	raw.SetMaxOpenConns(1)
	mustExec(t, raw, "PRAGMA wal_autocheckpoint = 0")
	mustExec(t, raw, "PRAGMA user_version = 99")
	logged := newPath(t) // as a crash of the newer version leaves it
	copyFile(t, source, logged)
	copyFile(t, source+"-wal", logged+"-wal")
	if err := raw.Close(); err != nil { // folds the log in
		t.Fatal(err)
	}
	for name, path := range map[string]string{"in one file": source, "with a log": logged} {
		t.Run(name, func(t *testing.T) {
			before := snapshot(t, path)
			_, err := Open(t.Context(), path, Options{})
			wantCode(t, err, kernel.CodeVersion)
			_, err = OpenReader(t.Context(), path, Options{})
			wantCode(t, err, kernel.CodeVersion)
			if !bytes.Equal(before, snapshot(t, path)) {
				t.Error("the refused file was changed")
			}
		})
	}
}

// A file that is not ours is refused and left as it is.
func TestForeignFile(t *testing.T) {
	foreign := map[string]struct {
		says  string
		write func(t *testing.T, path string)
	}{
		"tables": {"is the database of another application", func(t *testing.T, path string) {
			rawFile(t, path, "CREATE TABLE bookmarks (url TEXT)")
		}},
		"mark": {"is the database of another application", func(t *testing.T, path string) {
			rawFile(t, path, "PRAGMA application_id = 77")
		}},
		"text": {"is not a SQLite database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("Dear diary. ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, c := range foreign {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			c.write(t, path)
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
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), dir, Options{})
	wantLocalStorage(t, err, dir, "is not a regular file")
	_, err = OpenReader(t.Context(), dir, Options{})
	wantLocalStorage(t, err, dir, "is not a regular file")
	inFile := filepath.Join(dir, "file")
	if err := os.WriteFile(inFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), filepath.Join(inFile, "journal.db"), Options{})
	wantCode(t, err, kernel.CodeLocalStorage)
	mustAppend(t, mustOpen(t, inFile, Options{}), "r", 1, 1) // an empty file becomes a journal
}

// Report A43 (e): a file that lacks what its version promises is refused.
func TestDamagedSchema(t *testing.T) {
	for _, damage := range []string{"DROP TABLE events", "ALTER TABLE runs DROP COLUMN question"} {
		path := newPath(t)
		closed(t, path)
		rawFile(t, path, damage)
		_, err := Open(t.Context(), path, Options{})
		wantLocalStorage(t, err, path, "does not hold what its version says")
		_, err = OpenReader(t.Context(), path, Options{})
		wantLocalStorage(t, err, path, "does not hold what its version says")
	}
}

func TestCorrupt(t *testing.T) {
	path := newPath(t)
	j, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, "r", 1, 500)
	roots, err := column(t.Context(), j.db, `SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('runs', 'events')`)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data := snapshot(t, path)
	for _, root := range roots {
		page, err := strconv.Atoi(root)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4096 {
			data[(page-1)*4096+i] = 0xa5
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, path, Options{})
	_, err = j.Read(t.Context(), "r", 0, 0)
	wantLocalStorage(t, err, path, "is damaged")
	err = j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: recordsOf(501, 1)})
	wantLocalStorage(t, err, path, "is damaged")
}

// Report A43 (c): many handles create one file at once.
func TestManyHandlesCreate(t *testing.T) {
	for range 6 {
		path := newPath(t)
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				j, err := Open(t.Context(), path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Append(t.Context(), journal.Entry{Head: headOf(fmt.Sprint(n)), Records: recordsOf(1, 1)}); err != nil {
					t.Error(err)
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		heads, err := mustOpen(t, path, Options{}).Heads(t.Context(), journal.Query{})
		if err != nil || len(heads) != 8 {
			t.Errorf("%d runs, %v; want 8", len(heads), err)
		}
	}
}

func TestOpenWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, newPath(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// Reading connections never create, and see what is being written.
func TestReader(t *testing.T) {
	path := newPath(t)
	_, err := OpenReader(t.Context(), path, Options{})
	wantCode(t, err, kernel.CodeNotFound)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenReader created the file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // created a moment ago by another process
		t.Fatal(err)
	}
	_, err = OpenReader(t.Context(), path, Options{})
	wantCode(t, err, kernel.CodeNotFound)

	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 2)
	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantRecords(t, r, "r", 2)
	mustAppend(t, j, "r", 3, 2) // a reader does not hold up the writer
	wantRecords(t, r, "r", 4)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = r.Heads(t.Context(), journal.Query{})
	wantCode(t, err, kernel.CodeLocalStorage)
}

func wantLocalStorage(t *testing.T, err error, path, says string) {
	t.Helper()
	checkLocalStorage(t.Errorf, err, path, says)
}

func checkLocalStorage(wrong func(format string, args ...any), err error, path, says string) {
	var e *kernel.Error
	if !errors.As(err, &e) || e.Code != kernel.CodeLocalStorage || !strings.Contains(e.Message, path) ||
		!strings.Contains(e.Message, says) || e.Hint == "" {
		wrong("got %v, want LOCAL_STORAGE with a hint, %q and %q", err, path, says)
	}
}

// rawFile changes a file as another program would.
func rawFile(t *testing.T, path, statement string) {
	t.Helper()
	db := mustRaw(t, path)
	mustExec(t, db, statement)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns the bytes of a file and of its log.
func snapshot(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return append(data, log...)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
