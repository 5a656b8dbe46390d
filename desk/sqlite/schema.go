package sqlite

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// applicationID marks a SQLite file as a desk ("HFDK").
const applicationID = 0x4846444b

// migration leads from one version of the schema to the next.
type migration struct {
	schema string
	fill   func(*tx) error // what SQL alone cannot do; nil: nothing
}

func migrations() []migration { return []migration{{schema1, nil}, {schema2, (*tx).indexAll}} }

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

// schema2 adds what policies are searched with. words holds a term for each word of a
// version: DIGEST WORD | WEIGHT, where DIGEST stands for the tenant, so that
// nobody's search reads the list of another tenant. It is never matched, only looked up
// by term through words_at: no text of a person is ever read as a query language.
const schema2 = `
ALTER TABLE policies ADD COLUMN valid_until INTEGER NOT NULL DEFAULT 0x7fffffffffffffff; -- when the next version comes into force
ALTER TABLE policies ADD COLUMN words INTEGER NOT NULL DEFAULT 0; -- how many it has
UPDATE policies SET valid_until = following.at FROM (
	SELECT number, lead(valid_from, 1, 0x7fffffffffffffff) OVER (PARTITION BY tenant, id ORDER BY valid_from, number) AS at FROM policies
) AS following WHERE following.number = policies.number;
DROP INDEX policies_in_force;
CREATE INDEX policies_in_force ON policies (tenant, id, valid_from, valid_until, restricted, words);
CREATE VIRTUAL TABLE words USING fts5 (terms, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '|'");
CREATE VIRTUAL TABLE words_at USING fts5vocab (words, instance);
CREATE TABLE embedders (
	number     INTEGER PRIMARY KEY,
	name       TEXT NOT NULL,
	dimensions INTEGER NOT NULL,
	UNIQUE (name, dimensions)
) STRICT;
CREATE TABLE vectors (
	policy   INTEGER PRIMARY KEY REFERENCES policies (number),
	embedder INTEGER NOT NULL REFERENCES embedders (number),
	vector   BLOB NOT NULL -- of length 1, as little-endian float32
) STRICT;
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
	for _, m := range migrations()[from:] {
		if _, err := tx.ExecContext(tx.ctx, m.schema); err != nil {
			return err
		}
		if m.fill == nil {
			continue
		}
		if err := m.fill(tx); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(tx.ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations())))
	return err
}
