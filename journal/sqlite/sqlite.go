// Package sqlite keeps the journal in one SQLite file.
//
// The file is in WAL mode with synchronous=FULL: an append that returned nil
// survives a crash of the process and of the machine, and so do the names of the
// file and of its folders. All appends of a process
// go through one connection, whose goroutine commits those that wait together
// (group commit), since one fsync costs as much as hundreds of rows. Reads have
// their own connections and never wait for a writer.
//
// Several processes may use one file at a time, on a local disk: SQLite's locks
// order their commits, and what the pure functions of package journal say inside
// each transaction decides who wins a run, an effect or a decision. A request
// that they refuse takes only itself out of the transaction, before it has written
// anything.
//
// The file is evidence, and holds what people said: it is made for its owner
// alone, and one that others may write or replace, or that
// holds tables, views or triggers of others, is not opened. What the hash chains
// prove is said at [journal.VerifyAll].
package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

var _ journal.Journal = (*Journal)(nil)

// Options of Open and OpenReader. The zero value is good.
type Options struct {
	// BusyTimeout is how long a statement waits for another process's lock on
	// the file before it fails, in whole milliseconds; 0: 5 s.
	BusyTimeout time.Duration
	// Readers is the largest number of connections for reading; 0: 4.
	Readers int
}

// Validate reports the first option out of range, as CONFIGURATION.
func (o Options) Validate() error {
	if o.BusyTimeout < 0 || o.BusyTimeout > 0 && o.BusyTimeout < time.Millisecond || o.BusyTimeout > time.Hour {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "busy_timeout must be from 1ms to 1h, or 0 for 5s"}
	}
	if o.Readers < 0 || o.Readers > 1000 {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "readers must be from 1 to 1000, or 0 for 4"}
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	return o
}

// Journal keeps runs in a file. It is safe for concurrent use. The zero value
// is not usable: see Open.
type Journal struct {
	*pool
	writer *writer
	once   sync.Once // closes
	result error     // what closing came to
}

// Open opens the journal in the file at path. A missing file is created, with
// mode 0600, in folders that are created with mode 0700; a file of an older
// version is migrated in one transaction. Close it after use.
//
// It fails with CONFIGURATION for options or a path that cannot be used, with
// VERSION for the file of a newer version, and with LOCAL_STORAGE for anything
// else, such as the file of another application, one that others may write or
// replace, or one that holds tables, views or triggers of others: such a file is
// left as it is.
func Open(ctx context.Context, path string, o Options) (*Journal, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	f, err := locate(path)
	if err != nil {
		return nil, err
	}
	if err := f.guarded(); err != nil {
		return nil, err
	}
	if err := f.create(syncFolder); err != nil {
		return nil, err
	}
	// A look through a connection that cannot write comes first: one that can
	// would fold a left-over WAL into a file that is not ours.
	if _, err := f.inspect(ctx, o); err != nil && !needsRecovery(err) {
		return nil, f.fault(err)
	}
	w, err := openWriter(ctx, f, o)
	if err != nil {
		return nil, f.fault(err)
	}
	p, err := openPool(ctx, f, o)
	if err != nil {
		return nil, f.fault(errors.Join(err, w.release()))
	}
	go w.run()
	return &Journal{pool: p, writer: w}, nil
}

// Append adds records to a run. See [journal.Journal]. It returns after the
// commit, which it may share with others. A context's error means that nothing
// was written: a context that ends after the writer has taken the append no longer
// stops it, and Append returns what came of it, within the time that a commit
// takes (at most BusyTimeout longer while another process holds the file). The
// other methods that write do the same.
func (j *Journal) Append(ctx context.Context, e journal.Entry) error {
	if err := journal.Check(&e); err != nil {
		return err
	}
	return j.writer.do(ctx, &appending{&e})
}

// Acquire takes the lease of a run. See [journal.Journal].
func (j *Journal) Acquire(ctx context.Context, run, owner string, now, until time.Time) (journal.Lease, error) {
	if err := journal.CheckLease(owner, now, until); err != nil {
		return journal.Lease{}, err
	}
	o := &acquiring{run: run, owner: owner, now: now, until: until}
	if err := j.writer.do(ctx, o); err != nil {
		return journal.Lease{}, err
	}
	return o.lease, nil
}

// Renew moves the end of leases. See [journal.Journal].
func (j *Journal) Renew(ctx context.Context, owner string, runs []string, until time.Time) (lost []string, err error) {
	if err := journal.CheckLease(owner, until); err != nil {
		return nil, err
	}
	o := &renewing{owner: owner, runs: runs, until: until}
	if err := j.writer.do(ctx, o); err != nil {
		return nil, err
	}
	return o.lost, nil
}

// Release gives a lease back. See [journal.Journal].
func (j *Journal) Release(ctx context.Context, run string, l journal.Lease) error {
	return j.writer.do(ctx, &releasing{run: run, lease: l})
}

// Send records a signal. See [journal.Journal].
func (j *Journal) Send(ctx context.Context, s journal.Signal) (fresh bool, err error) {
	if err := journal.CheckSignal(&s); err != nil {
		return false, err
	}
	o := &sending{signal: s}
	err = j.writer.do(ctx, o)
	return o.fresh && err == nil, err
}

// Notify records a notice. See [journal.Inbox].
func (j *Journal) Notify(ctx context.Context, n journal.Notice) (fresh bool, err error) {
	if err := journal.CheckNotice(&n); err != nil {
		return false, err
	}
	o := &notifying{notice: n}
	err = j.writer.do(ctx, o)
	return o.fresh && err == nil, err
}

// Decide takes a vote. See [journal.Journal].
func (j *Journal) Decide(ctx context.Context, v journal.Vote) (journal.Approval, error) {
	if err := journal.CheckVote(&v); err != nil {
		return journal.Approval{}, err
	}
	o := &deciding{vote: v}
	if err := j.writer.do(ctx, o); err != nil {
		return journal.Approval{}, err
	}
	return o.approval, nil
}

// Resolve appends a resolution. See [journal.Journal].
func (j *Journal) Resolve(ctx context.Context, r journal.Resolution) (journal.Effect, error) {
	o := &resolving{resolution: r}
	if err := j.writer.do(ctx, o); err != nil {
		return journal.Effect{}, err
	}
	return o.effect, nil
}

// Close waits for what is under way, then closes the file. When no
// other process has it open, everything is in the one file afterwards.
func (j *Journal) Close() error {
	j.once.Do(func() {
		j.writer.stop()
		// The writer's connection goes last: the last one to close folds the WAL
		// into the file, and the readers' cannot.
		if err := errors.Join(j.shut(), j.writer.release()); err != nil {
			j.result = j.file.fault(err)
		}
	})
	return j.result
}

// Stats counts what a journal has committed since it was opened.
type Stats struct {
	Appends int64 // that returned nil
	Records int64 // in those appends
	Commits int64 // transactions that they shared, with one another and with other requests
}

// Stats returns the counts so far.
func (j *Journal) Stats() Stats {
	w := j.writer
	return Stats{Appends: w.appends.Load(), Records: w.records.Load(), Commits: w.commits.Load()}
}
