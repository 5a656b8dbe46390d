package sqlite

import "context"

// toSchema3 adds the notices of sessions. Those that wait are few, and have an
// index of their own.
func toSchema3(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`CREATE TABLE notices (
	tenant  TEXT    NOT NULL,
	user    TEXT    NOT NULL,
	session TEXT    NOT NULL,
	number  INTEGER NOT NULL,
	id      TEXT    NOT NULL,
	by      TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	text    TEXT    NOT NULL,
	seen_by TEXT,
	PRIMARY KEY (tenant, user, session, number),
	UNIQUE (tenant, user, session, id)
) STRICT, WITHOUT ROWID`,
		`CREATE INDEX notices_waiting ON notices (tenant, user, session, number) WHERE seen_by IS NULL`,
	)
}
