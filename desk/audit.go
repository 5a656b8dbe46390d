package desk

import (
	"context"
	"time"
)

// MaxAccesses is the most lines of the audit that are read at a time.
const MaxAccesses = 1000

// Access is one line of the audit: who did what to which object, and what came
// of it. It holds no content.
type Access struct {
	Number int // of the line in the audit, which has those of all tenants: later ones have greater numbers
	At     time.Time
	Who    Identity
	Action string // such as ticket.read, policy.search, draft.confirm
	// Object is its id; of a search: the ids that were found, joined by spaces. Of
	// what is not there it is what was asked for, if that looks like an id, and
	// else sha256: with how the SHA-256 of it begins in hex, since it may be anything.
	Object  string
	Outcome string // ok, or the code of the error
}

// Auditor reads the audit of a tenant. It is for operators.
type Auditor interface {
	// Accesses returns at most MaxAccesses lines about a tenant, oldest first,
	// of those with a greater number than after, which is 0 at the beginning and then the number of the
	// last line that was returned: INVALID_ARGUMENT.
	Accesses(ctx context.Context, tenant string, after int) ([]Access, error)
}
