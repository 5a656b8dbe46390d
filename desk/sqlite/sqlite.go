// Package sqlite keeps the desk in one SQLite file: tickets, drafts, policies
// and the audit of who saw them.
//
// The file is in WAL mode with synchronous=FULL. What is written is written in
// one transaction that takes the file's lock at its beginning, with the line of
// the audit in it. What is read is read in a snapshot, which waits for nobody and
// nobody for it, however long a ranking takes; its line of the audit is on the disk before
// anything of it is returned. Methods open the transactions, and the functions below
// them take one.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

var (
	_ desk.TicketService = (*DB)(nil)
	_ desk.DraftService  = (*DB)(nil)
	_ desk.PolicyService = (*DB)(nil)
	_ desk.PolicyFinder  = (*DB)(nil)
	_ desk.PolicyRanker  = (*DB)(nil)
	_ desk.Auditor       = (*DB)(nil)
)

// Options of Create and Open. The zero value is good.
type Options struct {
	Now func() time.Time // nil: the system's clock
	// Embedder makes vectors of what is imported and of what is searched for,
	// before the transactions that use them. nil: policies are found by words alone.
	Embedder desk.Embedder
}

// DB is an open desk. It is safe for concurrent use, by several processes too.
// Close it after use.
type DB struct {
	path     string
	db       *sql.DB // writes
	readers  *sql.DB
	now      func() time.Time
	embedder desk.Embedder // nil: none
}

// Create opens the desk in the file at path and makes what is missing: the
// file and its tables, with nothing in them. What is there stays as it is.
// CONFIGURATION, VERSION or LOCAL_STORAGE.
func Create(ctx context.Context, path string, o Options) (*DB, error) {
	if path == "" {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the desk needs a file", Hint: "name one with --db"}
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, fault(path, err)
	}
	d, err := connect(path, o)
	if err != nil {
		return nil, err
	}
	if err := d.write(ctx, (*tx).migrate); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Open opens the desk in the file at path: NOT_INITIALIZED where there is none,
// VERSION for one of a newer program, LOCAL_STORAGE for one that others may write
// and for anything else.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if info, err := os.Stat(path); path == "" || errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, notInitialized(path)
	} else if err != nil {
		return nil, fault(path, err)
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	d, err := connect(path, o)
	if err != nil {
		return nil, err
	}
	if err := d.write(ctx, func(tx *tx) error { return tx.ready(path) }); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func notInitialized(path string) error {
	return &kernel.Error{
		Code: desk.CodeNotInitialized, Message: fmt.Sprintf("there is no desk in %.200q yet", path),
		Hint: "holdfast desk init makes one",
	}
}

func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// busy is how long a statement waits for another one's lock on the file.
const busy = 10 * time.Second

func connect(path string, o Options) (*DB, error) {
	if err := guard(path); err != nil {
		return nil, err
	}
	if e := o.Embedder; e != nil && (!kernel.IsName(e.Name()) || e.Dimensions() < 1 || e.Dimensions() > desk.MaxDimensions) {
		return nil, &kernel.Error{
			Code: kernel.CodeConfiguration, Message: fmt.Sprintf("an embedder has a name and 1 to %d dimensions", desk.MaxDimensions),
			Hint: "name the embedder in the desk's options after its model, with the length of its vectors",
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fault(path, err)
	}
	// One connection writes: transactions of one process wait in a queue that is fair,
	// and not in SQLite's busy loop.
	db, err := pool(abs, 1, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	readers, err := pool(abs, max(4, runtime.GOMAXPROCS(0)), "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d := &DB{path: abs, db: db, readers: readers, now: o.Now, embedder: o.Embedder}
	if d.now == nil {
		d.now = time.Now
	}
	return d, nil
}

// pool has at most n connections to the file, each made when it is first needed.
func pool(path string, n int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"}, // but for transactions that only read
		"_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "trusted_schema(0)"),
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, fault(path, err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// Copy writes what the desk holds now to the file at path, which must be missing
// or empty: LOCAL_STORAGE.
func (d *DB) Copy(ctx context.Context, path string) error {
	err := makeFile(path)
	if err == nil {
		_, err = d.db.ExecContext(ctx, `VACUUM INTO ?`, path)
	}
	return faultOf("the copy of the desk", path, err)
}

// Close closes the file.
func (d *DB) Close() error { return fault(d.path, errors.Join(d.readers.Close(), d.db.Close())) }

// tx is a transaction under way.
type tx struct {
	*sql.Tx
	ctx context.Context
	now time.Time
	by  desk.Embedder // of vectors; nil: none
}

// write carries do out in a transaction that holds the file's lock.
func (d *DB) write(ctx context.Context, do func(*tx) error) error {
	return d.transact(ctx, d.db, nil, do)
}

// read carries do out in a snapshot of the file, without a lock that writing waits for.
func (d *DB) read(ctx context.Context, do func(*tx) error) error {
	return d.transact(ctx, d.readers, &sql.TxOptions{ReadOnly: true}, do)
}

func (d *DB) transact(ctx context.Context, on *sql.DB, o *sql.TxOptions, do func(*tx) error) error {
	t, err := on.BeginTx(ctx, o)
	if err != nil {
		return fault(d.path, err)
	}
	defer func() { _ = t.Rollback() }() // of one that was committed it does nothing
	if err := do(&tx{Tx: t, ctx: ctx, now: d.now().UTC(), by: d.embedder}); err != nil {
		return fault(d.path, err)
	}
	return fault(d.path, t.Commit())
}

// change carries do out for a person in one transaction with its line in the audit. do
// returns the id of what it touched.
func (d *DB) change(ctx context.Context, who desk.Identity, action string, do func(*tx) (object string, err error)) error {
	if err := who.Check(); err != nil {
		return err
	}
	var answer error
	err := d.write(ctx, func(tx *tx) error {
		object, err := do(tx)
		if !tells(err) {
			return err
		}
		answer = err
		return tx.note(who, action, object, err)
	})
	return errors.Join(err, answer)
}

// see returns what do reads for a person, once the line of the audit is written:
// where it cannot be, nothing was seen. do returns the ids of what it found.
func see[T any](ctx context.Context, d *DB, who desk.Identity, action string, do func(*tx) (found T, object string, err error)) (found T, err error) {
	if err := who.Check(); err != nil {
		return found, err
	}
	var none T
	var object string
	var answer error
	err = d.read(ctx, func(tx *tx) (err error) {
		found, object, err = do(tx)
		if !tells(err) {
			return err
		}
		answer = err
		return nil
	})
	if err == nil {
		err = d.write(ctx, func(tx *tx) error { return tx.note(who, action, object, answer) })
	}
	if err := errors.Join(err, answer); err != nil {
		return none, err
	}
	return found, nil
}

// tells says whether an outcome has a line in the audit: also an error has that tells the person
// something, such as NOT_FOUND.
func tells(err error) bool { return err == nil || kernel.CodeOf(err) != "" }

func stamp(t time.Time) int64       { return t.UnixNano() }
func instant(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }
