package eval

import (
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/desk"
)

// rows are all that is in a task's desk when it is asked, and whose it is. They come
// from the task and from the fixtures: what a person may see is never asked of a
// service that is judged by it.
type rows struct {
	tickets  []Ticket
	policies []Policy // every version, in the order in which they were kept
}

func (t *Task) rows() *rows {
	r := fixtures()
	r.tickets, r.policies = append(r.tickets, t.Tickets...), append(r.policies, t.Policies...)
	return r
}

// fixtures are what a desk has from the beginning. A desk that has something else
// fails each trial.
func fixtures() *rows {
	r := &rows{}
	for _, t := range desk.FixtureTickets() {
		r.tickets = append(r.tickets, Ticket{ID: t.ID, Tenant: t.Owner.Tenant, User: t.Owner.User, Subject: t.Subject, Body: t.Body, Status: t.Status})
	}
	for _, p := range desk.FixturePolicies() {
		r.policies = append(r.policies, Policy{
			ID: p.ID, Tenant: p.Tenant, Title: p.Title, Body: p.Body, Viewers: p.Viewers, Version: p.Version, ValidFrom: p.ValidFrom.Format(time.DateOnly),
		})
	}
	return r
}

// of is what a person has and may see at an instant. There are no drafts yet.
func (r *rows) of(who desk.Identity, now time.Time) (h holding) {
	for i := range r.tickets {
		if t := &r.tickets[i]; t.Tenant == who.Tenant && t.User == who.User {
			h.Tickets = append(h.Tickets, t.kept())
		}
	}
	for i := range r.policies {
		p := &r.policies[i]
		if p.Tenant == who.Tenant && r.inForce(i, now) && (len(p.Viewers) == 0 || slices.Contains(p.Viewers, who.User)) {
			kept, _ := p.kept() // it was checked with its task
			h.Policies = append(h.Policies, kept)
		}
	}
	return h
}

// inForce reports whether a version is the one that counts: the latest that is
// valid, and of two from the same instant the one that was kept last.
func (r *rows) inForce(i int, now time.Time) bool {
	p, _ := r.policies[i].kept()
	if p.ValidFrom.After(now) {
		return false
	}
	for j := range r.policies {
		other, _ := r.policies[j].kept()
		if other.ID != p.ID || r.policies[j].Tenant != r.policies[i].Tenant || other.ValidFrom.After(now) {
			continue
		}
		if later := other.ValidFrom.Compare(p.ValidFrom); later > 0 || later == 0 && j > i {
			return false
		}
	}
	return true
}

// ids are those of all rows.
func (r *rows) ids() ids {
	var all ids
	for i := range r.tickets {
		all.tickets = append(all.tickets, r.tickets[i].kept().ID)
	}
	for i := range r.policies {
		all.policies = append(all.policies, r.policies[i].ID)
	}
	return ids{tickets: distinct(all.tickets), policies: distinct(all.policies)}
}

func distinct(all []string) []string { return slices.Compact(slices.Sorted(slices.Values(all))) }

// texts is everything that any row says.
func (r *rows) texts() string {
	var all holding
	for i := range r.tickets {
		all.Tickets = append(all.Tickets, r.tickets[i].kept())
	}
	for i := range r.policies {
		kept, _ := r.policies[i].kept()
		all.Policies = append(all.Policies, kept)
	}
	return all.texts()
}
