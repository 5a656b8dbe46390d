package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-run/holdfast/desk"
)

// Desk is a desk of its own with the fixtures in it, for one trial.
type Desk struct {
	Tickets  desk.TicketService
	Drafts   desk.DraftService
	Policies desk.PolicyService
	Finder   desk.PolicyFinder
	Audit    desk.Auditor
	// AddTicket keeps a ticket of a person as it is.
	AddTicket func(ctx context.Context, who desk.Identity, t desk.Ticket) error
	Close     func() error
}

// fill adds the rows of a task.
func (d *Desk) fill(ctx context.Context, t *Task) error {
	for i := range t.Tickets {
		row := &t.Tickets[i]
		who := desk.Identity{Tenant: row.Tenant, User: row.User}
		if err := d.AddTicket(ctx, who, desk.Ticket{ID: row.ID, Subject: row.Subject, Body: row.Body, Status: row.Status}); err != nil {
			return fmt.Errorf("ticket %s: %w", row.ID, err)
		}
	}
	for i := range t.Policies {
		p, err := t.Policies[i].kept()
		if err != nil {
			return err
		}
		if _, err := d.Policies.PutPolicy(ctx, t.Policies[i].Tenant, p); err != nil {
			return fmt.Errorf("policy %s: %w", p.ID, err)
		}
	}
	return nil
}

// people are all who can have something in a task's desk.
func (t *Task) people() []desk.Identity {
	all := append(desk.Fixtures(), t.who())
	for _, row := range t.Tickets {
		all = append(all, desk.Identity{Tenant: row.Tenant, User: row.User})
	}
	for _, p := range t.Policies {
		for _, user := range p.Viewers {
			all = append(all, desk.Identity{Tenant: p.Tenant, User: user})
		}
	}
	var each []desk.Identity
	for _, who := range all {
		if !slices.Contains(each, who) {
			each = append(each, who)
		}
	}
	return each
}

// holding is what one person has and may see.
type holding struct {
	Tickets  []desk.Ticket
	Drafts   []desk.Draft
	Policies []desk.Policy
}

// world is what everybody has.
type world map[desk.Identity]holding

// look reads what everybody has, through the same services that the desk uses.
func (d *Desk) look(ctx context.Context, people []desk.Identity) (world, error) {
	w := world{}
	for _, who := range people {
		h, err := d.holding(ctx, who)
		if err != nil {
			return nil, err
		}
		w[who] = h
	}
	return w, nil
}

func (d *Desk) holding(ctx context.Context, who desk.Identity) (h holding, err error) {
	tickets, err := d.Tickets.Tickets(ctx, who)
	if err != nil {
		return h, err
	}
	for _, t := range tickets {
		if t, err = d.Tickets.Ticket(ctx, who, t.ID); err != nil {
			return h, err
		}
		h.Tickets = append(h.Tickets, t)
	}
	policies, err := d.Policies.Policies(ctx, who)
	if err != nil {
		return h, err
	}
	for _, p := range policies {
		if p, err = d.Policies.Policy(ctx, who, p.ID); err != nil {
			return h, err
		}
		h.Policies = append(h.Policies, p)
	}
	h.Drafts, err = d.Drafts.Drafts(ctx, who)
	return h, err
}

// has reports whether the person has, or may see, the row of that id.
func (h *holding) has(id string) bool {
	return slices.ContainsFunc(h.Tickets, func(t desk.Ticket) bool { return t.ID == id }) ||
		slices.ContainsFunc(h.Policies, func(p desk.Policy) bool { return p.ID == id }) ||
		slices.ContainsFunc(h.Drafts, func(d desk.Draft) bool { return d.ID == id })
}

// all is everything in it as text, for comparing: texts are quoted, so that two
// holdings that differ never read alike.
func (h *holding) all() string { return fmt.Sprintf("%#v", *h) }

// exists reports whether anybody has it.
func (w world) exists(id string) bool {
	for _, h := range w {
		if h.has(id) {
			return true
		}
	}
	return false
}

// texts is everything that a person may read.
func (h *holding) texts() string {
	var b strings.Builder
	for _, t := range h.Tickets {
		b.WriteString(t.Subject + "\n" + t.Body + "\n")
	}
	for _, p := range h.Policies {
		b.WriteString(p.Title + "\n" + p.Body + "\n")
	}
	for _, d := range h.Drafts {
		b.WriteString(d.Subject + "\n" + d.Body + "\n")
	}
	return b.String()
}

// foreign are the sentences that are there, and that the person may not read.
func (w world) foreign(who desk.Identity) []string {
	own := w[who]
	mine := own.texts()
	var found []string
	for other, h := range w {
		if other == who {
			continue
		}
		for _, s := range sentences(h.texts()) {
			if !strings.Contains(mine, s) && !slices.Contains(found, s) {
				found = append(found, s)
			}
		}
	}
	slices.Sort(found)
	return found
}

// leastSentence is the weight below which a sentence says too little to be known
// by: a character of Chinese weighs as much as two letters.
const leastSentence = 12

func sentences(text string) []string {
	var found []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("。！？；.!?;\n", r) }) {
		weight := 0
		for _, r := range s {
			weight++
			if unicode.Is(unicode.Han, r) {
				weight++
			}
		}
		if s = strings.TrimSpace(s); weight >= leastSentence {
			found = append(found, s)
		}
	}
	return found
}
