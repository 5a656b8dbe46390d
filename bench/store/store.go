// Package store holds what the SQLite journal is measured against: loops that
// write the same rows to the same kind of file and check nothing.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Turns are the appends of that many turns of a run with one call each, as
// engine/local makes them: the reply with its decision and claim, then the
// result with the next preparation. Before them stands the run's beginning.
func Turns(run string, turns int) ([]journal.Entry, error) {
	w := work{head: journal.Head{
		Run: run, Session: "ses_" + run, Tenant: "acme", User: "ann", State: journal.Running,
		Question: "How many entries are there?", StartedAt: time.Unix(1_760_000_000, 0).UTC(),
	}}
	spec := kernel.Spec{Profile: kernel.Strict, MaxTokens: 4096, Limits: kernel.DefaultLimits(), Retry: kernel.DefaultRetry()}
	w.add([]byte(`{"text":"How many entries are there?"}`), kernel.RunStarted{At: w.now(), Spec: spec})
	w.add(nil, kernel.ContextPrepared{At: w.now(), Cmd: 2, InputTokens: 100, Messages: 1, Tools: digest})
	w.append()
	for turn := 1; turn <= turns; turn++ {
		w.turn(turn)
	}
	return w.appends, w.err
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// resultSize is the size of a result as it is stored, in bytes.
const resultSize = 2048

type work struct {
	head    journal.Head
	seq     int64
	records []journal.Record
	appends []journal.Entry
	err     error
}

func (w *work) turn(turn int) {
	id, cmd := "call_"+strconv.Itoa(turn), kernel.Seq(3*turn)
	call := kernel.Call{ID: id, Name: "lookup", Arguments: fmt.Sprintf(`{"n":%d}`, turn)}
	w.head.Turns = turn
	w.add([]byte(`{"role":"assistant","blocks":[{"kind":"call"}]}`), kernel.ModelReplied{At: w.now(), Cmd: cmd, Turn: turn, Reply: kernel.ReplyFacts{
		Stop: kernel.StopCalls, Blocks: []kernel.BlockFact{{Kind: kernel.BlockCall, Size: len(call.Arguments)}},
		Calls: []kernel.Call{call}, Usage: &kernel.Usage{Input: 1000, Output: 20}, Size: 700,
	}})
	w.add(nil, kernel.CallDecided{At: w.now(), Cmd: cmd + 1, Call: id, Answer: kernel.Allow, Rule: "rule 1: allow lookup", Effect: kernel.Read, Attempts: 1})
	w.add(nil, kernel.CallStarted{At: w.now(), Cmd: cmd + 2, Call: id})
	w.append()
	w.add([]byte(`{"text":"`+strings.Repeat("x", resultSize)+`"}`), kernel.CallReturned{At: w.now(), Cmd: cmd + 2, Call: id, Result: kernel.ResultFacts{
		Status: kernel.StatusOK, Disposition: kernel.Landed, Digest: digest, Size: resultSize,
	}})
	w.add(nil, kernel.ContextPrepared{At: w.now(), Cmd: cmd + 3, InputTokens: 1000, Messages: 2*turn + 1, Tools: digest})
	w.append()
}

// now counts milliseconds instead of reading a clock.
func (w *work) now() kernel.Time {
	return kernel.Time(w.head.StartedAt.UnixNano() + w.seq*int64(time.Millisecond))
}

func (w *work) add(content []byte, e kernel.Event) {
	payload, err := kernel.EncodeEvent(e)
	w.err = errors.Join(w.err, err)
	w.seq++
	w.records = append(w.records, journal.Record{
		Seq: w.seq, At: time.Unix(0, int64(e.When())).UTC(), Kind: e.Kind(), Payload: payload, Content: content,
	})
}

func (w *work) append() {
	w.head.UpdatedAt = w.records[len(w.records)-1].At
	w.appends = append(w.appends, journal.Entry{Head: w.head, Records: w.records})
	w.records = nil
}

// Bare writes appends with one goroutine and one connection, so many in one
// transaction, into a file that the journal has made.
type Bare struct {
	db                  *sql.DB
	begin, commit       *sql.Stmt
	event, first, later *sql.Stmt
	claim, settle, seal *sql.Stmt
	heads               bool
	seals               int64
}

// OpenBare opens the file with the settings of the journal. With heads it
// writes the rows of the runs too, as the journal does; without, only those of
// the events.
func OpenBare(ctx context.Context, path string, heads bool) (*Bare, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	b := &Bare{db: db, heads: heads}
	for _, p := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&b.begin, `BEGIN IMMEDIATE`},
		{&b.commit, `COMMIT`},
		{&b.event, `INSERT INTO events (run, seq, at, kind, payload, content, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`},
		{&b.first, `INSERT INTO runs (run, session, tenant, user, state, stop, verified, turns, question, started_at, updated_at,
			waiting_for, approval, last_seq, hash, lease_owner, lease_token, pending)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', ?, ?, '', 0, 0)`},
		{&b.claim, `INSERT INTO effects (id, run, call, session, tenant, user, tool, key, fingerprint, request, arguments, class, state, attempts, claimed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)`},
		{&b.settle, `UPDATE effects SET state = 'landed', settled_at = ?, result = ?, facts = ? WHERE id = ?`},
		{&b.seal, `INSERT INTO seals (seq, run, last, head, at, hash) VALUES (?, ?, ?, ?, ?, ?)`},
		{&b.later, `UPDATE runs SET turns = ?, updated_at = ?, last_seq = ?, hash = ? WHERE run = ?`},
	} {
		if *p.stmt, err = db.PrepareContext(ctx, p.query); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return b, nil
}

