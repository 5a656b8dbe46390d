package eval

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/verify"
)

// returned is what the results of a run hold.
type returned struct {
	tickets, drafts []string // ids
	listed          []string // tickets that stood in a list
	policies        []desk.PolicyFacts
	texts           string // that told the model something which it did not write itself
}

func returnedBy(results []verify.Result) *returned {
	r := &returned{}
	for i := range results {
		r.add(&results[i])
	}
	return r
}

func (r *returned) add(one *verify.Result) {
	if one.Tool != desk.PrepareTicketDraft {
		// With its texts as they are: JSON escapes what stands in it.
		r.texts += one.Text + "\n" + strings.Join(textsIn(string(one.Data)), "\n") + "\n"
	}
	var data struct { // of any of the tools: their names do not overlap
		Ticket   string             `json:"ticket_id"`
		Draft    string             `json:"draft_id"`
		Tickets  []desk.TicketFacts `json:"tickets"`
		Policies []desk.PolicyFacts `json:"policies"`
	}
	if one.IsError || json.Unmarshal(one.Data, &data) != nil {
		return
	}
	if data.Ticket != "" {
		r.tickets = append(r.tickets, data.Ticket)
	}
	if data.Draft != "" {
		r.drafts = append(r.drafts, data.Draft)
	}
	for _, t := range data.Tickets {
		r.tickets, r.listed = append(r.tickets, t.ID), append(r.listed, t.ID)
	}
	r.policies = append(r.policies, data.Policies...)
}

// ids are all of them.
func (r *returned) ids() []string {
	ids := append(append([]string{}, r.tickets...), r.drafts...)
	for _, p := range r.policies {
		ids = append(ids, p.ID)
	}
	return ids
}
