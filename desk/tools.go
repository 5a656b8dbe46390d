package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/desk/internal/ranking"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// The names of the desk's tools. Confirming is none of them.
const (
	GetTicket          = "get_ticket"
	ListMyTickets      = "list_my_tickets"
	SearchPolicies     = "search_policies"
	PrepareTicketDraft = "prepare_ticket_draft"
)

// Services are what the tools work on. The first three are required.
type Services struct {
	Tickets  TicketService
	Drafts   DraftService
	Policies PolicyFinder
	// Session is what drafts are prepared in. Empty: the session of the run.
	Session string
	// Now tells whether a draft has expired. nil: the system's clock.
	Now func() time.Time
}

// TicketFacts are what get_ticket and list_my_tickets tell of a ticket.
type TicketFacts struct {
	ID      string       `json:"ticket_id"`
	Subject string       `json:"subject"`
	Body    string       `json:"body,omitempty"`
	Status  TicketStatus `json:"status"`
}

// PolicyFacts are what search_policies tells of a policy.
type PolicyFacts struct {
	ID      string `json:"policy_id"`
	Version string `json:"version"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	// Truncated says that Body is the part of a long policy that has most to do
	// with the query.
	Truncated bool `json:"truncated,omitempty"`
}

// DraftFacts are what prepare_ticket_draft tells of a draft.
type DraftFacts struct {
	ID        string      `json:"draft_id"`
	Revision  int         `json:"revision"`
	Status    DraftStatus `json:"status"`
	Subject   string      `json:"subject"`
	Body      string      `json:"body"`
	Expires   time.Time   `json:"expires_at"`
	Submitted bool        `json:"submitted"`
}

// Found are the facts of search_policies.
type Found struct {
	Policies []PolicyFacts `json:"policies"`
}

// Mine are the facts of list_my_tickets.
type Mine struct {
	Tickets []TicketFacts `json:"tickets"`
}

// Tools returns the four tools. Who acts comes with each call, from the host.
func Tools(s Services) (*tool.Set, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	t := tools{s}
	var all []tool.Tool
	add := func(one tool.Tool, err error) error {
		all = append(all, one)
		return err
	}
	err := errors.Join(
		add(tool.Func(tool.Spec{
			Name: GetTicket, Effect: kernel.Read,
			Description: "Reads one ticket of the person who asks. Ask them for the id if they did not give it.",
			Schema:      schema(argument{"ticket_id", MaxTicketID, "the ticket's id, as the person gave it"}),
		}, t.getTicket)),
		add(tool.Func(tool.Spec{
			Name: ListMyTickets, Effect: kernel.Read,
			Description: "Lists the tickets of the person who asks, without their texts.",
		}, t.listMyTickets)),
		add(tool.Func(tool.Spec{
			Name: SearchPolicies, Effect: kernel.Read,
			Description: "Finds the policies that the person may see, at most five, best first. The query is a few words to look for, such as 差旅报销, or a short question; it is literal, and words that are missing do no harm. Cite what you use by its policy_id. Of a long policy you see the part that fits the query best (truncated): search with other words for other parts.",
			Limits:      tool.Limits{MaxResult: maxFacts},
			Schema:      schema(argument{"query", MaxQuery, "words to look for"}),
		}, t.searchPolicies)),
		add(tool.Func(tool.Spec{
			Name: PrepareTicketDraft, Effect: kernel.Idempotent,
			Description: "Prepares a draft of a ticket. It submits nothing: the person reads the draft and confirms it elsewhere, or does not.",
			Schema: schema(
				argument{"subject", MaxSubject, "the title, in one line"},
				argument{"body", MaxBody, "the text; claim no attachment and no approval that is not there"},
			),
		}, t.prepareDraft)),
	)
	if err != nil {
		return nil, err
	}
	return tool.NewSet(all...)
}

type argument struct {
	name string
	most int // characters
	what string
}

// schema takes exactly these texts.
func schema(arguments ...argument) json.RawMessage {
	properties, required := map[string]any{}, make([]string, len(arguments))
	for i, a := range arguments {
		properties[a.name] = map[string]any{"type": "string", "minLength": 1, "maxLength": a.most, "description": a.what}
		required[i] = a.name
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil { // cannot happen: texts and numbers
		panic(err)
	}
	return b
}

type tools struct{ Services }

// caller is on whose behalf a call acts, as the host says.
func caller(c tool.Call) Identity {
	return Identity{Tenant: c.Tenant, User: c.User, Through: c.Run + "/" + c.ID}
}

type getTicket struct {
	ID string `json:"ticket_id"`
}

func (t tools) getTicket(ctx context.Context, c tool.Call, in getTicket) (TicketFacts, error) {
	found, err := t.Tickets.Ticket(ctx, caller(c), in.ID)
	return ticketFacts(&found), err
}

func ticketFacts(t *Ticket) TicketFacts {
	return TicketFacts{ID: t.ID, Subject: t.Subject, Body: t.Body, Status: t.Status}
}

func (t tools) listMyTickets(ctx context.Context, c tool.Call, _ struct{}) (Mine, error) {
	found, err := t.Tickets.Tickets(ctx, caller(c))
	mine := Mine{Tickets: make([]TicketFacts, len(found))}
	for i := range found {
		mine.Tickets[i] = ticketFacts(&found[i])
	}
	return mine, err
}

type searchPolicies struct {
	Query string `json:"query"`
}

func (t tools) searchPolicies(ctx context.Context, c tool.Call, in searchPolicies) (Found, error) {
	policies, err := t.Policies.FindPolicies(ctx, caller(c), in.Query)
	found := Found{Policies: make([]PolicyFacts, len(policies))}
	words := ranking.QueryWords(in.Query)
	for i, p := range policies {
		facts := PolicyFacts{ID: p.ID, Version: p.Version, Title: p.Title, Body: p.Body}
		if facts.Truncated = encoded(p.Body) > maxExcerpt; facts.Truncated {
			facts.Body = excerpt(p.Body, words, maxExcerpt)
		}
		found.Policies[i] = facts
	}
	return found, err
}

type prepareDraft struct {
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

func (t tools) prepareDraft(ctx context.Context, c tool.Call, in prepareDraft) (DraftFacts, error) {
	d, err := t.Drafts.Prepare(ctx, caller(c), cmp.Or(t.Session, c.Session), in.Subject, in.Body)
	if err != nil {
		return DraftFacts{}, unprepared(err)
	}
	return DraftFacts{
		ID: d.ID, Revision: d.Revision, Status: d.Status(t.Now()), Subject: d.Subject, Body: d.Body, Expires: d.Expires, Submitted: d.Ticket != "",
	}, nil
}

// unprepared says that nothing was kept where that is sure: a refusal comes
// before the transaction, or ends it.
func unprepared(err error) error {
	e, ok := errors.AsType[*kernel.Error](err)
	if !ok || e.Code == kernel.CodeLocalStorage {
		return err
	}
	return &tool.Error{Message: fmt.Sprintf("%s; no draft was kept", e.Message), Code: e.Code, Disposition: kernel.DidNotHappen, Err: err}
}
