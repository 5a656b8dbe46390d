package desk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// The bounds of a draft.
const (
	MaxSession   = 80 // characters
	MaxSubject   = 120
	MaxBody      = 4000
	MaxDraftID   = 80
	DraftTimeout = time.Hour // to confirm it in
)

// Draft is a ticket that nobody has confirmed yet, or one that was confirmed.
type Draft struct {
	ID       string
	Session  string
	Revision int // from 1; a change, or a renewal, makes the next one
	Subject  string
	Body     string
	// Hash is what a confirmation is bound to: subject, body and revision. See
	// HashOf.
	Hash    string
	Created time.Time // the revision
	Expires time.Time // the revision; confirmed at this instant is too late
	Ticket  string    // that came of it; empty: none
}

// DraftStatus says how a draft stands.
type DraftStatus string

// The statuses.
const (
	DraftPending   DraftStatus = "pending"
	DraftExpired   DraftStatus = "expired"
	DraftSubmitted DraftStatus = "submitted"
)

// Status is how the draft stands at an instant.
func (d *Draft) Status(now time.Time) DraftStatus {
	switch {
	case d.Ticket != "":
		return DraftSubmitted
	case !now.Before(d.Expires):
		return DraftExpired
	}
	return DraftPending
}

// HashOf is the hash of a draft's content: SHA-256 in hex of the JSON array of
// subject and body and, from the second one on, the revision. A confirmation of an
// earlier revision is then none of a later one that says the same.
func HashOf(subject, body string, revision int) string {
	content := []any{subject, body}
	if revision > 1 {
		content = append(content, revision)
	}
	return digest(content)
}

// DraftID is the id of the draft that a person prepares in a session with a
// content: the same again is the same draft.
func DraftID(who Identity, session, hash string) string {
	return "D" + digest([]any{who.Tenant, who.User, session, hash})[:24]
}

// TicketID is the id of the one ticket that can come of a draft. Empty: no draft
// has that id.
func TicketID(draft string) string {
	rest, ok := strings.CutPrefix(draft, "D")
	if !ok || rest == "" {
		return ""
	}
	return "T" + rest
}

func digest(parts []any) string {
	b, err := json.Marshal(parts)
	if err != nil { // cannot happen: strings and a number
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Confirmed is what came of a confirmation.
type Confirmed struct {
	Ticket  string
	Draft   string
	Already bool // it was confirmed before; nothing has happened now
}

// DraftService keeps drafts. Only whoever prepared one sees it, and only they can
// confirm it: that is an act of a person, and no tool.
type DraftService interface {
	// Prepare keeps a draft and returns it. The same content in the same session
	// is the same draft, however often it is prepared: as it stands, changed by its owner or
	// submitted. One whose time is over gets a new revision and time anew. A subject
	// is one line; what people would see of a text other than it says is refused, as
	// [Legible] says: INVALID_ARGUMENT.
	Prepare(ctx context.Context, who Identity, session, subject, body string) (Draft, error)
	// Draft returns a draft: INVALID_ARGUMENT or NOT_FOUND.
	Draft(ctx context.Context, who Identity, id string) (Draft, error)
	// Drafts returns the person's drafts, oldest first: INVALID_ARGUMENT.
	Drafts(ctx context.Context, who Identity) ([]Draft, error)
	// Edit makes the next revision, with time anew; earlier confirmations count
	// for nothing: INVALID_ARGUMENT, NOT_FOUND, CONFLICT for one that was submitted.
	Edit(ctx context.Context, who Identity, id, subject, body string) (Draft, error)
	// Confirm makes the ticket of the draft whose content has that hash: in this
	// order NOT_FOUND, STALE_CONFIRMATION, the ticket that there is, DRAFT_EXPIRED,
	// the new ticket. However many confirm it at once, one ticket comes of it.
	Confirm(ctx context.Context, who Identity, id, hash string) (Confirmed, error)
}
