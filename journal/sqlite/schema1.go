package sqlite

import "context"

// toSchema1 makes the first schema. Instants are Unix nanoseconds.
//
// The events have rowids: they are bulky, and a table in the order of arrival
// with a small index beside it takes appends of many runs at once about 2.5
// times as fast as one clustered by (run, seq). The runs are small and found by
// name.
func toSchema1(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`CREATE TABLE runs (
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
) STRICT, WITHOUT ROWID`,
		`CREATE INDEX runs_by_start   ON runs (started_at, run)`,
		`CREATE INDEX runs_by_tenant  ON runs (tenant, started_at, run)`,
		`CREATE INDEX runs_by_user    ON runs (user, started_at, run)`,
		`CREATE INDEX runs_by_owner   ON runs (tenant, user, started_at, run)`,
		`CREATE INDEX runs_by_session ON runs (session, started_at, run)`,
		`CREATE TABLE events (
	run     TEXT    NOT NULL REFERENCES runs (run),
	seq     INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	payload BLOB    NOT NULL,
	content BLOB,
	PRIMARY KEY (run, seq)
) STRICT`,
	)
}
