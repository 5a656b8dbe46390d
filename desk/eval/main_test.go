package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opener makes desks in files of their own. change may put something else in
// the place of their services; nil: nothing.
func opener(t testing.TB, change func(*eval.Desk)) func(context.Context) (*eval.Desk, error) {
	t.Helper()
	dir := t.TempDir()
	var n atomic.Int64
	return func(ctx context.Context) (*eval.Desk, error) {
		db, err := sqlite.Create(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", n.Add(1))), sqlite.Options{})
		if err == nil {
			err = db.AddFixtures(ctx)
		}
		if err != nil {
			return nil, err
		}
		d := &eval.Desk{Tickets: db, Drafts: db, Policies: db, Finder: db, Audit: db, AddTicket: db.AddTicket, Close: db.Close}
		if change != nil {
			change(d)
		}
		return d, nil
	}
}

func runtime(t testing.TB) *holdfast.Runtime {
	t.Helper()
	rt, err := holdfast.Open(t.Context(), holdfast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// builtin is the suite of the desk.
func builtin(t testing.TB) *eval.Suite {
	t.Helper()
	return parse(t, string(desk.LabelledTasks()))
}

func parse(t testing.TB, lines string) *eval.Suite {
	t.Helper()
	s, err := eval.Parse("tasks.jsonl", []byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// only is a suite of the built-in tasks of these ids, each changed, with the
// gate of a file that has none.
func only(t testing.TB, change func(*eval.Task), ids ...string) *eval.Suite {
	t.Helper()
	var lines []string
	all := builtin(t)
	for _, id := range ids {
		for _, task := range all.Tasks {
			if task.ID != id {
				continue
			}
			if change != nil {
				change(&task)
			}
			b, err := json.Marshal(task)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(b))
		}
	}
	if len(lines) != len(ids) {
		t.Fatalf("%d tasks for %v", len(lines), ids)
	}
	return parse(t, strings.Join(lines, "\n"))
}

// play runs a suite in script mode.
func play(t testing.TB, s *eval.Suite, change func(*eval.Desk)) *eval.Report {
	t.Helper()
	r, err := eval.Run(t.Context(), eval.Config{Suite: s, Model: eval.Scripted, Open: opener(t, change), Runtime: runtime(t), Mode: "script"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
