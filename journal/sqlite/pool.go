package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	headColumns  = `run, session, tenant, user, state, stop, verified, turns, question, started_at, updated_at, last_seq`
	selectHead   = `SELECT ` + headColumns + ` FROM runs WHERE run = ?`
	selectEvents = `SELECT seq, at, kind, payload, content, content IS NULL FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`
)

// pool reads through connections that cannot write. Its methods are the
// promoted ones of Journal and Reader.
type pool struct {
	file   file
	db     *sql.DB
	head   *sql.Stmt
	events *sql.Stmt

	mu     sync.RWMutex // held for reading by each read, so that shut waits for them
	closed bool
}

func openPool(ctx context.Context, f file, o Options) (*pool, error) {
	db, err := sql.Open("sqlite", f.readerDSN(o))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(o.Readers)
	db.SetMaxIdleConns(o.Readers)
	head, err := db.PrepareContext(ctx, selectHead)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	events, err := db.PrepareContext(ctx, selectEvents)
	if err != nil {
		return nil, errors.Join(err, head.Close(), db.Close())
	}
	return &pool{file: f, db: db, head: head, events: events}, nil
}

// shut waits for reads under way and closes the connections.
func (p *pool) shut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return errors.Join(p.head.Close(), p.events.Close(), p.db.Close())
}

// Read returns records of a run. See [journal.Reader].
func (p *pool) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil, journal.Closed()
	}
	records, err := p.read(ctx, run, after, limit)
	if err != nil {
		return nil, p.file.fault(err)
	}
	if len(records) == 0 { // nothing after that record, or no such run?
		if _, err := p.readHead(ctx, run); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (p *pool) read(ctx context.Context, run string, after int64, limit int) (_ []journal.Record, err error) {
	rows, err := p.events.QueryContext(ctx, run, after, orAll(limit))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var records []journal.Record
	for rows.Next() {
		var r journal.Record
		var at int64
		var none bool
		if err := rows.Scan(&r.Seq, &at, &r.Kind, &r.Payload, &r.Content, &none); err != nil {
			return nil, err
		}
		r.At = instant(at)
		if !none && r.Content == nil { // the driver returns nil for both
			r.Content = []byte{}
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// Head returns a run's head. See [journal.Reader].
func (p *pool) Head(ctx context.Context, run string) (journal.Head, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return journal.Head{}, journal.Closed()
	}
	return p.readHead(ctx, run)
}

func (p *pool) readHead(ctx context.Context, run string) (journal.Head, error) {
	h, err := scanHead(p.head.QueryRowContext(ctx, run))
	if errors.Is(err, sql.ErrNoRows) {
		return journal.Head{}, journal.NotFound(run)
	}
	if err != nil {
		return journal.Head{}, p.file.fault(err)
	}
	return h, nil
}

// Heads returns the heads that match q. See [journal.Reader].
func (p *pool) Heads(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	if err := journal.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil, journal.Closed()
	}
	heads, err := p.heads(ctx, q)
	if err != nil {
		return nil, p.file.fault(err)
	}
	return heads, nil
}

func (p *pool) heads(ctx context.Context, q journal.Query) (_ []journal.Head, err error) {
	query, args := selectHeads(q)
	rows, err := p.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var heads []journal.Head
	for rows.Next() {
		h, err := scanHead(rows)
		if err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, rows.Err()
}

// selectHeads names only the columns that q restricts, so that SQLite can pick
// their index. A session has few runs, an owner may have many: with a session
// the other columns are only compared (a column after a plus is never looked
// up).
func selectHeads(q journal.Query) (query string, args []any) {
	var where []string
	compare := ""
	restrict := func(column, value string) {
		where = append(where, compare+column+" = ?")
		args = append(args, value)
	}
	if q.Session != "" {
		restrict("session", q.Session)
		compare = "+"
	}
	if q.Owner != nil {
		restrict("tenant", q.Owner.Tenant)
		restrict("user", q.Owner.User)
		compare = "+"
	}
	if q.User != "" {
		restrict("user", q.User)
	}
	if q.Tenant != "" {
		restrict("tenant", q.Tenant)
	}
	query = `SELECT ` + headColumns + ` FROM runs`
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	return query + ` ORDER BY started_at DESC, run DESC LIMIT ?`, append(args, orAll(q.Limit))
}

// orAll turns a limit of the contract into one of SQL.
func orAll(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}

func scanHead(row interface{ Scan(...any) error }) (journal.Head, error) {
	var h journal.Head
	var started, updated int64
	err := row.Scan(&h.Run, &h.Session, &h.Tenant, &h.User, (*string)(&h.State), (*string)(&h.Stop), (*string)(&h.Verified),
		&h.Turns, &h.Question, &started, &updated, &h.LastSeq)
	h.StartedAt, h.UpdatedAt = instant(started), instant(updated)
	return h, err
}

func instant(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }
