package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

// The columns of each table, in the order in which the functions below read
// and write them.
const (
	headColumns = `run, session, tenant, user, state, stop, verified, turns, question, started_at, updated_at,
		waiting_for, approval, due, last_seq, hash, lease_owner, lease_token, lease_until, pending`
	effectColumns = `id, run, call, session, tenant, user, tool, key, fingerprint, request, arguments, class, state,
		attempts, claimed_at, settled_at, result, facts`
	resolutionColumns = `effect, id, finding, by, note, evidence, result, at`
	approvalColumns   = `id, run, session, tenant, user, call, cmd, tool, arguments, effect, reason, approvers, escalated,
		asked, expires, hash, state, decided`
	voteColumns   = `approval, id, by, approve, reason, hash, at`
	signalColumns = `run, number, id, kind, by, at, payload, applied`
	sealColumns   = `seq, run, last, head, at, hash`

	insertEvent = `INSERT INTO events (run, seq, at, kind, payload, content, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
	insertSeal  = `INSERT INTO seals (` + sealColumns + `) VALUES (?, ?, ?, ?, ?, ?)`
)

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// instant reads an instant, and the zero Time for NULL.
type instant time.Time

// Scan sets t. See [database/sql.Scanner].
func (t *instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*t = instant{}
	case int64:
		*t = instant(time.Unix(0, v).UTC())
	default:
		return fmt.Errorf("%T is no instant", v)
	}
	return nil
}

// orNull is what instant reads back as t.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// hash reads a link of a chain. Bytes that are none are read as zero, which no
// chain holds, so that whoever verifies finds them.
type hash journal.Hash

// Scan sets h. See [database/sql.Scanner].
func (h *hash) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok {
		return fmt.Errorf("%T is no hash", v)
	}
	*h = hash{}
	if len(b) == len(h) {
		copy(h[:], b)
	}
	return nil
}

// blob reads bytes: NULL as nil, and none as none. The driver has made them for
// this row alone.
type blob []byte

// Scan sets b. See [database/sql.Scanner].
func (b *blob) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*b = nil
	case []byte:
		*b = v
		if v == nil { // as the driver returns an empty one
			*b = []byte{}
		}
	default:
		return fmt.Errorf("%T is no blob", v)
	}
	return nil
}

func scanRecord(row scanner) (r journal.Record, err error) {
	return r, row.Scan(&r.Seq, (*instant)(&r.At), (*string)(&r.Kind), (*blob)(&r.Payload), (*blob)(&r.Content))
}

func scanHash(row scanner) (h journal.Hash, err error) {
	return h, row.Scan((*hash)(&h))
}

func scanHead(row scanner) (h journal.Head, err error) {
	return h, row.Scan(&h.Run, &h.Session, &h.Tenant, &h.User, (*string)(&h.State), (*string)(&h.Stop), (*string)(&h.Verified),
		&h.Turns, &h.Question, (*instant)(&h.StartedAt), (*instant)(&h.UpdatedAt),
		&h.WaitingFor, &h.Approval, (*instant)(&h.Due), &h.LastSeq, (*hash)(&h.Hash),
		&h.Lease.Owner, &h.Lease.Token, (*instant)(&h.Lease.Until), &h.Pending)
}

func headRow(h *journal.Head) []any {
	return []any{
		h.Run, h.Session, h.Tenant, h.User, string(h.State), string(h.Stop), string(h.Verified),
		h.Turns, h.Question, h.StartedAt.UnixNano(), h.UpdatedAt.UnixNano(),
		h.WaitingFor, h.Approval, orNull(h.Due), h.LastSeq, h.Hash[:],
		h.Lease.Owner, h.Lease.Token, orNull(h.Lease.Until), h.Pending,
	}
}

func scanEffect(row scanner) (e journal.Effect, err error) {
	return e, row.Scan(&e.ID, &e.Run, &e.Call, &e.Session, &e.Tenant, &e.User, &e.Tool, &e.Key, &e.Fingerprint, &e.Request,
		(*blob)(&e.Arguments), (*string)(&e.Class), (*string)(&e.State), &e.Attempts,
		(*instant)(&e.ClaimedAt), (*instant)(&e.SettledAt), (*blob)(&e.Result), (*blob)(&e.Facts))
}

// scanClaimed reads what a settlement is decided on.
func scanClaimed(row scanner) (e journal.Effect, err error) {
	return e, row.Scan(&e.ID, &e.Run, &e.Call, (*string)(&e.State), (*instant)(&e.SettledAt))
}

func effectRow(e *journal.Effect) []any {
	return []any{
		e.ID, e.Run, e.Call, e.Session, e.Tenant, e.User, e.Tool, e.Key, e.Fingerprint, e.Request,
		e.Arguments, string(e.Class), string(e.State), e.Attempts, e.ClaimedAt.UnixNano(), orNull(e.SettledAt), e.Result, e.Facts,
	}
}

func scanResolution(row scanner) (r journal.Resolution, err error) {
	return r, row.Scan(&r.Effect, &r.ID, (*string)(&r.As), &r.By, &r.Note, &r.Evidence, (*blob)(&r.Result), (*instant)(&r.At))
}

func resolutionRow(r *journal.Resolution) []any {
	return []any{r.Effect, r.ID, string(r.As), r.By, r.Note, r.Evidence, r.Result, r.At.UnixNano()}
}

func scanApproval(row scanner) (a journal.Approval, err error) {
	var approvers []byte
	err = row.Scan(&a.ID, &a.Run, &a.Session, &a.Tenant, &a.User, &a.Call, &a.Cmd, &a.Tool, (*blob)(&a.Arguments),
		(*string)(&a.Effect), &a.Reason, &approvers, &a.Escalated,
		(*instant)(&a.Asked), (*instant)(&a.Expires), &a.Hash, (*string)(&a.State), (*instant)(&a.Decided))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(approvers, &a.Approvers)
}

func approvalRow(a *journal.Approval) ([]any, error) {
	approvers, err := json.Marshal(a.Approvers)
	if err != nil {
		return nil, err
	}
	return []any{
		a.ID, a.Run, a.Session, a.Tenant, a.User, a.Call, int64(a.Cmd), a.Tool, a.Arguments, string(a.Effect), a.Reason,
		string(approvers), a.Escalated, a.Asked.UnixNano(), orNull(a.Expires), a.Hash, string(a.State), orNull(a.Decided),
	}, nil
}

func scanVote(row scanner) (v journal.Vote, err error) {
	return v, row.Scan(&v.Approval, &v.ID, &v.By, &v.Approve, &v.Reason, &v.Hash, (*instant)(&v.At))
}

func voteRow(v *journal.Vote) []any {
	return []any{v.Approval, v.ID, v.By, v.Approve, v.Reason, v.Hash, v.At.UnixNano()}
}

func scanSignal(row scanner) (s journal.Signal, err error) {
	return s, row.Scan(&s.Run, &s.Number, &s.ID, (*string)(&s.Kind), &s.By, (*instant)(&s.At), (*blob)(&s.Payload), &s.Applied)
}

func scanSeal(row scanner) (s journal.Seal, err error) {
	return s, row.Scan(&s.Seq, &s.Run, &s.Last, (*hash)(&s.Head), (*instant)(&s.At), (*hash)(&s.Hash))
}

func sealRow(s *journal.Seal) []any {
	return []any{s.Seq, s.Run, s.Last, s.Head[:], s.At.UnixNano(), s.Hash[:]}
}

func scanInt(row scanner) (n int, err error) { return n, row.Scan(&n) }

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }
