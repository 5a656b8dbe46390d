package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

const selectDrafts = `SELECT d.id, d.session, d.ticket, r.revision, r.subject, r.body, r.hash, r.created, r.expires
	FROM drafts d JOIN revisions r ON r.draft = d.id AND r.revision = d.revision
	WHERE d.tenant = ? AND d.user = ?`

func readDraft(row scanner) (d desk.Draft, err error) {
	var ticket sql.NullString
	var created, expires int64
	err = row.Scan(&d.ID, &d.Session, &ticket, &d.Revision, &d.Subject, &d.Body, &d.Hash, &created, &expires)
	d.Ticket, d.Created, d.Expires = ticket.String, instant(created), instant(expires)
	return d, err
}

// draft returns a person's own draft, or NOT_FOUND.
func (tx *tx) draft(who desk.Identity, id string) (desk.Draft, error) {
	return only(tx, desk.NotFound("draft"), readDraft, selectDrafts+` AND d.id = ?`, who.Tenant, who.User, id)
}

// Prepare keeps a draft. See [desk.DraftService].
func (d *DB) Prepare(ctx context.Context, who desk.Identity, session, subject, body string) (draft desk.Draft, err error) {
	if err := who.Check(); err != nil {
		return draft, err
	}
	if session, err = desk.Line(session, "the session", desk.MaxSession); err != nil {
		return draft, err
	}
	if subject, body, err = content(subject, body); err != nil {
		return draft, err
	}
	id := desk.DraftID(who, session, desk.HashOf(subject, body, 1))
	err = d.change(ctx, who, "draft.prepare", func(tx *tx) (string, error) {
		draft, err = tx.draft(who, id)
		switch {
		case kernel.CodeOf(err) == kernel.CodeNotFound:
			if err := tx.insertDraft(who, id, session); err != nil {
				return id, err
			}
			draft = desk.Draft{ID: id, Session: session}
		case err != nil || draft.Status(tx.now) != desk.DraftExpired:
			return id, err
		}
		draft, err = tx.revise(draft, subject, body)
		return id, err
	})
	return draft, err
}

// content checks what a draft says.
func content(subject, body string) (string, string, error) {
	s, wrongSubject := desk.Line(subject, "the subject", desk.MaxSubject)
	b, wrongBody := desk.Legible(body, "the body", desk.MaxBody)
	return s, b, errors.Join(wrongSubject, wrongBody)
}

func (tx *tx) insertDraft(who desk.Identity, id, session string) error {
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO drafts (id, tenant, user, session, revision, created) VALUES (?, ?, ?, ?, 0, ?)`,
		id, who.Tenant, who.User, session, stamp(tx.now))
	return err
}

// revise makes the next revision of a draft the one that counts.
func (tx *tx) revise(d desk.Draft, subject, body string) (desk.Draft, error) {
	d.Revision++
	d.Subject, d.Body, d.Hash = subject, body, desk.HashOf(subject, body, d.Revision)
	d.Created, d.Expires = tx.now, tx.now.Add(desk.DraftTimeout)
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO revisions (draft, revision, subject, body, hash, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		d.ID, d.Revision, d.Subject, d.Body, d.Hash, stamp(d.Created), stamp(d.Expires))
	if err == nil {
		_, err = tx.ExecContext(tx.ctx, `UPDATE drafts SET revision = ? WHERE id = ?`, d.Revision, d.ID)
	}
	return d, err
}

// Draft returns a person's own draft. See [desk.DraftService].
func (d *DB) Draft(ctx context.Context, who desk.Identity, id string) (draft desk.Draft, err error) {
	if id, err = draftID(id); err != nil {
		return draft, err
	}
	return see(ctx, d, who, "draft.read", func(tx *tx) (desk.Draft, string, error) {
		draft, err := tx.draft(who, id)
		return draft, id, err
	})
}

func draftID(id string) (string, error) { return desk.Text(id, "the draft's id", desk.MaxDraftID) }

// Drafts returns a person's own drafts. See [desk.DraftService].
func (d *DB) Drafts(ctx context.Context, who desk.Identity) ([]desk.Draft, error) {
	return see(ctx, d, who, "draft.list", func(tx *tx) ([]desk.Draft, string, error) {
		all, err := collect(tx, readDraft, selectDrafts+` ORDER BY d.created, d.id`, who.Tenant, who.User)
		return all, "", err
	})
}

// Edit makes the next revision. See [desk.DraftService].
func (d *DB) Edit(ctx context.Context, who desk.Identity, id, subject, body string) (draft desk.Draft, err error) {
	if id, err = draftID(id); err != nil {
		return draft, err
	}
	if subject, body, err = content(subject, body); err != nil {
		return draft, err
	}
	err = d.change(ctx, who, "draft.edit", func(tx *tx) (string, error) {
		found, err := tx.draft(who, id)
		if err == nil && found.Ticket != "" {
			err = &kernel.Error{Code: kernel.CodeConflict, Message: "the draft was submitted as " + found.Ticket + " and does not change any more", Hint: "prepare another draft"}
		}
		if err == nil {
			draft, err = tx.revise(found, subject, body)
		}
		return id, err
	})
	return draft, err
}

// Confirm makes the ticket of a draft. See [desk.DraftService].
func (d *DB) Confirm(ctx context.Context, who desk.Identity, id, hash string) (c desk.Confirmed, err error) {
	if id, err = draftID(id); err != nil {
		return c, err
	}
	err = d.change(ctx, who, "draft.confirm", func(tx *tx) (string, error) {
		c, err = tx.confirm(who, id, hash)
		return id, err
	})
	return c, err
}

// confirm checks in an order that tells the least and repeats nothing: whose
// draft it is, what was confirmed, whether that has happened, whether it is late.
func (tx *tx) confirm(who desk.Identity, id, hash string) (desk.Confirmed, error) {
	none := desk.Confirmed{}
	d, err := tx.draft(who, id)
	if err != nil {
		return none, err
	}
	// What the row says counts, and not what it says its hash is.
	if actual := desk.HashOf(d.Subject, d.Body, d.Revision); actual != d.Hash || actual != hash {
		return none, &kernel.Error{
			Code: desk.CodeStaleConfirmation, Message: "the draft does not say what was confirmed",
			Hint: "read it again: holdfast desk show-draft " + d.ID,
		}
	}
	switch d.Status(tx.now) {
	case desk.DraftSubmitted:
		return desk.Confirmed{Ticket: d.Ticket, Draft: d.ID, Already: true}, nil
	case desk.DraftExpired:
		return none, &kernel.Error{
			Code: desk.CodeDraftExpired, Message: "the draft expired at " + d.Expires.Format(time.RFC3339),
			Hint: "prepare it again, or edit it: either gives it time anew, to be confirmed anew",
		}
	}
	t := desk.Ticket{ID: desk.TicketID(d.ID), Subject: d.Subject, Body: d.Body, Status: desk.Pending, Draft: d.ID, Created: tx.now}
	if err := tx.insertTicket(who, t); err != nil {
		return none, err
	}
	if _, err := tx.ExecContext(tx.ctx, `UPDATE drafts SET ticket = ? WHERE id = ?`, t.ID, d.ID); err != nil {
		return none, err
	}
	return desk.Confirmed{Ticket: t.ID, Draft: d.ID}, nil
}
