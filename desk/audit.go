package desk

import (
	"context"
	"time"
)

// Access is one line of the audit: who did what to which object, and what came
// of it. It holds no content.
type Access struct {
	At      time.Time
	Who     Identity
	Action  string // such as ticket.read, policy.search, draft.confirm
	Object  string // its id; of a search: the ids that were found, joined by spaces
	Outcome string // ok, or the code of the error
}

// Auditor reads the audit of a tenant. It is for operators.
type Auditor interface {
	// Accesses returns the lines about a tenant, oldest first, after the number
	// of lines given: INVALID_ARGUMENT.
	Accesses(ctx context.Context, tenant string, after int) ([]Access, error)
}
