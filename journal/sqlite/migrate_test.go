package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// oldRuns is how many runs an old file has.
const oldRuns = 3

// oldFile leaves a file as version 1 wrote it at path: a stopped run and two that
// were under way.
func oldFile(t *testing.T, path string) { writeOld(t, path, 1) }

// oldBigFile is an old file with a run of more records than a migration reads
// at once.
func oldBigFile(t *testing.T, path string) { writeOld(t, path, 40) }

func writeOld(t *testing.T, path string, step int) {
	t.Helper()
	f, conn := rawConn(t, path)
	if err := migrate(t.Context(), conn, f, migrations()[:1]); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "PRAGMA journal_mode = WAL")
	for n := range oldRuns {
		h := headOf(oldRun(n))
		if n == 0 {
			h.State, h.Stop, h.Verified = journal.Stopped, kernel.StopAnswered, kernel.Unchecked
		}
		h.StartedAt = h.StartedAt.Add(time.Duration(-n) * time.Second) // the last one started first
		records := oldRecords(n, step)
		mustRow(t, conn, `INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, h.Run, h.Session, h.Tenant, h.User,
			string(h.State), string(h.Stop), string(h.Verified), h.Turns, h.Question, h.StartedAt.UnixNano(), h.UpdatedAt.UnixNano(), len(records))
		for _, r := range records {
			mustRow(t, conn, `INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)`, h.Run, r.Seq, r.At.UnixNano(), string(r.Kind), r.Payload, r.Content)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func oldRun(n int) string { return fmt.Sprintf("old-%d", n) }

func oldRecords(n, step int) []journal.Record {
	records := recordsOf(1, 2+step*n)
	records[0].Content = []byte{}
	records[1].Content = []byte("content")
	return records
}

// wantMigrated checks that a file that oldFile made has all it had, and the
// hashes and seals that it had not.
func wantMigrated(t *testing.T, j journal.Reader) {
	t.Helper()
	wantOld(t, j, 1)
}

func wantOld(t *testing.T, j journal.Reader, step int) {
	t.Helper()
	seals := make([]journal.Seal, oldRuns+1)
	for n := range oldRuns {
		want := oldRecords(n, step)
		got, err := j.Read(t.Context(), oldRun(n), 0, 0)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v (-want +got):\n%s", oldRun(n), err, diff)
		}
		h, err := j.Head(t.Context(), oldRun(n))
		link := journal.Origin(&h)
		var links []journal.Hash
		for i := range want {
			link = journal.Link(link, oldRun(n), &want[i])
			links = append(links, link)
		}
		if got, err := j.Links(t.Context(), oldRun(n), 0, 0); err != nil || cmp.Diff(links, got) != "" {
			t.Errorf("%s: links %v, %v", oldRun(n), got, err)
		}
		if err != nil || h.LastSeq != int64(len(want)) || h.Hash != link || h.Lease != (journal.Lease{}) || !h.Due.IsZero() || h.Pending != 0 {
			t.Errorf("%s: head %+v, %v", oldRun(n), h, err)
		}
		seals[oldRuns-1-n] = journal.Seal{Run: oldRun(n), Last: 1, Head: links[0], At: want[0].At}
		if n == 0 {
			seals[oldRuns] = journal.Seal{Run: oldRun(n), Last: h.LastSeq, Head: link, At: want[len(want)-1].At}
		}
	}
	var prev journal.Hash
	for i := range seals {
		seals[i].Seq = int64(i) + 1
		seals[i].Hash = seals[i].Chain(prev)
		prev = seals[i].Hash
	}
	got, err := j.Seals(t.Context(), 0, 0)
	if diff := cmp.Diff(seals, got); err != nil || diff != "" {
		t.Errorf("seals: %v (-want +got):\n%s", err, diff)
	}
}

// A file of the first version is migrated when it is opened, goes on from
// there, and has the same schema as a fresh one (report A43 (d)).
func TestMigrated(t *testing.T) {
	path, fresh := newPath(t), newPath(t)
	oldBigFile(t, path)
	j := mustOpen(t, path, Options{})
	wantOld(t, j, 40)
	wantWhole(t, j)
	mustAppend(t, j, "new", 1, 2)
	h, err := j.Head(t.Context(), oldRun(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), journal.Entry{Head: h, Records: recordsOf(h.LastSeq+1, 2)}); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, j)
	closed(t, fresh)
	want, got := schemaOf(t, fresh), schemaOf(t, path)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a migrated schema differs from a fresh one (-fresh +migrated):\n%s", diff)
	}
	if len(want) < 30 {
		t.Errorf("the schema has %d entries only:\n%s", len(want), strings.Join(want, "\n"))
	}
}

// schemaOf describes all that a file defines, and its columns.
func schemaOf(t *testing.T, path string) []string {
	t.Helper()
	db := mustRaw(t, path)
	lines, err := column(t.Context(), db, `
		SELECT format('%s %s %s %s', type, name, tbl_name, sql) FROM sqlite_schema
		UNION ALL SELECT format('%s.%s %d %s %d %s %d', s.name, c.name, c.cid, c.type, c."notnull", c.dflt_value, c.pk)
			FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table'
		UNION ALL SELECT format('version %d', user_version) FROM pragma_user_version
		UNION ALL SELECT format('application %d', application_id) FROM pragma_application_id
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// errInjected is what a failing database returns.
var errInjected = errors.New("injected")

// failing is a database of which one statement fails.
type failing struct {
	database
	left *int // statements before it
}

func (f failing) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if *f.left--; *f.left < 0 {
		return nil, errInjected
	}
	return f.database.ExecContext(ctx, query, args...)
}

