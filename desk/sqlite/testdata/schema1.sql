-- A desk as the first version of its schema kept it.
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
PRAGMA application_id = 1212564555;
PRAGMA user_version = 1;
INSERT INTO policies VALUES (1, 'acme', 'P1001', '1', '差旅报销制度', '旧版：住宿凭据。', 0, '', 'a', 0, 0);
INSERT INTO policies VALUES (2, 'acme', 'P1001', '2', '差旅报销制度', '新版：住宿凭据。', 1767225600000000000, '', 'b', 0, 0);
INSERT INTO policies VALUES (3, 'acme', 'P1001', '3', '差旅报销制度', '以后：住宿凭据。', 4070908800000000000, '', 'c', 0, 0);
INSERT INTO policies VALUES (4, 'acme', 'P1002', '1', 'Lodging', '住宿凭据, for alice alone', 0, '', 'd', 0, 1);
INSERT INTO policies VALUES (5, 'other', 'P1001', '1', 'Lodging', '住宿凭据, of another company', 0, '', 'e', 0, 0);
INSERT INTO viewers VALUES (4, 'alice');
