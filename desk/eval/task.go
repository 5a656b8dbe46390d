package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// Kind is what is asked for.
type Kind string

// The kinds.
const (
	OwnTicket          Kind = "own_ticket"     // about one's own ticket
	ForeignTicket      Kind = "foreign_ticket" // about somebody else's, or one that is not there
	NoPolicy           Kind = "no_policy"      // about what no policy says that this person may see
	PrepareTicketDraft Kind = "prepare_draft"  // for a draft
	SubmitRequest      Kind = "submit_request" // to submit or approve at once
	MissingID          Kind = "missing_id"     // without saying which ticket
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{OwnTicket, ForeignTicket, NoPolicy, PrepareTicketDraft, SubmitRequest, MissingID}
}

// Task is one labelled question.
type Task struct {
	ID       string `json:"id"` // unique in its suite
	Kind     Kind   `json:"kind"`
	User     string `json:"user"`             // who asks
	Tenant   string `json:"tenant,omitempty"` // empty: that of the fixture of this name
	Question string `json:"question"`

	// Rows that are there beside the fixtures.
	Tickets  []Ticket `json:"tickets,omitempty"`
	Policies []Policy `json:"policies,omitempty"`
	// Injection marks the signs of an instruction that stands in one of them.
	Injection *Injection `json:"injection,omitempty"`

	Steps []Step `json:"steps,omitempty"` // what a well-behaved model does here; required in script mode
	// Script is what is played in script mode: empty or Honest, the steps; else one of the Misbehaviours.
	Script string `json:"script,omitempty"`

	Expect Expect `json:"expect"`
}

// Ticket is a ticket beside the fixtures.
type Ticket struct {
	ID      string            `json:"id"`
	User    string            `json:"user"` // empty: who asks
	Tenant  string            `json:"tenant,omitempty"`
	Subject string            `json:"subject"`
	Body    string            `json:"body"`
	Status  desk.TicketStatus `json:"status,omitempty"` // empty: pending
}

// Policy is a policy beside the fixtures.
type Policy struct {
	ID        string   `json:"id"`
	Tenant    string   `json:"tenant,omitempty"` // empty: that of who asks
	Title     string   `json:"title"`
	Body      string   `json:"body"`
	Viewers   []string `json:"viewers,omitempty"`
	Version   string   `json:"version,omitempty"`    // empty: 1
	ValidFrom string   `json:"valid_from,omitempty"` // a date; empty: always
}

// Injection are the signs that an instruction inside a row was carried out.
type Injection struct {
	Acts []string `json:"acts,omitempty"` // texts that no call's arguments and no draft hold
	Says []string `json:"says,omitempty"` // texts that no answer holds either
}

// Step is what a well-behaved model does in one reply: a call, or the answer.
type Step struct {
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	Text string          `json:"text,omitempty"`
}

// Expect is what has to be true afterwards. The zero value: answered, without a
// ticket, a draft or a citation.
type Expect struct {
	Calls   []Wanted `json:"calls,omitempty"`   // that have to be made
	Tickets []string `json:"tickets,omitempty"` // ids that get_ticket may be asked for
	Drafts  [2]int   `json:"drafts,omitzero"`   // the fewest and the most
	Cite    []string `json:"cite,omitempty"`    // policies of which one has to be found and cited
	// Says has groups of texts: of each group one has to be in the answer, upper
	// and lower case alike. DraftSays is the same for each draft.
	Says      [][]string    `json:"says,omitempty"`
	DraftSays [][]string    `json:"draft_says,omitempty"`
	Status    []desk.Status `json:"status,omitempty"` // none: answered unless a draft has to be, and draft_prepared where one may
}

// Wanted is a call that has to be made.
type Wanted struct {
	Tool string            `json:"tool"`
	Args map[string]string `json:"args,omitempty"` // these among them; none: any
	Code string            `json:"code,omitempty"` // empty: OK
}

// who is on whose behalf the task runs.
func (t *Task) who() desk.Identity { return desk.Identity{Tenant: t.Tenant, User: t.User} }

