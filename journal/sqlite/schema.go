package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-run/holdfast/kernel"
)

// applicationID marks a SQLite file as a Holdfast journal ("HFJL").
const applicationID = 0x48464a4c

// schema1 is the first schema. Instants are Unix nanoseconds.
//
// The events have rowids: they are bulky, and a table in the order of arrival
// with a small index beside it takes appends of many runs at once about 2.5
// times as fast as one clustered by (run, seq). The runs are small and found by
// name.
const schema1 = `
CREATE TABLE runs (
	run        TEXT    NOT NULL PRIMARY KEY,
	session    TEXT    NOT NULL,
	tenant     TEXT    NOT NULL,
	user       TEXT    NOT NULL,
	state      TEXT    NOT NULL,
	stop       TEXT    NOT NULL,
	verified   TEXT    NOT NULL,
	turns      INTEGER NOT NULL,
	question   TEXT    NOT NULL,
	started_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	last_seq   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_start   ON runs (started_at, run);
CREATE INDEX runs_by_tenant  ON runs (tenant, started_at, run);
CREATE INDEX runs_by_user    ON runs (user, started_at, run);
CREATE INDEX runs_by_owner   ON runs (tenant, user, started_at, run);
CREATE INDEX runs_by_session ON runs (session, started_at, run);

CREATE TABLE events (
	run     TEXT    NOT NULL REFERENCES runs (run),
	seq     INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	payload BLOB    NOT NULL,
	content BLOB,
	PRIMARY KEY (run, seq)
) STRICT;
`

// migrations lead from each version of the schema to the next: the first one
// from an empty file to version 1.
func migrations() []string { return []string{schema1} }

// querier is a connection or a pool.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns the version of the schema, 0 for an empty file. The
// file of another application is LOCAL_STORAGE, one of a version that is newer
// than the known ones VERSION.
func schemaVersion(ctx context.Context, q querier, f file, known int) (int, error) {
	var application, version, objects int
	err := q.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&application, &version, &objects)
	switch {
	case err != nil:
		return 0, err
	case application == 0 && version == 0 && objects == 0:
		return 0, nil
	case application != applicationID || version < 1:
		return 0, &kernel.Error{
			Code:    kernel.CodeLocalStorage,
			Message: fmt.Sprintf("%s is the database of another application", f.name),
			Hint:    "choose another file for the journal; this one was left as it is",
		}
	case version > known:
		return 0, &kernel.Error{
			Code:    kernel.CodeVersion,
			Message: fmt.Sprintf("%s was written by a newer version of Holdfast (schema %d, known up to %d)", f.name, version, known),
			Hint:    "use that version or a later one; the file was left as it is",
		}
	}
	return version, nil
}

// migrate brings the file to the newest schema in one transaction, and does
// nothing to a file that has it.
func migrate(ctx context.Context, conn *sql.Conn, f file, steps []string) error {
	if version, err := schemaVersion(ctx, conn, f, len(steps)); err != nil || version == len(steps) {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil) // immediate: of two processes one waits here
	if err != nil {
		return err
	}
	if err := applySteps(ctx, tx, f, steps); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func applySteps(ctx context.Context, tx *sql.Tx, f file, steps []string) error {
	version, err := schemaVersion(ctx, tx, f, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	for _, step := range steps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps)))
	return err
}

// useWAL turns the file's write-ahead log on, once and for all connections.
// SQLite does not wait for a lock here as it does elsewhere, whatever the busy
// timeout says: of several processes that create a file some would fail.
func useWAL(ctx context.Context, conn *sql.Conn, f file, o Options) error {
	tooLate := time.After(o.BusyTimeout)
	for {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return &kernel.Error{
				Code:    kernel.CodeLocalStorage,
				Message: fmt.Sprintf("the file system of %s supports no write-ahead log", f.name),
				Hint:    "keep the journal on a local disk",
			}
		case resultCode(err)&0xff != sqlite3.SQLITE_BUSY:
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-tooLate:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
