package sqlite

import (
	"time"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	updateLease = `UPDATE runs SET lease_owner = ?, lease_token = ?, lease_until = ? WHERE run = ?`
	renewLease  = `UPDATE runs SET lease_until = ? WHERE run = ? AND lease_owner = ?`
)

// acquiring takes a lease.
type acquiring struct {
	run, owner string
	now, until time.Time
	lease      journal.Lease // as it stands then
}

func (a *acquiring) apply(t *tx) error {
	stored, err := one(t, scanHead, selectHead, a.run)
	if err != nil {
		return err
	}
	if stored == nil {
		return journal.NotFound(a.run)
	}
	if a.lease, err = journal.Take(stored, a.owner, a.now, a.until); err != nil {
		return err
	}
	return t.setLease(stored, a.lease)
}

// setLease writes a lease over that of the stored head.
func (t *tx) setLease(stored *journal.Head, l journal.Lease) error {
	stored.Lease = l
	t.remember(stored)
	return t.exec(updateLease, l.Owner, l.Token, orNull(l.Until), stored.Run)
}

// renewing moves the end of the leases of an owner.
type renewing struct {
	owner string
	runs  []string
	until time.Time
	lost  []string // those that are not the owner's
}

func (r *renewing) apply(t *tx) error {
	r.lost = nil // of an attempt that was rolled back
	for _, run := range r.runs {
		renewed, err := t.change(renewLease, orNull(r.until), run, r.owner)
		if err != nil {
			return err
		}
		if !renewed {
			r.lost = append(r.lost, run)
		} else if known, ok := t.heads[run]; ok {
			known.Lease.Until = r.until
			t.heads[run] = known
		}
	}
	return nil
}

// releasing gives a lease back.
type releasing struct {
	run   string
	lease journal.Lease
}

func (r *releasing) apply(t *tx) error {
	stored, err := one(t, scanHead, selectHead, r.run)
	if err != nil {
		return err
	}
	if stored == nil {
		return journal.NotFound(r.run)
	}
	if !stored.Lease.Is(r.lease) {
		return nil
	}
	return t.setLease(stored, stored.Lease.Free())
}