// Commit writes appends in one transaction.
func (b *Bare) Commit(ctx context.Context, appends []journal.Entry) error {
	if _, err := b.begin.ExecContext(ctx); err != nil {
		return err
	}
	for i := range appends {
		if err := b.write(ctx, &appends[i]); err != nil {
			return err
		}
	}
	_, err := b.commit.ExecContext(ctx)
	return err
}

func (b *Bare) write(ctx context.Context, a *journal.Entry) error {
	var link journal.Hash // of the size of a real one
	for i := range a.Records {
		r := &a.Records[i]
		if _, err := b.event.ExecContext(ctx, a.Head.Run, r.Seq, r.At.UnixNano(), string(r.Kind), r.Payload, r.Content, link[:]); err != nil {
			return err
		}
	}
	if !b.heads {
		return nil
	}
	h, last := &a.Head, a.Records[len(a.Records)-1].Seq
	var err error
	if a.Records[0].Seq == 1 {
		_, err = b.first.ExecContext(ctx, h.Run, h.Session, h.Tenant, h.User, string(h.State), string(h.Stop), string(h.Verified),
			h.Turns, h.Question, h.StartedAt.UnixNano(), h.UpdatedAt.UnixNano(), last, link[:])
	} else {
		_, err = b.later.ExecContext(ctx, h.Turns, h.UpdatedAt.UnixNano(), last, link[:], h.Run)
	}
	if err != nil {
		return err
	}
	return b.facts(ctx, a)
}

// facts writes what an append carries beside its records, and the seal of a run
// that begins or ends.
func (b *Bare) facts(ctx context.Context, a *journal.Entry) error {
	h := &a.Head
	for i := range a.Settled {
		s := &a.Settled[i]
		if _, err := b.settle.ExecContext(ctx, s.At.UnixNano(), s.Result, s.Facts, s.Effect); err != nil {
			return err
		}
	}
	if c := a.Claim; c != nil {
		_, err := b.claim.ExecContext(ctx, c.ID, h.Run, c.Call, h.Session, h.Tenant, h.User, c.Tool, c.Key, c.Fingerprint, c.Request,
			c.Arguments, string(c.Class), c.Attempt, c.At.UnixNano())
		if err != nil {
			return err
		}
	}
	if a.Records[0].Seq != 1 && h.State != journal.Stopped {
		return nil
	}
	var link journal.Hash
	b.seals++
	_, err := b.seal.ExecContext(ctx, b.seals, h.Run, a.Records[len(a.Records)-1].Seq, link[:], h.UpdatedAt.UnixNano(), link[:])
	return err
}

// Count returns how many events the file holds.
func (b *Bare) Count(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT count(*) FROM events`).Scan(&n)
	return n, err
}

// Close closes the file.
func (b *Bare) Close() error { return b.db.Close() }
