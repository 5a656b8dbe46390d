package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// clock is a time that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type fixture struct {
	*sqlite.DB
	*clock
	path                string
	alice, bob, mallory desk.Identity
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: newClock(), path: filepath.Join(t.TempDir(), "desk.db")}
	f.DB = create(t, f.path, f.clock)
	if err := f.AddFixtures(t.Context()); err != nil {
		t.Fatal(err)
	}
	for user, who := range map[string]*desk.Identity{"alice": &f.alice, "bob": &f.bob, "mallory": &f.mallory} {
		*who = must(desk.Fixture(user))(t)
	}
	return f
}

func create(t *testing.T, path string, c *clock) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Create(t.Context(), path, sqlite.Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, want kernel.Code, err error) {
	t.Helper()
	if got := kernel.CodeOf(err); got != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// raw is the file as somebody sees it who does not go through the desk.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// wantHint is for errors that somebody can do something about.
func wantHint(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*kernel.Error](err); !ok || e.Hint == "" {
		t.Errorf("%v has no hint", err)
	}
}