func (f failing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if *f.left--; *f.left < 0 {
		return nil, errInjected
	}
	return f.database.QueryContext(ctx, query, args...)
}

// failingSteps are the migrations, of which statement n fails.
func failingSteps(n int) []step {
	left := n
	var steps []step
	for _, s := range migrations() {
		steps = append(steps, func(ctx context.Context, db database) error { return s(ctx, failing{db, &left}) })
	}
	return steps
}

// Report A43 (b): a failure at any statement of the migrations leaves the file
// as it was, and the next attempt succeeds.
func TestMigrationFails(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(t *testing.T, path string)
		check func(t *testing.T, j journal.Reader)
		least int // statements that can fail
	}{
		"an empty file": {func(*testing.T, string) {}, func(*testing.T, journal.Reader) {}, 40},
		"an old file":   {oldFile, wantMigrated, 40 + 2*oldRuns},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			c.make(t, path)
			f, conn := rawConn(t, path)
			before := dump(t, conn)
			n := 0
			for ; ; n++ {
				err := migrate(t.Context(), conn, f, failingSteps(n))
				if err == nil {
					break
				}
				if !errors.Is(err, errInjected) {
					t.Fatalf("statement %d: %v", n, err)
				}
				if diff := cmp.Diff(before, dump(t, conn)); diff != "" {
					t.Fatalf("statement %d: the failed migration changed the file (-before +after):\n%s", n, diff)
				}
			}
			if n < c.least {
				t.Errorf("%d statements can fail, want at least %d", n, c.least)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			j := mustOpen(t, path, Options{})
			c.check(t, j)
			mustAppend(t, j, "r", 1, 1)
		})
	}
}

// dump is all that a file holds.
func dump(t *testing.T, db querier) []string {
	t.Helper()
	lines, err := column(t.Context(), db, `SELECT format('%s %s', name, sql) FROM sqlite_schema ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 {
		return nil
	}
	for _, query := range []string{
		`SELECT format('%d', user_version) FROM pragma_user_version`,
		`SELECT format('%s %s %s %d %d', run, session, state, started_at, last_seq) FROM runs ORDER BY 1`,
		`SELECT format('%s %d %d %s', run, seq, at, kind) || hex(payload) || coalesce(hex(content), 'NULL') FROM events ORDER BY 1`,
	} {
		more, err := column(t.Context(), db, query)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, more...)
	}
	return lines
}

// Report A43 (c): several processes open one old file at once, and it is
// migrated once.
func TestManyProcessesMigrate(t *testing.T) {
	path := newPath(t)
	oldFile(t, path)
	var children []*child
	for range 4 {
		children = append(children, startChild(t, self(t), "open", path))
	}
	for _, c := range children {
		if got := c.line(); got != "opening" {
			t.Fatalf("the other process printed %q", got)
		}
		c.finish(t)
	}
	wantMigrated(t, mustOpen(t, path, Options{}))
}

// A process of the older version that has the file open fails once it is
// migrated, and leaves no record without a hash.
func TestOldProcess(t *testing.T) {
	path := newPath(t)
	oldFile(t, path)
	old := mustRaw(t, path)
	append1 := `INSERT INTO events (run, seq, at, kind, payload, content) VALUES ('old-1', 4, 0, 'x', x'00', NULL)`
	mustExec(t, old, `BEGIN; `+append1+`; ROLLBACK`)
	j := mustOpen(t, path, Options{})
	if _, err := old.ExecContext(t.Context(), append1); err == nil {
		t.Error("a process of the older version still writes")
	}
	wantMigrated(t, j)
}

// An old file that is locked for too long is left as it is, and migrated once
// it is free.
func TestMigrationLocked(t *testing.T) {
	path := newPath(t)
	oldFile(t, path)
	_, conn := rawConn(t, path)
	before := dump(t, conn)
	mustExec(t, conn, "BEGIN IMMEDIATE")
	_, err := Open(t.Context(), path, Options{BusyTimeout: time.Millisecond})
	wantLocalStorage(t, err, path, "is locked by another program")
	mustExec(t, conn, "ROLLBACK")
	if diff := cmp.Diff(before, dump(t, conn)); diff != "" {
		t.Errorf("the locked file was changed (-before +after):\n%s", diff)
	}
	wantMigrated(t, mustOpen(t, path, Options{}))
}

// A reader does not migrate.
func TestReaderOfOldFile(t *testing.T) {
	path := newPath(t)
	oldFile(t, path)
	_, err := OpenReader(t.Context(), path, Options{})
	wantCode(t, err, kernel.CodeVersion)
	wantMigrated(t, mustOpen(t, path, Options{}))
}

// rawConn is one connection to a file, which any SQLite program could have.
func rawConn(t *testing.T, path string) (file, *sql.Conn) {
	t.Helper()
	f, err := locate(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := mustRaw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // most tests close it themselves
	mustExec(t, conn, "PRAGMA foreign_keys = 1")
	return f, conn
}

func mustRow(t *testing.T, conn *sql.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
