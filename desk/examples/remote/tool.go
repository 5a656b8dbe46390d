package remote

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// SubmitTicket is the name of the tool that submits. It is in no set that a
// model of the desk is offered.
const SubmitTicket = "submit_ticket"

// attempts is how often one submission is sent, where that does no harm.
const attempts = 3

// Promise is what the service promises. The effect class of a submission follows
// from it.
type Promise string

// The promises.
const (
	// PromiseLookup: one ticket of a key, and an answer by key whether it is there.
	PromiseLookup Promise = "lookup"
	// PromiseKeys: one ticket of a key, however often it is sent.
	PromiseKeys Promise = "keys"
	// PromiseNothing: whatever arrives makes a ticket.
	PromiseNothing Promise = "nothing"
)

// Order is what is submitted: a confirmed draft.
type Order struct {
	Ticket  string `json:"ticket_id"` // the desk's, and the key
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

// Receipt is what came of it.
type Receipt struct {
	Ticket string `json:"ticket_id"`
	Remote string `json:"remote_id"` // of the service
}

// content is what the service is sent. Who it is for comes from the host.
type content struct {
	Tenant  string `json:"tenant"`
	User    string `json:"user"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

// submitter makes the calls of submit_ticket.
type submitter struct {
	client  *client
	promise Promise
	late    late
}

// newTool returns submit_ticket as the service's promise allows.
func newTool(c *client, p Promise, timeout, settle time.Duration) (tool.Tool, error) {
	s := &submitter{client: c, promise: p, late: late{settle: settle, since: map[string]time.Time{}}}
	spec := tool.Spec{
		Name:        SubmitTicket,
		Description: "Submits a ticket that a person has confirmed. The host calls it.",
		Schema:      schema(),
		Risk:        kernel.RiskHigh,
		Limits:      tool.Limits{Timeout: 3 * timeout, Attempts: attempts},
	}
	switch p {
	case PromiseLookup:
		t, err := tool.Reconcilable(spec, s.submit, s.lookup)
		if err != nil {
			return nil, err
		}
		lookup, ok := t.(tool.Lookuper)
		if !ok { // cannot happen: it is what makes it reconcilable
			return nil, &kernel.Error{Code: kernel.CodeInternal, Message: "a reconcilable tool without a lookup", Hint: "report it: no service leads to this"}
		}
		return reconcilable{keyed{t}, lookup}, nil
	case PromiseKeys:
		spec.Effect = kernel.Idempotent
	case PromiseNothing:
		spec.Effect = kernel.Once
	default:
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "there is no such promise of a ticket service", Hint: "it is lookup, keys or nothing"}
	}
	t, err := tool.Func(spec, s.submit)
	return keyed{t}, err
}

func schema() json.RawMessage {
	text := func(most int) map[string]any {
		return map[string]any{"type": "string", "minLength": 1, "maxLength": most}
	}
	b, err := json.Marshal(map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"ticket_id": text(desk.MaxTicketID), "subject": text(desk.MaxSubject), "body": text(desk.MaxBody)},
		"required":             []string{"ticket_id", "subject", "body"},
		"additionalProperties": false,
	})
	if err != nil { // cannot happen: texts and numbers
		panic(err)
	}
	return b
}

// keyed gives a call the key of the ticket, whichever run makes it.
type keyed struct{ tool.Tool }

func (keyed) Key(c tool.Call) (string, error) {
	var o Order
	err := json.Unmarshal(c.Arguments, &o)
	return o.Ticket, err
}

type reconcilable struct {
	keyed
	tool.Lookuper
}

// submit sends the order, once. Where the answer leaves open what became of it,
// and the service can be asked, it is asked at once.
func (s *submitter) submit(ctx context.Context, c tool.Call, o Order) (Receipt, error) {
	made, err := s.client.create(ctx, c.Tenant, c.User, o)
	if e, failed := errors.AsType[*tool.Error](err); failed && s.promise == PromiseLookup {
		made, err = s.ask(ctx, c, o, e)
	}
	if err == nil {
		s.late.over(c.Key)
	}
	return Receipt{Ticket: o.Ticket, Remote: made.ID}, err
}

// ask finds out what became of a request that failed. That the service has no
// ticket does not prove that the request is not still on its way. It makes one
// ticket of a key, so that the request can be sent again all the same; but when
// that comes to nothing either, nobody knows.
func (s *submitter) ask(ctx context.Context, c tool.Call, o Order, failed *tool.Error) (found, error) {
	if failed.Disposition == "" {
		switch there, t, err := s.client.byKey(ctx, o); {
		case err != nil:
			return found{}, &tool.Error{Message: failed.Message + "; asked by key, it did not answer either", Err: errors.Join(failed, err)}
		case there == kernel.Present:
			return t, nil
		}
		s.late.add(c.Key, time.Now())
		failed = &tool.Error{Message: failed.Message + "; it has no such ticket", Disposition: kernel.DidNotHappen, Transient: true, Err: failed}
	}
	if failed.Transient && c.Attempt < attempts {
		return found{}, failed
	}
	if s.late.over(c.Key) {
		return found{}, &tool.Error{Message: failed.Message + "; a request of which it does not know may still arrive", Err: failed}
	}
	return found{}, failed
}

// lookup looks for the ticket of a call that was cut short.
func (s *submitter) lookup(ctx context.Context, _ tool.Call, o Order) (kernel.Presence, Receipt, error) {
	there, t, err := s.client.byKey(ctx, o)
	return there, Receipt{Ticket: o.Ticket, Remote: t.ID}, err
}
