package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdfast-run/holdfast/desk"
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
	err = d.seen(ctx, who, "ticket.read", func(tx *tx) (string, error) {
		t, err = only(tx, desk.NotFound("ticket"), readTicket,
			`SELECT `+ticketColumns+` FROM tickets WHERE id = ? AND tenant = ? AND user = ?`, id, who.Tenant, who.User)
		return id, err
	})
	return t, err
}

// Tickets returns a person's own tickets. See [desk.TicketService].
func (d *DB) Tickets(ctx context.Context, who desk.Identity) (all []desk.Ticket, err error) {
	err = d.seen(ctx, who, "ticket.list", func(tx *tx) (string, error) {
		all, err = collect(tx, readTicket,
			`SELECT id, subject, '', status, draft, created FROM tickets WHERE tenant = ? AND user = ? ORDER BY created, id`, who.Tenant, who.User)
		return "", err
	})
	return all, err
}

func (tx *tx) insertTicket(who desk.Identity, t desk.Ticket) error {
	_, err := tx.ExecContext(tx.ctx, `INSERT INTO tickets (id, tenant, user, subject, body, status, created, draft) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, who.Tenant, who.User, t.Subject, t.Body, t.Status, stamp(t.Created), sql.NullString{String: t.Draft, Valid: t.Draft != ""})
	return err
}
