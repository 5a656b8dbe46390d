package desk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/verify"
)

// Seen are the ids that a run's calls returned.
type Seen struct {
	Tickets, Policies, Drafts []string
	Evidence                  []string // of the results that they stand in
	Failed                    []string // tools with a call that failed and was not made good
	texts                     strings.Builder
}

// SeenBy reads the facts of a run.
func SeenBy(f *verify.Facts) *Seen {
	s := &Seen{}
	for i := range f.Results {
		r := &f.Results[i]
		if r.IsError || !s.add(r) {
			continue
		}
		s.Evidence = append(s.Evidence, r.Evidence)
		if r.Tool != PrepareDraft { // that says what the model wrote itself
			s.texts.WriteString(r.Text)
			s.texts.WriteByte('\n')
		}
	}
	for _, c := range leftFailed(f) {
		if !slices.Contains(s.Failed, c.tool) {
			s.Failed = append(s.Failed, c.tool)
		}
	}
	return s
}

func (s *Seen) add(r *verify.Result) bool {
	var facts struct { // of any of the tools: their names do not overlap
		Ticket   string        `json:"ticket_id"`
		Draft    string        `json:"draft_id"`
		Tickets  []TicketFacts `json:"tickets"`
		Policies []PolicyFacts `json:"policies"`
	}
	if json.Unmarshal(r.Data, &facts) != nil {
		return false
	}
	switch r.Tool {
	case GetTicket:
		s.Tickets = append(s.Tickets, facts.Ticket)
	case ListMyTickets:
		for _, t := range facts.Tickets {
			s.Tickets = append(s.Tickets, t.ID)
		}
	case SearchPolicy:
		for _, p := range facts.Policies {
			s.Policies = append(s.Policies, p.ID)
		}
	case PrepareDraft:
		s.Drafts = append(s.Drafts, facts.Draft)
	default:
		return false
	}
	return true
}
