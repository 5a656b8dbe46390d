package sqlite

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// applicationID marks a SQLite file as a desk ("HFDK").
const applicationID = 0x4846444b

// migrations lead from one version of the schema to the next.
func migrations() []string { return []string{schema1} }

const schema1 = `
CREATE TABLE tickets (
	id      TEXT PRIMARY KEY,
	tenant  TEXT NOT NULL,
	user    TEXT NOT NULL,
	subject TEXT NOT NULL,
	body    TEXT NOT NULL,
	status  TEXT NOT NULL,
	created INTEGER NOT NULL,
	draft   TEXT UNIQUE REFERENCES drafts (id) -- the last barrier: one ticket a draft
) STRICT;
CREATE INDEX tickets_of ON tickets (tenant, user, created);
CREATE TABLE drafts (
	id       TEXT PRIMARY KEY,
	tenant   TEXT NOT NULL,
	user     TEXT NOT NULL,
	session  TEXT NOT NULL,
	revision INTEGER NOT NULL, -- the one that counts
	created  INTEGER NOT NULL,
	ticket   TEXT UNIQUE REFERENCES tickets (id)
) STRICT;
CREATE INDEX drafts_of ON drafts (tenant, user, created);
CREATE TABLE revisions (
	draft    TEXT NOT NULL REFERENCES drafts (id),
	revision INTEGER NOT NULL,
	subject  TEXT NOT NULL,
	body     TEXT NOT NULL,
	hash     TEXT NOT NULL,
	created  INTEGER NOT NULL,
	expires  INTEGER NOT NULL,
	PRIMARY KEY (draft, revision)
) STRICT;
CREATE TABLE policies (
	number     INTEGER PRIMARY KEY, -- of the version, for what is kept beside it
	tenant     TEXT NOT NULL,
	id         TEXT NOT NULL,
	version    TEXT NOT NULL,
	title      TEXT NOT NULL,
	body       TEXT NOT NULL,
	valid_from INTEGER NOT NULL,
	source     TEXT NOT NULL,
	hash       TEXT NOT NULL, -- of everything that it says
	imported   INTEGER NOT NULL,
	restricted INTEGER NOT NULL, -- whether it has viewers
	UNIQUE (tenant, id, version)
) STRICT;
CREATE INDEX policies_in_force ON policies (tenant, id, valid_from, number);
CREATE TABLE viewers (
	policy INTEGER NOT NULL REFERENCES policies (number),
	user   TEXT NOT NULL,
	PRIMARY KEY (policy, user)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
	number  INTEGER PRIMARY KEY,
	at      INTEGER NOT NULL,
	tenant  TEXT NOT NULL,
	user    TEXT NOT NULL,
	through TEXT NOT NULL,
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,
	outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of ON audit (tenant, number);
`

// version returns the version of the schema, 0 for an empty file: a file of
// something else is LOCAL_STORAGE, and a newer one VERSION.
func (tx *tx) version() (int, error) {
	var application, version, objects int
	err := tx.QueryRowContext(tx.ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&application, &version, &objects)
	switch {
	case err != nil:
		return 0, err
	case application == 0 && version == 0 && objects == 0:
		return 0, nil
	case application != applicationID:
		return 0, &kernel.Error{
			Code: kernel.CodeLocalStorage, Message: "the file is no desk: another program made it",
			Hint: "name another file with --db; this one was left as it is",
		}
	case version > len(migrations()):
		return 0, &kernel.Error{Code: kernel.CodeVersion, Message: "the desk was written by a newer version of this program", Hint: "use that one"}
	}
	return version, nil
}

// ready refuses a file that is no desk of this version, and brings an older one up to it.
func (tx *tx) ready(path string) error {
	version, err := tx.version()
	if err != nil {
		return err
	}
	if version == 0 {
		return notInitialized(path)
	}
	return tx.migrate()
}

// migrate makes the schema the newest one.
func (tx *tx) migrate() error {
	from, err := tx.version()
	if err != nil || from == len(migrations()) {
		return err
	}
	for _, statements := range migrations()[from:] {
		if _, err := tx.ExecContext(tx.ctx, statements); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(tx.ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations())))
	return err
}
