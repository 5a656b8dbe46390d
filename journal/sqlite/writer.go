package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of one transaction; the first request of a batch is always taken.
const (
	maxBatch      = 256     // requests
	maxBatchBytes = 4 << 20 // payloads and contents
)

// operation is what the writer carries out inside a transaction. An error with
// a code is a refusal, and has left nothing in the transaction; after any other one
// the transaction is rolled back, and the operation may be applied again.
type operation interface{ apply(t *tx) error }

// request is an operation on its way. Only the writer's goroutine touches it
// after it was queued.
type request struct {
	operation
	size int        // bytes of payloads and contents
	done chan error // its outcome, once; never blocks the writer
}

func newRequest(o operation) *request {
	r := &request{operation: o, done: make(chan error, 1)}
	if a, ok := o.(*appending); ok {
		for i := range a.Records {
			r.size += len(a.Records[i].Payload) + len(a.Records[i].Content)
		}
	}
	return r
}

// writer owns the one connection that writes. Its goroutine takes all requests
// that wait, up to the bounds above, and commits them together.
type writer struct {
	file    file
	opened  os.FileInfo // what that was when it was opened
	db      *sql.DB     // of conn alone
	conn    *sql.Conn
	tx      *tx
	stopped chan struct{} // closed when run has returned

	// For the goroutine alone: see log.go.
	patience time.Duration // for other processes' locks
	idle     time.Duration // without anything to write, until the log is emptied
	written  bool          // since the log was emptied
	tooLong  int64         // the size at which the log is shortened next

	wake   chan struct{} // holds one when the queue fills, or at closed
	mu     sync.Mutex
	queue  []*request // not taken yet, in order
	closed bool

	appends, records, commits atomic.Int64
}

// openWriter prepares the file for writing. The caller starts run, or releases
// the writer.
func openWriter(ctx context.Context, f file, o Options) (*writer, error) {
	db, err := sql.Open("sqlite", f.writerDSN(o))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w := &writer{
		file: f, db: db, conn: conn, tx: newTx(conn), stopped: make(chan struct{}),
		patience: o.BusyTimeout, idle: idleAfter, tooLong: maxLog, wake: make(chan struct{}, 1),
	}
	if err := w.ready(ctx, o); err != nil {
		return nil, errors.Join(err, w.release())
	}
	return w, nil
}

func (w *writer) ready(ctx context.Context, o Options) error {
	if err := w.conn.Raw(w.file.writable); err != nil {
		return err
	}
	if err := migrate(ctx, w.conn, w.file, migrations()); err != nil {
		return err
	}
	if err := useWAL(ctx, w.conn, w.file, o); err != nil {
		return err
	}
	var err error
	if w.opened, err = os.Stat(w.file.path); err != nil {
		return err
	}
	// What every append needs is prepared at once, so that a file that lacks a
	// column shows when it is opened.
	for _, query := range []string{selectHead, insertHead, moveOn, moveInto, insertEvent, insertSeal} {
		if _, err := w.tx.prepare(query); err != nil {
			return err
		}
	}
	return nil
}

// do has an operation carried out, and returns its outcome. A context that ends
// while it waits takes it out of the queue.
func (w *writer) do(ctx context.Context, o operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.await(ctx, newRequest(o))
}

// await queues r and returns its outcome.
func (w *writer) await(ctx context.Context, r *request) error {
	if err := w.enqueue(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if w.withdraw(r) {
			return ctx.Err()
		}
		return <-r.done
	}
}

func (w *writer) enqueue(r *request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return journal.Closed()
	}
	w.queue = append(w.queue, r)
	w.rouse()
	return nil
}

// rouse makes the goroutine look at the queue.
func (w *writer) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it is about to
	}
}

// withdraw says whether r was still in the queue, and removes it.
func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, r)
	if i < 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// run commits what is queued until stop, and then the rest of the queue.
func (w *writer) run() {
	defer close(w.stopped)
	for w.wait() {
		for batch := w.gather(); batch != nil; batch = w.gather() {
			w.commit(batch)
			w.written = true
			w.shortenLog()
		}
	}
}

// wait returns when there is something to take, and false when there will be
// nothing any more. When nothing comes for a while it empties the log.
func (w *writer) wait() bool {
	var quiet <-chan time.Time
	if w.written {
		timer := time.NewTimer(w.idle)
		defer timer.Stop()
		quiet = timer.C
	}
	for {
		w.mu.Lock()
		more, over := len(w.queue) > 0, w.closed
		w.mu.Unlock()
		if more || over {
			return more
		}
		select {
		case <-w.wake:
		case <-quiet:
			w.emptyLog()
		}
	}
}

// maxYields bounds how often the writer lets others go first: a process that
// computes much must not keep it from the file.
const maxYields = 8

// gather takes the next batch once nobody is about to add to it: those whose
// appends were just committed often come with their next ones at once, and a
// commit costs the file the same for all of them as for one. Nobody is waited for:
// only what can run at this moment runs.
func (w *writer) gather() []*request {
	for range maxYields {
		before := w.waiting()
		runtime.Gosched()
		if w.waiting() == before {
			break
		}
	}
	return w.take()
}

func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// take removes the next batch from the queue, or returns nil.
func (w *writer) take() []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	n, size := 1, w.queue[0].size
	for n < len(w.queue) && n < maxBatch && size+w.queue[n].size <= maxBatchBytes {
		size += w.queue[n].size
		n++
	}
	batch := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return batch
}

// stillThere refuses to write where nobody would find it: into a file that was
// moved, removed or replaced since it was opened.
func (w *writer) stillThere() error {
	info, err := os.Stat(w.file.path)
	if err == nil && os.SameFile(info, w.opened) {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s is not the file any more that was opened: it was moved, removed or replaced", w.file.name),
		Hint:    "end this process; then see which of the files is the right one, and look at the outside world before holdfast work goes on",
		Err:     err,
	}
}

// stop refuses further requests and waits until those under way are committed.
func (w *writer) stop() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.rouse()
	<-w.stopped
}

// release closes the connection. The goroutine must have ended, or never have
// started.
func (w *writer) release() error {
	return errors.Join(w.tx.close(), w.conn.Close(), w.db.Close())
}
