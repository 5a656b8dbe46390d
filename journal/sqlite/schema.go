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

// querier is a connection, a transaction or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// database is what a migration works on: a transaction.
type database interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// A step leads from one version of the schema to the next, inside a
// transaction.
type step func(ctx context.Context, db database) error

// migrations lead to the newest schema: the first one from an empty file to
// version 1. A fresh file goes through all of them, so that it is the same as one
// that was migrated.
func migrations() []step { return []step{toSchema1, toSchema2, toSchema3} }

// execEach executes statements one by one.
func execEach(ctx context.Context, db database, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// schemaVersion returns the version of the schema, 0 for an empty file. The
// file of another application is LOCAL_STORAGE, as is one with objects that are
// not ours, and one of a version that is newer than the known ones VERSION.
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
	return version, checkObjects(ctx, q, f, version == len(migrations()))
}

// migrate brings the file to the newest schema in one transaction, and does
// nothing to a file that has it.
func migrate(ctx context.Context, conn *sql.Conn, f file, steps []step) error {
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

func applySteps(ctx context.Context, tx *sql.Tx, f file, steps []step) error {
	version, err := schemaVersion(ctx, tx, f, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	for _, step := range steps[version:] {
		if err := step(ctx, tx); err != nil {
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
