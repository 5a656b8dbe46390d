package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/holdfast-run/holdfast/journal"
)

// toSchema2 adds leases, the ledger, approvals, signals and the chains. The
// tables of version 1 are built anew rather than altered: their new columns have
// no default, so that a process of the older version which still has the file
// open fails instead of writing rows without a hash.
//
// An instant that is not there is NULL.
func toSchema2(ctx context.Context, db database) error {
	for _, part := range []step{moveAside, makeRuns, makeLedger, makeSignals, chainEvents, sealRuns, dropOld} {
		if err := part(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

func moveAside(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`ALTER TABLE runs RENAME TO old_runs`,
		`ALTER TABLE events RENAME TO old_events`,
		`DROP INDEX runs_by_start`,
		`DROP INDEX runs_by_tenant`,
		`DROP INDEX runs_by_user`,
		`DROP INDEX runs_by_owner`,
		`DROP INDEX runs_by_session`,
	)
}

// makeRuns makes the tables of runs and events, and moves the runs over.
//
// The partial indexes hold no column that every append changes: a run enters
// and leaves them with its state, its signals and its instant alone.
func makeRuns(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`CREATE TABLE runs (
	run         TEXT    NOT NULL PRIMARY KEY,
	session     TEXT    NOT NULL,
	tenant      TEXT    NOT NULL,
	user        TEXT    NOT NULL,
	state       TEXT    NOT NULL,
	stop        TEXT    NOT NULL,
	verified    TEXT    NOT NULL,
	turns       INTEGER NOT NULL,
	question    TEXT    NOT NULL,
	started_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	waiting_for TEXT    NOT NULL,
	approval    TEXT    NOT NULL,
	due         INTEGER,
	last_seq    INTEGER NOT NULL,
	hash        BLOB    NOT NULL,
	lease_owner TEXT    NOT NULL,
	lease_token INTEGER NOT NULL,
	lease_until INTEGER,
	pending     INTEGER NOT NULL
) STRICT, WITHOUT ROWID`,
		`INSERT INTO runs SELECT run, session, tenant, user, state, stop, verified, turns, question, started_at, updated_at,
	'', '', NULL, last_seq, zeroblob(32), '', 0, NULL, 0 FROM old_runs`,
		`CREATE INDEX runs_by_start   ON runs (started_at, run)`,
		`CREATE INDEX runs_by_tenant  ON runs (tenant, started_at, run)`,
		`CREATE INDEX runs_by_user    ON runs (user, started_at, run)`,
		`CREATE INDEX runs_by_owner   ON runs (tenant, user, started_at, run)`,
		`CREATE INDEX runs_by_session ON runs (session, started_at, run)`,
		`CREATE INDEX runs_not_over   ON runs (started_at, run)         WHERE state <> 'stopped'`,
		`CREATE INDEX runs_of_session ON runs (tenant, user, session)   WHERE state <> 'stopped'`,
		`CREATE INDEX runs_to_drive   ON runs (run)                     WHERE state = 'running'`,
		`CREATE INDEX runs_signalled  ON runs (started_at, run)         WHERE state <> 'stopped' AND pending > 0`,
		`CREATE INDEX runs_due        ON runs (due)                     WHERE due IS NOT NULL`,
		`CREATE TABLE events (
	run     TEXT    NOT NULL REFERENCES runs (run),
	seq     INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	kind    TEXT    NOT NULL,
	payload BLOB    NOT NULL,
	content BLOB,
	hash    BLOB    NOT NULL,
	PRIMARY KEY (run, seq)
) STRICT`,
		`CREATE TABLE seals (
	seq  INTEGER NOT NULL PRIMARY KEY,
	run  TEXT    NOT NULL,
	last INTEGER NOT NULL,
	head BLOB    NOT NULL,
	at   INTEGER NOT NULL,
	hash BLOB    NOT NULL
) STRICT`,
	)
}

// makeLedger makes the ledger. The id of an effect is that of its tenant, tool
// and key (see journal.EffectID), so that one of them makes all unique.
func makeLedger(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`CREATE TABLE effects (
	id          TEXT    NOT NULL PRIMARY KEY,
	run         TEXT    NOT NULL REFERENCES runs (run),
	call        TEXT    NOT NULL,
	session     TEXT    NOT NULL,
	tenant      TEXT    NOT NULL,
	user        TEXT    NOT NULL,
	tool        TEXT    NOT NULL,
	key         TEXT    NOT NULL,
	fingerprint TEXT    NOT NULL,
	request     TEXT    NOT NULL,
	arguments   BLOB,
	class       TEXT    NOT NULL,
	state       TEXT    NOT NULL,
	attempts    INTEGER NOT NULL,
	claimed_at  INTEGER NOT NULL,
	settled_at  INTEGER,
	result      BLOB,
	facts       BLOB
) STRICT`,
		`CREATE INDEX effects_open     ON effects (tenant, tool, request) WHERE state IN ('running', 'unknown')`,
		`CREATE INDEX effects_landed   ON effects (tenant, tool, request, settled_at) WHERE state = 'landed'`,
		`CREATE INDEX effects_by_run   ON effects (run, claimed_at, id)`,
		`CREATE INDEX effects_by_owner ON effects (tenant, user, claimed_at, id)`,
		`CREATE INDEX effects_by_claim ON effects (claimed_at, id)`,
		`CREATE TABLE resolutions (
	effect   TEXT    NOT NULL REFERENCES effects (id),
	number   INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	finding  TEXT    NOT NULL,
	by       TEXT    NOT NULL,
	note     TEXT    NOT NULL,
	evidence TEXT    NOT NULL,
	result   BLOB,
	at       INTEGER NOT NULL,
	PRIMARY KEY (effect, number),
	UNIQUE (effect, id)
) STRICT, WITHOUT ROWID`,
	)
}

