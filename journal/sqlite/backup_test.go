package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// A backup that is made while others write is a journal of one instant.
func TestBackup(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	const size = 3
	mustAppend(t, j, "r", 1, size)
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for seq := int64(1 + size); ; seq += size {
			select {
			case <-done:
				return
			default:
			}
			if err := j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: recordsOf(seq, size)}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	stop := sync.OnceFunc(func() { close(done); <-over })
	defer stop()
	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	dir := t.TempDir()
	var last int64
	for n, backup := range []func(context.Context, string) error{j.Backup, r.Backup, j.Backup} {
		target := filepath.Join(dir, fmt.Sprintf("backup '%d'?.db", n))
		if err := backup(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(target); err != nil || info.Mode() != 0o600 {
			t.Errorf("the backup has the mode %v, %v", info.Mode(), err)
		}
		b := mustOpen(t, target, Options{})
		h, err := b.Head(t.Context(), "r")
		if err != nil || h.LastSeq < last || h.LastSeq%size != 0 {
			t.Errorf("backup %d is at record %d, %v, after one at %d", n, h.LastSeq, err, last)
		}
		last = h.LastSeq
		wantRecords(t, b, "r", last)
		wantWhole(t, b)
		mustAppend(t, b, "r", last+1, 1) // it goes on as any journal does
	}
	stop()
	wantOnly(t, dir, 3)
	h, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	wantRecords(t, j, "r", h.LastSeq)
}

// wantOnly checks that nothing but databases lies in a folder.
func wantOnly(t *testing.T, dir string, databases int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
			t.Errorf("%s was left behind", e.Name())
		case strings.HasSuffix(e.Name(), ".db"):
			n++
		}
	}
	if n != databases {
		t.Errorf("there are %d databases, want %d", n, databases)
	}
}

// A backup is whole or not there.
func TestBackupFails(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	mustAppend(t, j, "r", 1, 1)
	t.Run("a file is there", func(t *testing.T) {
		target := newPath(t)
		for _, link := range []bool{false, true} {
			if link { // to nowhere
				target = newPath(t)
				if err := os.Symlink("nowhere", target); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(target, []byte("dear diary"), 0o600); err != nil {
				t.Fatal(err)
			}
			wantCode(t, j.Backup(t.Context(), target), kernel.CodeConflict)
			wantOnly(t, filepath.Dir(target), 1)
		}
		if entries, err := os.ReadDir(filepath.Dir(target)); err != nil || len(entries) != 1 {
			t.Errorf("the folder holds %v, %v", entries, err)
		}
	})
	t.Run("it comes to be there meanwhile", func(t *testing.T) {
		part, target := newPath(t), newPath(t)
		for _, path := range []string{part, target} {
			if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := rename(part, target); !errors.Is(err, os.ErrExist) {
			t.Errorf("got %v", err)
		}
		if data, err := os.ReadFile(target); err != nil || string(data) != target {
			t.Errorf("the file is now %q, %v", data, err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		target := filepath.Join(newPath(t), "backup.db")
		wantLocalStorage(t, j.Backup(t.Context(), target), target, "cannot be")
	})
	t.Run("no name", func(t *testing.T) {
		wantCode(t, j.Backup(t.Context(), ""), kernel.CodeConfiguration)
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		target := newPath(t)
		if err := j.Backup(ctx, target); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		wantOnly(t, filepath.Dir(target), 0)
	})
	t.Run("closed", func(t *testing.T) {
		target := newPath(t)
		r, err := OpenReader(t.Context(), j.file.path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		wantCode(t, r.Backup(t.Context(), target), kernel.CodeLocalStorage)
		wantOnly(t, filepath.Dir(target), 0)
	})
	wantRecords(t, j, "r", 1)
}

// CheckFile names what is wrong with a file that can still be opened.
func TestCheckFile(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 50)
	wantWhole(t, j)
	raw := mustRaw(t, path)
	raw.SetMaxOpenConns(1)
	for _, c := range []struct{ damage, says, repair string }{
		{
			`PRAGMA foreign_keys = 0; INSERT INTO events VALUES ('gone', 1, 0, 'x', x'00', NULL, zeroblob(32))`,
			"a row of events belongs to no row of runs",
			`DELETE FROM events WHERE run = 'gone'`,
		},
		{
			`INSERT INTO votes VALUES ('gone', 1, 'v', 'ann', 1, '', '', 0)`,
			"a row of votes belongs to no row of approvals",
			`DELETE FROM votes`,
		},
		{`DROP INDEX effects_open`, "the schema lacks: index effects_open of effects: CREATE INDEX", ``},
		{`CREATE INDEX mine ON runs (turns)`, "the schema has what it should not: index mine of runs", `DROP INDEX mine`},
		{`ANALYZE`, "", ``},
	} {
		mustExec(t, raw, c.damage)
		wrong, err := j.CheckFile(t.Context())
		if err != nil || !strings.Contains(strings.Join(wrong, "\n"), c.says) {
			t.Errorf("%s: got %q, %v; want %q", c.damage, wrong, err, c.says)
		}
		mustExec(t, raw, c.repair)
	}
	mustExec(t, raw, "CREATE INDEX effects_open     ON effects (tenant, tool, request) WHERE state IN ('running', 'unknown')")
	wantWhole(t, j)
}

// A damaged index shows, and which one it is.
func TestCheckDamagedFile(t *testing.T) {
	path := newPath(t)
	j, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, "r", 1, 50)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	rawFile(t, path, `PRAGMA writable_schema = 1;
		UPDATE sqlite_schema SET sql = replace(sql, 'started_at', 'updated_at') WHERE name = 'runs_by_start'`)
	rawFile(t, path, `UPDATE runs SET updated_at = updated_at + 1`)
	rawFile(t, path, `PRAGMA writable_schema = 1;
		UPDATE sqlite_schema SET sql = replace(sql, 'updated_at', 'started_at') WHERE name = 'runs_by_start'`)
	wrong, err := mustOpen(t, path, Options{}).CheckFile(t.Context())
	if err != nil || !strings.Contains(strings.Join(wrong, "\n"), "missing from index runs_by_start") {
		t.Errorf("got %q, %v", wrong, err)
	}
}

// wantWhole checks that nothing is wrong with the file, nor with its chains.
func wantWhole(t *testing.T, j *Journal) {
	t.Helper()
	wrong, err := j.CheckFile(t.Context())
	if diff := cmp.Diff([]string(nil), wrong); err != nil || diff != "" {
		t.Errorf("CheckFile: %v (-want +got):\n%s", err, diff)
	}
	if report, err := journal.VerifyAll(t.Context(), j, nil); err != nil || report.Flaw != nil {
		t.Errorf("VerifyAll: %v, %v", report.Flaw, err)
	}
}
