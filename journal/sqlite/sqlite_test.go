package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/journaltest"
	"github.com/holdfast-run/holdfast/kernel"
)

// TestMain runs the tests, or plays the part of another process for one of
// them: see child_test.go.
func TestMain(m *testing.M) {
	if part := os.Getenv(childPart); part != "" {
		os.Exit(playChild(part, os.Getenv(childPath)))
	}
	goleak.VerifyTestMain(m)
}

func TestJournal(t *testing.T) {
	fresh := newPath(t)
	if err := mustOpen(t, fresh, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	journaltest.RunDurable(t, func(t *testing.T, dir string) journal.Journal {
		path := filepath.Join(dir, "journal.db")
		if _, err := os.Stat(path); err != nil {
			copyFile(t, fresh, path) // which is faster than to make one
		}
		j, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}

// Report A27: the settings hold on every pooled connection.
func TestPragmas(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{Readers: 5, BusyTimeout: 1234 * time.Millisecond})
	wantPragmas(t, j.writer.conn, map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "1234", "query_only": "0",
	})
	for range 5 { // all five at once, so that no two are the same
		conn, err := j.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // before the journal's own end
		wantPragmas(t, conn, map[string]string{"journal_mode": "wal", "query_only": "1", "busy_timeout": "1234"})
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM runs"); err == nil {
			t.Error("a reading connection can write")
		}
	}
}

func wantPragmas(t *testing.T, q querier, want map[string]string) {
	t.Helper()
	for name, value := range want {
		var got string
		if err := q.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got); err != nil || got != value {
			t.Errorf("PRAGMA %s is %q, %v; want %q", name, got, err, value)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{BusyTimeout: -1}, {BusyTimeout: time.Microsecond}, {BusyTimeout: 2 * time.Hour}, {Readers: -1}, {Readers: 1001}} {
		_, err := Open(t.Context(), newPath(t), o)
		wantCode(t, err, kernel.CodeConfiguration)
		_, err = OpenReader(t.Context(), newPath(t), o)
		wantCode(t, err, kernel.CodeConfiguration)
	}
}

// newPath is where no file is yet.
func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }

// mustOpen opens a journal that the test's end closes.
func mustOpen(t testing.TB, path string, o Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
	})
	return j
}

// mustRaw opens a file as any SQLite program would.
func mustRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // some tests close it themselves
	return db
}

func mustExec(t testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func headOf(run string) journal.Head {
	at := time.Unix(1_700_000_000, 5).UTC()
	return journal.Head{Run: run, Session: "s-" + run, Tenant: "t", User: "u", State: journal.Running, StartedAt: at, UpdatedAt: at}
}

func recordsOf(seq int64, n int) []journal.Record {
	records := make([]journal.Record, n)
	for i := range records {
		records[i] = journal.Record{
			Seq: seq + int64(i), At: time.Unix(1_700_000_000, 7).UTC(), Kind: kernel.KindModelReplied,
			Payload: fmt.Appendf(nil, `{"n":%d}`, seq+int64(i)),
		}
	}
	return records
}

func mustAppend(t testing.TB, j *Journal, run string, seq int64, n int) {
	t.Helper()
	if err := j.Append(t.Context(), journal.Entry{Head: headOf(run), Records: recordsOf(seq, n)}); err != nil {
		t.Fatalf("append to %s from %d: %v", run, seq, err)
	}
}

// wantRecords checks that a run has exactly the records 1 to n, and its head
// says so.
func wantRecords(t *testing.T, j journal.Reader, run string, n int64) {
	t.Helper()
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil || int64(len(records)) != n {
		t.Errorf("%s has %d records, %v; want %d", run, len(records), err, n)
		return
	}
	for i, r := range records {
		if r.Seq != int64(i)+1 {
			t.Errorf("%s: record %d has the number %d", run, i+1, r.Seq)
		}
	}
	if h, err := j.Head(t.Context(), run); err != nil || h.LastSeq != n {
		t.Errorf("%s: the head is at %d, %v; want %d", run, h.LastSeq, err, n)
	}
}

func wantCode(t testing.TB, err error, want kernel.Code) {
	t.Helper()
	if got := kernel.CodeOf(err); got != want {
		t.Errorf("got error %v, want one with the code %s", err, want)
	}
}
