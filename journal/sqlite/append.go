package sqlite

import (
	"github.com/holdfast-run/holdfast/journal"
)

// appending is an append on its way.
type appending struct{ *journal.Entry }

func (a *appending) apply(t *tx) error {
	if !a.contestable() {
		return t.append(a.Entry)
	}
	return t.attempt(func() error { return t.append(a.Entry) })
}

// contestable says that the entry can be refused after its first write. The
// head is looked at before.
func (a *appending) contestable() bool {
	return a.Claim != nil || a.Spent != "" || len(a.Asked)+len(a.Closed)+len(a.Settled)+len(a.Applied) > 0
}

// append adds one entry to the transaction. A refusal before the head is
// written has written nothing.
func (t *tx) append(e *journal.Entry) error {
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
	if err := t.seal(journal.Sealing(e, links)); err != nil {
		return err
	}
	if err := t.facts(e); err != nil {
		return err
	}
	t.remember(next)
	return nil
}

// facts writes what the entry carries beside its records.
func (t *tx) facts(e *journal.Entry) error {
	for i := range e.Asked {
		if err := t.ask(&e.Asked[i]); err != nil {
			return err
		}
	}
	for i := range e.Closed {
		if err := t.closeApproval(e.Head.Run, &e.Closed[i]); err != nil {
			return err
		}
	}
	for i := range e.Settled {
		if err := t.settle(e.Head.Run, &e.Settled[i]); err != nil {
			return err
		}
	}
	if e.Claim != nil {
		if err := t.claim(&e.Head, e.Claim); err != nil {
			return err
		}
	}
	if e.Spent != "" {
		if err := t.spend(e.Head.Run, e.Spent, e.Claim); err != nil {
			return err
		}
	}
	return t.takeUp(e)
}
