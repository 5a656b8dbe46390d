package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// maxFindings bounds what a check of a file names.
const maxFindings = 100

// CheckFile looks at the whole file, as a backup should be looked at, and names
// what is wrong with it, at most 100 things; nil: nothing. It checks SQLite's
// own structures, that every row belongs to one that is there, and that the
// schema is exactly that of this version, but not the chains: see
// [journal.VerifyAll]. It reads every page of the file, beside others who write.
func (p *pool) CheckFile(ctx context.Context) (wrong []string, err error) {
	err = p.reading(func() (err error) {
		if wrong, err = collect(ctx, p.db, scanText, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFindings)); err != nil {
			return err
		}
		if slices.Equal(wrong, []string{"ok"}) {
			wrong = nil
		}
		for _, check := range []func(context.Context, querier) ([]string, error){orphans, differences} {
			more, err := check(ctx, p.db)
			if err != nil {
				return err
			}
			wrong = append(wrong, more...)
		}
		wrong = wrong[:min(len(wrong), maxFindings)]
		return nil
	})
	return wrong, err
}

// orphans names rows whose run, effect or approval is not there.
func orphans(ctx context.Context, db querier) ([]string, error) {
	return collect(ctx, db, func(row scanner) (string, error) {
		var table, parent string
		err := row.Scan(&table, &parent)
		return fmt.Sprintf("a row of %s belongs to no row of %s", table, parent), err
	}, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT ?`, maxFindings)
}

// differences names what the schema has that ours has not, and the other way
// round.
func differences(ctx context.Context, db querier) ([]string, error) {
	want, err := ourSchema(ctx)
	if err != nil {
		return nil, err
	}
	got, err := schemaLines(ctx, db)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, line := range got {
		if !slices.Contains(want, line) {
			wrong = append(wrong, "the schema has what it should not: "+line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			wrong = append(wrong, "the schema lacks: "+line)
		}
	}
	return wrong, nil
}

// ourSchema is that of a fresh file, which it makes in memory.
func ourSchema(ctx context.Context) (lines []string, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing is lost with it
	db.SetMaxOpenConns(1)             // another one would be another database
	for _, step := range migrations() {
		if err := step(ctx, db); err != nil {
			return nil, err
		}
	}
	return schemaLines(ctx, db)
}

// schemaLines describes all that a file defines. What SQLite keeps about
// indexes when somebody has it analyse them is not counted.
func schemaLines(ctx context.Context, db querier) ([]string, error) {
	return collect(ctx, db, scanText, `SELECT format('%s %s of %s: %s', type, name, tbl_name, coalesce(sql, '')) FROM sqlite_schema
		WHERE name NOT GLOB 'sqlite_stat*' ORDER BY 1`)
}
