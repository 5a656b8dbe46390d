package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
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
		if err := d.AddTicket(ctx, who, row.kept()); err != nil {
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

// people are all who can have something in a task's desk, and whoever has the
// name of one of them in another tenant.
func (t *Task) people() []desk.Identity {
	all := append(desk.Fixtures(), t.who())
	for i := range t.Tickets {
		all = append(all, desk.Identity{Tenant: t.Tickets[i].Tenant, User: t.Tickets[i].User})
	}
	for i := range t.Policies {
		all = append(all, desk.Identity{Tenant: t.Policies[i].Tenant, User: t.User})
		for _, user := range t.Policies[i].Viewers {
			all = append(all, desk.Identity{Tenant: t.Policies[i].Tenant, User: user})
		}
	}
	var each []desk.Identity
	for _, tenant := range all {
		for _, user := range all {
			if who := (desk.Identity{Tenant: tenant.Tenant, User: user.User}); !slices.Contains(each, who) {
				each = append(each, who)
			}
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

// world is what a desk shows to everybody.
type world map[desk.Identity]holding

// ids are those of rows, each once.
type ids struct{ tickets, policies, drafts []string }

// first asks the desk what it shows to everybody, in its lists and by the id of
// each row that is there.
func (d *Desk) first(ctx context.Context, t *Task) (world, error) {
	all := t.rows().ids()
	return d.look(ctx, t, func(desk.Identity) ids { return all })
}

// again asks for what was shown before, and for these drafts.
func (d *Desk) again(ctx context.Context, t *Task, before world, drafts []string) (world, error) {
	return d.look(ctx, t, func(who desk.Identity) ids {
		shown := ids{drafts: distinct(drafts)}
		for _, one := range before[who].Tickets {
			shown.tickets = append(shown.tickets, one.ID)
		}
		for _, one := range before[who].Policies {
			shown.policies = append(shown.policies, one.ID)
		}
		return shown
	})
}

func (d *Desk) look(ctx context.Context, t *Task, by func(desk.Identity) ids) (world, error) {
	w := world{}
	for _, who := range t.people() {
		h, err := d.shows(ctx, who, by(who))
		if err != nil {
			return nil, err
		}
		w[who] = h
	}
	return w, nil
}

func (d *Desk) shows(ctx context.Context, who desk.Identity, by ids) (h holding, err error) {
	if h.Tickets, err = d.Tickets.Tickets(ctx, who); err != nil {
		return h, err
	}
	if h.Policies, err = d.Policies.Policies(ctx, who); err != nil {
		return h, err
	}
	if h.Drafts, err = d.Drafts.Drafts(ctx, who); err != nil {
		return h, err
	}
	var wrong [3]error
	h.Tickets, wrong[0] = withReads(h.Tickets, by.tickets, ticketKey, func(id string) (desk.Ticket, error) { return d.Tickets.Ticket(ctx, who, id) })
	h.Policies, wrong[1] = withReads(h.Policies, by.policies, policyKey, func(id string) (desk.Policy, error) { return d.Policies.Policy(ctx, who, id) })
	h.Drafts, wrong[2] = withReads(h.Drafts, by.drafts, draftKey, func(id string) (desk.Draft, error) { return d.Drafts.Draft(ctx, who, id) })
	return h, errors.Join(wrong[:]...)
}

// Two rows with one key are the same row.
func ticketKey(t desk.Ticket) string { return t.ID }
func policyKey(p desk.Policy) string { return p.ID + "\x00" + p.Version }
func draftKey(d desk.Draft) string   { return d.ID }

// withReads puts what a person gets by these ids in the place of what their list
// has, or beside it.
func withReads[T any](listed []T, ids []string, key func(T) string, read func(id string) (T, error)) ([]T, error) {
	for _, id := range ids {
		row, err := read(id)
		if kernel.CodeOf(err) == kernel.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		listed = append(slices.DeleteFunc(listed, func(one T) bool { return key(one) == key(row) }), row)
	}
	slices.SortFunc(listed, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return listed, nil
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

// rows are its tickets and policies by name, each with what it says.
func (h *holding) rows() map[string]string {
	all := map[string]string{}
	for _, t := range h.Tickets {
		all[t.ID] = fmt.Sprintf("%q", []string{t.Subject, t.Body, string(t.Status)})
	}
	for _, p := range h.Policies {
		all["version "+p.Version+" of "+p.ID] = fmt.Sprintf("%q", []string{p.Title, p.Body})
	}
	return all
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
func (r *rows) foreign(mine *holding) []string {
	var found []string
	for _, s := range sentences(r.texts()) {
		if !strings.Contains(mine.texts(), s) && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
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
