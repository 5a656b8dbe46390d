package desk

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// Seen are the ids that a run's calls returned.
type Seen struct {
	Tickets, Policies, Drafts []string
	Evidence                  []string // of the results that they stand in
	Failed                    []string // tools with a call that failed and was not made good
	texts                     []string // that were read
	backing                   []string // what their own tickets and drafts say was done
}

// SeenBy reads the facts of a run.
func SeenBy(f *verify.Facts) *Seen {
	s := &Seen{}
	for i := range f.Results {
		if r := &f.Results[i]; !r.IsError && s.add(r) {
			s.Evidence = append(s.Evidence, r.Evidence)
		}
	}
	for _, c := range leftFailed(f) {
		if !slices.Contains(s.Failed, c.tool) {
			s.Failed = append(s.Failed, c.tool)
		}
	}
	return s
}

// ids are all that were returned.
func (s *Seen) ids() []string { return slices.Concat(s.Tickets, s.Policies, s.Drafts) }

// told reports whether an id stands in a text that was read.
func (s *Seen) told(id string) bool {
	return slices.ContainsFunc(s.texts, func(text string) bool { return len(standing(text, id)) > 0 })
}

// add takes in what a call returned: of that, what the model was shown, which a
// long result is not as a whole.
func (s *Seen) add(r *verify.Result) bool {
	var facts struct { // of any of the tools: their names do not overlap
		Ticket   string        `json:"ticket_id"`
		Draft    string        `json:"draft_id"`
		Sent     bool          `json:"submitted"`
		Subject  string        `json:"subject"`
		Body     string        `json:"body"`
		Tickets  []TicketFacts `json:"tickets"`
		Policies []PolicyFacts `json:"policies"`
	}
	if json.Unmarshal(r.Data, &facts) != nil {
		return false
	}
	switch r.Tool {
	case GetTicket:
		s.Tickets = append(s.Tickets, shown(r, facts.Ticket)...)
		s.backing = append(s.backing, facts.Subject, facts.Body)
	case ListMyTickets:
		for _, t := range facts.Tickets {
			s.Tickets = append(s.Tickets, shown(r, t.ID)...)
			s.backing = append(s.backing, t.Subject, t.Body)
		}
	case SearchPolicies:
		for _, p := range facts.Policies {
			s.Policies = append(s.Policies, shown(r, p.ID)...)
		}
	case PrepareTicketDraft: // its texts are what the model wrote itself
		s.Drafts = append(s.Drafts, shown(r, facts.Draft)...)
		if facts.Sent {
			s.backing = append(s.backing, "已经提交。It has been submitted.")
		}
		return true
	default:
		return false
	}
	s.texts = append(s.texts, textsOf(r.Text)...)
	return true
}

// shown is the id where the model was shown it.
func shown(r *verify.Result, id string) []string {
	quoted, err := tool.Encode(id)
	if err != nil || id == "" || !strings.Contains(r.Text, string(quoted)) {
		return nil
	}
	return []string{id}
}

// textsOf are the texts in a result, in one spelling: all of it where it was
// shortened, and is no JSON any more.
func textsOf(result string) (texts []string) {
	dec := json.NewDecoder(strings.NewReader(result))
	for {
		part, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return texts
		case err != nil:
			return []string{spelled(strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r").Replace(result))}
		}
		if text, ok := part.(string); ok {
			texts = append(texts, spelled(text))
		}
	}
}
