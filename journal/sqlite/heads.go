package sqlite

import "github.com/holdfast-run/holdfast/journal"

const (
	selectHead = `SELECT ` + headColumns + ` FROM runs WHERE run = ?`
	insertHead = `INSERT INTO runs (` + headColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// stands is what nobody can have changed without changing the hash or the
	// lease.
	stands = ` WHERE run = ? AND last_seq = ? AND hash = ? AND lease_owner = ? AND lease_token = ?`
	// moveOn touches no column of an index.
	moveOn = `UPDATE runs SET stop = ?, verified = ?, turns = ?, question = ?, updated_at = ?, waiting_for = ?, approval = ?,
		last_seq = ?, hash = ?, lease_owner = ?, lease_token = ?, lease_until = ?` + stands
	moveInto = `UPDATE runs SET stop = ?, verified = ?, turns = ?, question = ?, updated_at = ?, waiting_for = ?, approval = ?,
		last_seq = ?, hash = ?, lease_owner = ?, lease_token = ?, lease_until = ?, state = ?, due = ?` + stands
	moveHeard = moveInto + ` AND pending = ?` // which anyone may have changed

	countSession    = `SELECT count(*) FROM runs WHERE tenant = ? AND user = ? AND session = ?`
	selectUnstopped = `SELECT run FROM runs WHERE tenant = ? AND user = ? AND session = ? AND state <> 'stopped' ORDER BY run LIMIT 1`
)

// moveHead writes the head that an entry leads to and returns it, with the links
// of the entry's records. A refusal has written nothing.
//
// A run that this process has appended to before is not read again: the head
// is changed only if it still stands as it was left.
func (t *tx) moveHead(e *journal.Entry) (*journal.Head, []journal.Hash, error) {
	if known, ok := t.heads[e.Head.Run]; ok && (e.Lease != nil || known.Lease.Owner == "") {
		next, links, err := t.replace(&known, e)
		if next != nil || err != nil && !refused(err) {
			return next, links, err
		}
	}
	stored, err := one(t, scanHead, selectHead, e.Head.Run)
	if err != nil {
		return nil, nil, err
	}
	if stored == nil {
		return t.open(e)
	}
	next, links, err := t.replace(stored, e)
	if next == nil && err == nil { // it was read a moment ago, in this transaction
		err = journal.Conflict(e.Head.Run, stored.LastSeq, e.Records[0].Seq)
	}
	return next, links, err
}

// open writes the first head of a run.
func (t *tx) open(e *journal.Entry) (*journal.Head, []journal.Hash, error) {
	lease, err := t.mayOpen(e)
	if err != nil {
		return nil, nil, err
	}
	next, links := after(&journal.Head{Hash: journal.Origin(&e.Head)}, e, lease)
	return next, links, t.exec(insertHead, headRow(next)...)
}

// mayOpen decides on the first entry of a run, and returns the lease that it
// takes.
func (t *tx) mayOpen(e *journal.Entry) (journal.Lease, error) {
	lease, err := journal.Follow(nil, e)
	h := &e.Head
	if err != nil || h.Session == "" {
		return lease, err
	}
	other, err := one(t, scanText, selectUnstopped, h.Tenant, h.User, h.Session)
	if err == nil && other != nil {
		err = journal.SessionBusy(h.Session, *other)
	}
	if err != nil || e.Place == 0 {
		return lease, err
	}
	earlier, err := one(t, scanInt, countSession, h.Tenant, h.User, h.Session)
	if err == nil {
		err = journal.Overtaken(h, e.Place, *earlier)
	}
	return lease, err
}

// checkHead decides on the head of an entry and writes nothing.
func (t *tx) checkHead(e *journal.Entry) error {
	stored, err := one(t, scanHead, selectHead, e.Head.Run)
	switch {
	case err != nil:
		return err
	case stored == nil:
		_, err = t.mayOpen(e)
	default:
		_, err = journal.Follow(stored, e)
	}
	return err
}

// replace writes the head of an entry over the stored one. It returns nil when
// that does not stand any more.
func (t *tx) replace(stored *journal.Head, e *journal.Entry) (*journal.Head, []journal.Hash, error) {
	lease, err := journal.Follow(stored, e)
	if err != nil {
		return nil, nil, err
	}
	next, links := after(stored, e, lease)
	query, args := moveOn, []any{
		string(next.Stop), string(next.Verified), next.Turns, next.Question, next.UpdatedAt.UnixNano(), next.WaitingFor, next.Approval,
		next.LastSeq, next.Hash[:], lease.Owner, lease.Token, orNull(lease.Until),
	}
	if next.State != stored.State || !next.Due.Equal(stored.Due) {
		query, args = moveInto, append(args, string(next.State), orNull(next.Due))
	}
	args = append(args, next.Run, stored.LastSeq, stored.Hash[:], stored.Lease.Owner, stored.Lease.Token)
	if e.Heard && next.State == journal.Stopped {
		query, args = moveHeard, append(args, stored.Pending)
	}
	stood, err := t.change(query, args...)
	if err != nil || !stood {
		return nil, nil, err
	}
	return next, links, nil
}

// after is the head that an entry leads to, and the links of its records.
func after(stored *journal.Head, e *journal.Entry, lease journal.Lease) (*journal.Head, []journal.Hash) {
	next, links := e.Head, make([]journal.Hash, len(e.Records))
	next.Lease, next.Pending, next.Hash = lease, stored.Pending, stored.Hash
	for i := range e.Records {
		next.Hash = journal.Link(next.Hash, next.Run, &e.Records[i])
		links[i] = next.Hash
	}
	next.LastSeq = e.Records[len(e.Records)-1].Seq
	return &next, links
}
