package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

const ticketColumns = `id, subject, body, status, draft, created`

func readTicket(row scanner) (t desk.Ticket, err error) {
	var draft sql.NullString
	var created int64
	err = row.Scan(&t.ID, &t.Subject, &t.Body, &t.Status, &draft, &created)
	t.Draft, t.Created = draft.String, instant(created)
	return t, err
}

// Ticket returns a person's own ticket. See [desk.TicketService].
func (d *DB) Ticket(ctx context.Context, who desk.Identity, id string) (t desk.Ticket, err error) {
	if id, err = desk.Text(id, "the ticket's id", desk.MaxTicketID); err != nil {
		return t, err
	}
	return see(ctx, d, who, "ticket.read", func(tx *tx) (desk.Ticket, string, error) {
		t, err := only(tx, desk.NotFound("ticket"), readTicket,
			`SELECT `+ticketColumns+` FROM tickets WHERE id = ? AND tenant = ? AND user = ?`, id, who.Tenant, who.User)
		return t, id, err
	})
}

// Tickets returns a person's own tickets. See [desk.TicketService].
func (d *DB) Tickets(ctx context.Context, who desk.Identity) ([]desk.Ticket, error) {
	return see(ctx, d, who, "ticket.list", func(tx *tx) ([]desk.Ticket, string, error) {
		all, err := collect(tx, readTicket,
			`SELECT id, subject, '', status, draft, created FROM tickets WHERE tenant = ? AND user = ? ORDER BY created, id`, who.Tenant, who.User)
		return all, "", err
	})
}

func (tx *tx) insertTicket(who desk.Identity, t desk.Ticket) error {
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO tickets (id, tenant, user, subject, body, status, created, draft) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, who.Tenant, who.User, t.Subject, t.Body, t.Status, stamp(t.Created), sql.NullString{String: t.Draft, Valid: t.Draft != ""})
	return err
}

// AddTicket keeps a ticket of a person as it is, with the time of now where it
// has none: what an operator does, and no tool. INVALID_ARGUMENT, and CONFLICT
// for an id that is there.
func (d *DB) AddTicket(ctx context.Context, who desk.Identity, t desk.Ticket) error {
	if err := who.Check(); err != nil {
		return err
	}
	for _, one := range []struct {
		text *string
		name string
		most int
	}{{&t.ID, "the ticket's id", desk.MaxTicketID}, {&t.Subject, "the subject", desk.MaxSubject}, {&t.Body, "the body", desk.MaxBody}} {
		clean, err := desk.Text(*one.text, one.name, one.most)
		if err != nil {
			return err
		}
		*one.text = clean
	}
	return d.write(ctx, func(tx *tx) error {
		switch there, err := only(tx, nil, readString, `SELECT id FROM tickets WHERE id = ?`, t.ID); {
		case err != nil:
			return err
		case there != "":
			return &kernel.Error{Code: kernel.CodeConflict, Message: "there is a ticket " + t.ID + " already", Hint: "give another id"}
		}
		if t.Created.IsZero() {
			t.Created = tx.now
		}
		return tx.insertTicket(who, t)
	})
}
