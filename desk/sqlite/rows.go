package sqlite

import (
	"database/sql"
	"errors"
)

type scanner interface{ Scan(into ...any) error }

// collect reads all rows of a query.
func collect[T any](tx *tx, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return readAll(rows, read)
}

// readAll reads rows and closes them.
func readAll[T any](rows *sql.Rows, read func(scanner) (T, error)) (all []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// only reads one row, and answers missing where there is none.
func only[T any](tx *tx, missing error, read func(scanner) (T, error), query string, args ...any) (T, error) {
	one, err := read(tx.QueryRowContext(tx.ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing
	}
	return one, err
}
