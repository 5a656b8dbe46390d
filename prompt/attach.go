package prompt

import "context"

// Attachment is text on the copy of one request. It never enters the canonical
// history.
type Attachment struct {
	Kind string // such as memory, skills or instructions
	ID   string // names the source to people: a file, an entry
	Text string
}

// Attacher gives what is attached to a run's requests. Implementations are safe
// for concurrent use.
type Attacher interface {
	// Attach returns the attachments as they are now. It is asked for each
	// request and obeys ctx; an error, and what is over its limits, fails the
	// preparation whole.
	Attach(ctx context.Context, r AttachRequest) ([]Attachment, error)
}

// AttachRequest says what a request is for. Identity comes from the host.
type AttachRequest struct {
	Run, Session string
	Tenant, User string
	Turn         int
	// Warn, where set, is told what people should know and the model need not,
	// such as a memory that was left out. Once is enough for each run.
	Warn func(text string)
}