// makeSignals makes the tables of what people say.
func makeSignals(ctx context.Context, db database) error {
	return execEach(ctx, db,
		`CREATE TABLE approvals (
	id        TEXT    NOT NULL PRIMARY KEY,
	run       TEXT    NOT NULL REFERENCES runs (run),
	session   TEXT    NOT NULL,
	tenant    TEXT    NOT NULL,
	user      TEXT    NOT NULL,
	call      TEXT    NOT NULL,
	cmd       INTEGER NOT NULL,
	tool      TEXT    NOT NULL,
	arguments BLOB,
	effect    TEXT    NOT NULL,
	reason    TEXT    NOT NULL,
	approvers TEXT    NOT NULL,
	escalated INTEGER NOT NULL,
	asked     INTEGER NOT NULL,
	expires   INTEGER,
	hash      TEXT    NOT NULL,
	state     TEXT    NOT NULL,
	decided   INTEGER
) STRICT`,
		`CREATE INDEX approvals_by_time  ON approvals (asked, id)`,
		`CREATE INDEX approvals_by_state ON approvals (state, asked, id)`,
		`CREATE INDEX approvals_by_run   ON approvals (run, asked, id)`,
		`CREATE INDEX approvals_by_owner ON approvals (tenant, user, asked, id)`,
		`CREATE TABLE votes (
	approval TEXT    NOT NULL REFERENCES approvals (id),
	number   INTEGER NOT NULL,
	id       TEXT    NOT NULL,
	by       TEXT    NOT NULL,
	approve  INTEGER NOT NULL,
	reason   TEXT    NOT NULL,
	hash     TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	PRIMARY KEY (approval, number),
	UNIQUE (approval, id)
) STRICT, WITHOUT ROWID`,
		`CREATE TABLE signals (
	run     TEXT    NOT NULL REFERENCES runs (run),
	number  INTEGER NOT NULL,
	id      TEXT    NOT NULL,
	kind    TEXT    NOT NULL,
	by      TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	payload BLOB,
	applied INTEGER NOT NULL,
	PRIMARY KEY (run, number),
	UNIQUE (run, id)
) STRICT, WITHOUT ROWID`,
	)
}

// chainEvents moves the events over, each with its hash, and gives the runs
// those of their last ones.
func chainEvents(ctx context.Context, db database) error {
	runs, err := collect(ctx, db, scanOrigin, `SELECT run, session, tenant, user, started_at FROM runs ORDER BY run`)
	if err != nil {
		return err
	}
	for i := range runs {
		head, err := chainRun(ctx, db, &runs[i])
		if err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, `UPDATE runs SET hash = ? WHERE run = ?`, head[:], runs[i].Run); err != nil {
			return err
		}
	}
	return nil
}

// scanOrigin reads what a chain begins with.
func scanOrigin(row scanner) (h journal.Head, err error) {
	return h, row.Scan(&h.Run, &h.Session, &h.Tenant, &h.User, (*instant)(&h.StartedAt))
}

// chainRun moves the events of one run, a bounded number at a time.
func chainRun(ctx context.Context, db database, run *journal.Head) (head journal.Hash, err error) {
	const query = `SELECT seq, at, kind, payload, content FROM old_events WHERE run = ? AND seq > ? ORDER BY seq LIMIT 64`
	head = journal.Origin(run)
	for last := int64(0); ; {
		records, err := collect(ctx, db, scanRecord, query, run.Run, last)
		if err != nil || len(records) == 0 {
			return head, err
		}
		for i := range records {
			r := &records[i]
			head, last = journal.Link(head, run.Run, r), r.Seq
			if _, err := db.ExecContext(ctx, insertEvent, run.Run, r.Seq, r.At.UnixNano(), string(r.Kind), r.Payload, r.Content, head[:]); err != nil {
				return head, err
			}
		}
	}
}

// sealRuns builds the chain over all runs: they are opened in the order of
// their starts, and then stopped in the order of their ends.
func sealRuns(ctx context.Context, db database) error {
	var last journal.Seal
	for _, query := range []string{
		`SELECT runs.run, 1, events.hash, events.at FROM runs JOIN events ON events.run = runs.run AND events.seq = 1
			ORDER BY started_at, runs.run`,
		`SELECT runs.run, last_seq, runs.hash, events.at FROM runs JOIN events ON events.run = runs.run AND events.seq = last_seq
			WHERE state = 'stopped' ORDER BY updated_at, runs.run`,
	} {
		seals, err := collect(ctx, db, scanNewSeal, query)
		if err != nil {
			return err
		}
		for i := range seals {
			seals[i].Seq = last.Seq + 1
			seals[i].Hash = seals[i].Chain(last.Hash)
			last = seals[i]
			if _, err := db.ExecContext(ctx, insertSeal, sealRow(&last)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func scanNewSeal(row scanner) (s journal.Seal, err error) {
	return s, row.Scan(&s.Run, &s.Last, (*hash)(&s.Head), (*instant)(&s.At))
}

func dropOld(ctx context.Context, db database) error {
	return execEach(ctx, db, `DROP TABLE old_events`, `DROP TABLE old_runs`)
}

// column returns the texts that a query selects.
func column(ctx context.Context, db querier, query string) ([]string, error) {
	return collect(ctx, db, scanText, query)
}

// collect returns what a query selects, each row as scan reads it.
func collect[T any](ctx context.Context, db querier, scan func(scanner) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return gather(rows, scan)
}

// gather reads rows to their end and closes them.
func gather[T any](rows *sql.Rows, scan func(scanner) (T, error)) (all []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
