package desk

import (
	"context"
	"time"
)

// MaxTicketID bounds a ticket's id, in characters.
const MaxTicketID = 80

// Ticket is a request of a person to their company.
type Ticket struct {
	ID      string
	Subject string
	Body    string
	Status  TicketStatus
	Draft   string // that it came of; empty: none
	Created time.Time
}

// TicketStatus says how far a ticket is.
type TicketStatus string

// The statuses.
const (
	NeedsInformation TicketStatus = "needs_information"
	Pending          TicketStatus = "pending"
)

// TicketService reads tickets. Only their owner sees them.
type TicketService interface {
	// Ticket returns one of the person's own tickets: INVALID_ARGUMENT, or
	// NOT_FOUND for one that is not there and for one of somebody else.
	Ticket(ctx context.Context, who Identity, id string) (Ticket, error)
	// Tickets returns the person's own tickets, oldest first, without their
	// bodies: INVALID_ARGUMENT.
	Tickets(ctx context.Context, who Identity) ([]Ticket, error)
}