// complete fills in what a task leaves out, and refuses what makes no sense.
func (t *Task) complete() error {
	if t.Tenant == "" {
		who, err := desk.Fixture(t.User)
		if err != nil {
			return fmt.Errorf("user: %q is no fixture; say the tenant too", t.User)
		}
		t.Tenant = who.Tenant
	}
	if t.Script == "" {
		t.Script = Honest
	}
	for i := range t.Tickets {
		t.Tickets[i].fill(t)
	}
	for i := range t.Policies {
		t.Policies[i].fill(t)
	}
	if len(t.Expect.Status) == 0 {
		if t.Expect.Drafts[0] == 0 {
			t.Expect.Status = append(t.Expect.Status, desk.Answered)
		}
		if t.Expect.Drafts[1] > 0 {
			t.Expect.Status = append(t.Expect.Status, desk.DraftPrepared)
		}
	}
	return t.check()
}

func (t *Ticket) fill(of *Task) {
	if t.User == "" {
		t.User = of.User
	}
	if t.Tenant == "" {
		t.Tenant = of.Tenant
	}
	if t.Status == "" {
		t.Status = desk.Pending
	}
}

func (p *Policy) fill(of *Task) {
	if p.Tenant == "" {
		p.Tenant = of.Tenant
	}
	if p.Version == "" {
		p.Version = "1"
	}
}

// The bounds of a task.
const (
	maxID       = desk.MaxSession // characters: drafts are prepared in a session of that name
	maxQuestion = 6000            // the same
)

func (t *Task) check() error {
	if _, err := desk.Text(t.ID, "id", maxID); err != nil {
		return err
	}
	if _, err := desk.Text(t.Question, "question", maxQuestion); err != nil {
		return err
	}
	if !slices.Contains(Kinds(), t.Kind) {
		return fmt.Errorf("kind: %q is none of %s", t.Kind, joined(Kinds()))
	}
	if err := t.who().Check(); err != nil {
		return err
	}
	if d := t.Expect.Drafts; d[0] < 0 || d[1] < d[0] {
		return fmt.Errorf("expect.drafts: %d and %d are no fewest and most", d[0], d[1])
	}
	for i := range t.Tickets {
		if err := t.Tickets[i].check(); err != nil {
			return err
		}
	}
	for i := range t.Policies {
		if _, err := t.Policies[i].kept(); err != nil {
			return err
		}
	}
	for i, s := range t.Steps {
		if (s.Tool == "") == (s.Text == "") {
			return fmt.Errorf("steps: number %d has to be a tool or a text", i+1)
		}
	}
	return t.checkScript()
}

func (t *Ticket) check() error {
	_, wrongID := desk.Text(t.ID, "the ticket's id", desk.MaxTicketID)
	_, wrongSubject := desk.Text(t.Subject, "the subject", desk.MaxSubject)
	_, wrongBody := desk.Text(t.Body, "the body", desk.MaxBody)
	return errors.Join(wrongID, wrongSubject, wrongBody, desk.Identity{Tenant: t.Tenant, User: t.User}.Check())
}

// kept is the ticket as the desk keeps it.
func (t *Ticket) kept() desk.Ticket {
	trim := strings.TrimSpace
	return desk.Ticket{ID: trim(t.ID), Subject: trim(t.Subject), Body: trim(t.Body), Status: t.Status}
}

// kept is the policy as the desk keeps it.
func (p *Policy) kept() (desk.Policy, error) {
	var from time.Time
	if p.ValidFrom != "" {
		var err error
		if from, err = time.Parse(time.DateOnly, p.ValidFrom); err != nil {
			return desk.Policy{}, fmt.Errorf("valid_from: %q is no date such as 2026-01-31", p.ValidFrom)
		}
	} else {
		from = time.Unix(0, 0).UTC()
	}
	out := desk.Policy{ID: p.ID, Version: p.Version, Title: p.Title, Body: p.Body, Viewers: p.Viewers, ValidFrom: from}
	return out, out.Check(p.Tenant)
}

func joined[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return strings.Join(words, ", ")
}

func invalid(message, hint string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: message, Hint: hint}
}
