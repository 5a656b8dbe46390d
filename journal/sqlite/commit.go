package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// commit writes a batch and gives each append its own outcome. An append that
// the file refuses for its own sake takes only itself out of the transaction.
func (w *writer) commit(batch []*request) {
	for len(batch) > 0 {
		outcomes, failed, err := w.transact(batch)
		if err == nil {
			w.settle(batch, outcomes)
			return
		}
		err = w.file.fault(err)
		if failed < 0 {
			for _, r := range batch {
				r.done <- err
			}
			return
		}
		batch[failed].done <- err
		batch = slices.Delete(batch, failed, failed+1)
	}
}

// settle reports a committed batch: an outcome is nil for what was written.
func (w *writer) settle(batch []*request, outcomes []error) {
	var appends, records int64
	for i, r := range batch {
		if outcomes[i] == nil {
			appends++
			records += int64(len(r.Records))
		}
	}
	if appends > 0 { // counted before anyone can look
		w.commits.Add(1)
		w.appends.Add(appends)
		w.records.Add(records)
	}
	for i, r := range batch {
		r.done <- outcomes[i]
	}
}

// transact writes a batch in one transaction. The outcomes are those of the
// appends, in order: nil or a refusal. An error means that the transaction was
// rolled back; failed is then the index of the one append that caused it, or -1
// when it concerns them all.
func (w *writer) transact(batch []*request) (outcomes []error, failed int, err error) {
	ctx := context.Background() // an append that was taken is carried through
	if _, err := w.statements.begin.ExecContext(ctx); err != nil {
		return nil, -1, err
	}
	outcomes = make([]error, len(batch))
	for i, r := range batch {
		outcomes[i] = w.statements.write(ctx, r)
		if outcomes[i] == nil || refused(outcomes[i]) {
			continue
		}
		w.rollback(ctx)
		if ofOneAppend(outcomes[i]) {
			return nil, i, outcomes[i]
		}
		return nil, -1, outcomes[i]
	}
	if _, err := w.statements.commit.ExecContext(ctx); err != nil {
		w.rollback(ctx)
		return nil, -1, err
	}
	return outcomes, -1, nil
}

// rollback ends a failed transaction. After some failures SQLite has ended it
// already, and says so with an error that means nothing here.
func (w *writer) rollback(ctx context.Context) {
	_, _ = w.statements.rollback.ExecContext(ctx)
}

// refused says that an append was turned down before it wrote anything.
func refused(err error) bool {
	return kernel.CodeOf(err) != ""
}

// statements are prepared once for the writer's connection.
type statements struct {
	begin, commit, rollback *sql.Stmt
	insertRun, updateRun    *sql.Stmt
	insertEvent, selectHead *sql.Stmt
	all                     []*sql.Stmt
}

// prepare fills s. Whatever it returns, close what it has filled.
func (s *statements) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.insertRun, `INSERT INTO runs (` + headColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.updateRun, `UPDATE runs SET state = ?, stop = ?, verified = ?, turns = ?, question = ?, updated_at = ?, last_seq = ?
			WHERE run = ? AND last_seq = ? AND session = ? AND tenant = ? AND user = ? AND started_at = ?`},
		{&s.insertEvent, `INSERT INTO events (run, seq, at, kind, payload, content) VALUES (?, ?, ?, ?, ?, ?)`},
		{&s.selectHead, selectHead},
	} {
		stmt, err := conn.PrepareContext(ctx, p.query)
		if err != nil {
			return err
		}
		*p.stmt = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// write adds one append to the transaction. A CONFLICT or an INVALID_ARGUMENT
// has written nothing; after any other error the transaction must be rolled
// back.
func (s *statements) write(ctx context.Context, r *request) error {
	written, err := s.writeHead(ctx, r)
	if err != nil {
		return err
	}
	if !written {
		return s.refusal(ctx, r)
	}
	for i := range r.Records {
		rec := &r.Records[i]
		_, err := s.insertEvent.ExecContext(ctx,
			r.Head.Run, rec.Seq, rec.At.UnixNano(), string(rec.Kind), rec.Payload, rec.Content)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeHead moves the head on if the records follow it, and says whether they
// do.
func (s *statements) writeHead(ctx context.Context, r *request) (bool, error) {
	h, first := &r.Head, r.Records[0].Seq
	last := first + int64(len(r.Records)) - 1
	state, stop, verified := string(h.State), string(h.Stop), string(h.Verified)
	started, updated := h.StartedAt.UnixNano(), h.UpdatedAt.UnixNano()
	var res sql.Result
	var err error
	if first == 1 {
		res, err = s.insertRun.ExecContext(ctx, h.Run, h.Session, h.Tenant, h.User,
			state, stop, verified, h.Turns, h.Question, started, updated, last)
	} else {
		res, err = s.updateRun.ExecContext(ctx, state, stop, verified, h.Turns, h.Question, updated, last,
			h.Run, first-1, h.Session, h.Tenant, h.User, started)
	}
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// refusal says why no head was written.
func (s *statements) refusal(ctx context.Context, r *request) error {
	stored, err := scanHead(s.selectHead.QueryRowContext(ctx, r.Head.Run))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	first := r.Records[0].Seq
	if first == stored.LastSeq+1 {
		if err := journal.SameRun(&stored, &r.Head); err != nil {
			return err
		}
	}
	return journal.Conflict(r.Head.Run, stored.LastSeq, first)
}
