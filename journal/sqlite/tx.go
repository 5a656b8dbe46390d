package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/holdfast-run/holdfast/journal"
)

// tx is the writer's connection inside a transaction: what operations work on.
// Only the writer's goroutine uses it.
type tx struct {
	ctx      context.Context // of no request: what was taken is carried through
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	heads    map[string]journal.Head // as this process left them: see head
	last     *journal.Seal           // the last seal, once this transaction knows it
}

// maxHeads bounds the heads that are remembered.
const maxHeads = 4096

func newTx(conn *sql.Conn) *tx {
	return &tx{ctx: context.Background(), conn: conn, prepared: map[string]*sql.Stmt{}, heads: map[string]journal.Head{}}
}

// begin forgets what another process may have changed since the last
// transaction, or what that one has not written in the end. Heads are kept:
// whoever writes one on checks that it stands.
func (t *tx) begin() { t.last = nil }

// remember keeps a head as it is stored now.
func (t *tx) remember(h *journal.Head) {
	if h.State == journal.Stopped {
		delete(t.heads, h.Run)
		return
	}
	if len(t.heads) >= maxHeads {
		clear(t.heads)
	}
	t.heads[h.Run] = *h
}

// prepare returns a statement, which is prepared once.
func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if stmt := t.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.conn.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	t.prepared[query] = stmt
	return stmt, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// change executes a statement and says whether it changed a row.
func (t *tx) change(query string, args ...any) (bool, error) {
	stmt, err := t.prepare(query)
	if err != nil {
		return false, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// all returns what a query selects.
func all[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	stmt, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return nil, err
	}
	return gather(rows, scan)
}

// one returns the row that a query selects, or nil.
func one[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) (*T, error) {
	stmt, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	row, err := scan(stmt.QueryRowContext(t.ctx, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none, which is no failure
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

func (t *tx) close() error {
	var errs []error
	for _, stmt := range t.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
