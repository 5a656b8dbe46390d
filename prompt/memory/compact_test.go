//go:build linux || darwin

package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

// rowsOf is the one file of rows of a project.
func rowsOf(t *testing.T, user string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(user, "projects", "*", "rows.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// fill repeats the rows of a file up to a size: as after years of decisions.
func fill(t *testing.T, path string, size int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat(b, size/len(b)+1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Rows of which few still count become few when somebody decides, also where they
// were over what may be written: nothing that counts is lost, what is forgotten
// stays forgotten, and writers that waited meanwhile lose nothing either.
func TestRowsAreCompacted(t *testing.T) {
	for name, size := range map[string]int{"long": 5 << 20, "too long to be written to": 17 << 20} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			user := filepath.Join(dir, "user")
			m, err := memory.Open(memory.Config{Project: filepath.Join(dir, "memory"), User: user})
			if err != nil {
				t.Fatal(err)
			}
			say := func(text string) memory.Entry {
				e, err := m.Propose(t.Context(), memory.Proposal{Scope: memory.Project, Text: text, Author: "ann"})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			counts, forgotten := say("tea"), say("coffee")
			if _, err := m.Confirm(t.Context(), counts, counts.Hash, "ann"); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Forget(t.Context(), forgotten, "ann"); err != nil {
				t.Fatal(err)
			}
			path := rowsOf(t, user)
			fill(t, path, size)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					if _, err := m.Propose(t.Context(), memory.Proposal{Scope: memory.Project, Text: fmt.Sprint("cake ", i)}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if info, err := os.Stat(path); err != nil || info.Size() > 1<<16 || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			again, err := memory.Open(memory.Config{Project: filepath.Join(dir, "memory"), User: user})
			if err != nil {
				t.Fatal(err)
			}
			if e, err := again.Find(t.Context(), counts.ID, func(*memory.Entry) bool { return true }); err != nil || e.State != memory.Confirmed {
				t.Errorf("%+v, %v", e, err)
			}
			if e := say("coffee"); e.State != memory.Forgotten {
				t.Errorf("%+v came back", e)
			}
			if found, err := again.List(t.Context()); err != nil || len(found) < 9 {
				t.Errorf("%d entries, %v", len(found), err)
			}
		})
	}
}

// Rows that all count are not made smaller: what has no room is refused before it
// is written, with the way out, and what is there stays readable.
func TestRowsAreFull(t *testing.T) {
	dir := t.TempDir()
	user := filepath.Join(dir, "user")
	m, err := memory.Open(memory.Config{Project: filepath.Join(dir, "memory"), User: user})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Propose(t.Context(), memory.Proposal{Scope: memory.Project, Text: "tea"})
	if err != nil {
		t.Fatal(err)
	}
	path := rowsOf(t, user)
	row, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.Write(row)
	name := strings.TrimPrefix(e.ID, "project/")
	for i := 0; b.Len()+len(row) < 16<<20; i++ {
		b.WriteString(strings.Replace(string(row), name, fmt.Sprintf("m-%0*d", len(name)-2, i), 1))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = m.Confirm(t.Context(), e, e.Hash, "ann")
	if known, ok := errors.AsType[*kernel.Error](err); !ok || known.Code != kernel.CodeLocalStorage || !strings.Contains(known.Message, "is full") || !strings.Contains(known.Hint, path) {
		t.Errorf("%v", err)
	}
	if now, err := os.Stat(path); err != nil || now.Size() != int64(b.Len()) {
		t.Errorf("%v, %v", now, err)
	}
	if e, err := m.Find(t.Context(), e.ID, func(*memory.Entry) bool { return true }); err != nil || e.State != memory.Proposed {
		t.Errorf("%+v, %v", e, err)
	}
}
