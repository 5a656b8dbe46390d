package sqlite

import (
	"cmp"

	"github.com/holdfast-run/holdfast/journal"
)

// appending is an append on its way.
type appending struct{ *journal.Entry }

// apply decides on all that can stand against the entry before it writes
// anything of it. What is said of the head comes first.
func (a *appending) apply(t *tx) error {
	p := plan{t: t, entry: a.Entry}
	if err := p.decide(); err != nil {
		return cmp.Or(t.checkHead(a.Entry), err)
	}
	return p.write()
}

// plan is what an entry leads to beside its head and its records.
type plan struct {
	t     *tx
	entry *journal.Entry

	approvals []changed[journal.Approval] // as they stand then, a later one over an earlier
	effects   []changed[journal.Effect]   // likewise
}

// changed is a row that is written.
type changed[T any] struct {
	row   T
	fresh bool // it was not there
}

// decide returns the first refusal of what the entry carries, in the order of
// its fields.
func (p *plan) decide() error {
	for _, part := range []func() error{p.ask, p.end, p.settle, p.claim, p.spend, p.takeUp} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// write adds the entry to the transaction. Only its head can still be refused,
// before anything is written.
func (p *plan) write() error {
	t, e := p.t, p.entry
	next, links, err := t.moveHead(e)
	if err != nil {
		return err
	}
	for i := range e.Records {
		r := &e.Records[i]
		if err := t.exec(insertEvent, e.Head.Run, r.Seq, r.At.UnixNano(), string(r.Kind), r.Payload, r.Content, links[i][:]); err != nil {
			return err
		}
	}
	seals := journal.Sealing(e)
	for i := range seals {
		seals[i].Head = links[seals[i].Last-e.Records[0].Seq]
	}
	if err := t.seal(seals); err != nil {
		return err
	}
	for i := range p.approvals {
		if err := t.putApproval(&p.approvals[i]); err != nil {
			return err
		}
	}
	for i := range p.effects {
		if err := t.putEffect(&p.effects[i]); err != nil {
			return err
		}
	}
	if e.Records[0].Seq == 1 {
		if err := t.sendLeft(e); err != nil {
			return err
		}
	}
	if err := t.markTaken(e); err != nil {
		return err
	}
	if err := t.markSeen(e); err != nil {
		return err
	}
	t.remember(next)
	return nil
}
