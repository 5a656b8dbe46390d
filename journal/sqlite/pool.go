package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	selectEvents = `SELECT seq, at, kind, payload, content FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`
	selectLinks  = `SELECT hash FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`
	selectSeals  = `SELECT ` + sealColumns + ` FROM seals WHERE seq > ? ORDER BY seq LIMIT ?`
	selectToTake = `SELECT ` + signalColumns + ` FROM signals WHERE run = ? AND applied = 0 ORDER BY number`
)

// pool reads through connections that cannot write. Its methods are the
// promoted ones of Journal and Reader. None of them leaves a transaction open:
// a log that someone reads from cannot be shortened.
type pool struct {
	file file
	db   *sql.DB

	mu     sync.RWMutex // held for reading by each read, so that shut waits for them
	closed bool

	stmts    sync.Mutex // guards prepared
	prepared map[string]*sql.Stmt

	watch   sync.Mutex // guards watcher
	watcher *sql.Conn  // for Changes alone; nil: not yet
}

func openPool(ctx context.Context, f file, o Options) (*pool, error) {
	db, err := sql.Open("sqlite", f.readerDSN(o))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(o.Readers + 1) // one watches
	db.SetMaxIdleConns(o.Readers + 1)
	p := &pool{file: f, db: db, prepared: map[string]*sql.Stmt{}}
	for _, query := range []string{selectHead, selectEvents} {
		if _, err := p.prepare(ctx, query); err != nil {
			return nil, errors.Join(err, p.shut())
		}
	}
	return p, nil
}

// prepare returns a statement, which is prepared once for each connection.
func (p *pool) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	p.stmts.Lock()
	defer p.stmts.Unlock()
	if stmt := p.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := p.db.PrepareContext(ctx, query)
	if err == nil {
		p.prepared[query] = stmt
	}
	return stmt, err
}

// shut waits for reads under way and closes the connections.
func (p *pool) shut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	for _, stmt := range p.prepared {
		errs = append(errs, stmt.Close())
	}
	if p.watcher != nil {
		errs = append(errs, p.watcher.Close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}

// reading does a read while the pool is open. Its error is the file's, unless it
// is typed.
func (p *pool) reading(do func() error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return journal.Closed()
	}
	if err := do(); err != nil {
		return p.file.fault(err)
	}
	return nil
}

// query returns what a prepared query selects.
func query[T any](ctx context.Context, p *pool, scan func(scanner) (T, error), text string, args ...any) ([]T, error) {
	stmt, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	return gather(rows, scan)
}

// ofRun returns what a query selects of a run, which must be there.
func ofRun[T any](ctx context.Context, p *pool, scan func(scanner) (T, error), text, run string, args ...any) (found []T, err error) {
	err = p.reading(func() error {
		found, err = query(ctx, p, scan, text, append([]any{run}, args...)...)
		if err == nil && len(found) == 0 { // nothing that matches, or no such run?
			_, err = p.head(ctx, run)
		}
		return err
	})
	return found, err
}

// Read returns records of a run. See [journal.Reader].
func (p *pool) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	return ofRun(ctx, p, scanRecord, selectEvents, run, after, orAll(limit))
}

// Links returns the hashes of a run's records. See [journal.Reader].
func (p *pool) Links(ctx context.Context, run string, after int64, limit int) ([]journal.Hash, error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	return ofRun(ctx, p, scanHash, selectLinks, run, after, orAll(limit))
}

// Signals returns the signals that a run has not taken up. See
// [journal.Reader].
func (p *pool) Signals(ctx context.Context, run string) ([]journal.Signal, error) {
	return ofRun(ctx, p, scanSignal, selectToTake, run)
}

// Notices returns the notices of a session that wait. See
// [journal.FactReader].
func (p *pool) Notices(ctx context.Context, s journal.SessionID) ([]journal.Notice, error) {
	return p.noticesBy(ctx, selectNotices, s)
}

// AllNotices returns the notices of a session. See [journal.ChainReader].
func (p *pool) AllNotices(ctx context.Context, s journal.SessionID) ([]journal.Notice, error) {
	return p.noticesBy(ctx, selectAllNotices, s)
}

func (p *pool) noticesBy(ctx context.Context, text string, s journal.SessionID) (all []journal.Notice, err error) {
	err = p.reading(func() (err error) {
		all, err = query(ctx, p, scanNotice, text, s.Tenant, s.User, s.Session)
		return err
	})
	return all, err
}

// Seals returns the chain over all runs. See [journal.Reader].
func (p *pool) Seals(ctx context.Context, after int64, limit int) (seals []journal.Seal, err error) {
	if err := journal.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = p.reading(func() error {
		seals, err = query(ctx, p, scanSeal, selectSeals, after, orAll(limit))
		return err
	})
	return seals, err
}

// Changes returns a number that differs after any commit of this process or
// of another one. See [journal.Reader]. It costs no more than a look at the
// index of the log.
func (p *pool) Changes(ctx context.Context) (n int64, err error) {
	err = p.reading(func() error {
		p.watch.Lock()
		defer p.watch.Unlock()
		if p.watcher == nil {
			if p.watcher, err = p.db.Conn(ctx); err != nil {
				return err
			}
		}
		// The number is the connection's own: it counts what all others write.
		return p.watcher.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	})
	return n, err
}

// orAll turns a limit of the contract into one of SQL.
func orAll(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}
