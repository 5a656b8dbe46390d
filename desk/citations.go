package desk

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/verify"
)

// Citations verifies an answer by what the run's own calls returned: every id
// that it cites was read or found by this person in this run, and where policies
// were found, it cites one of them. An answer that rests on no call at all is
// not verified.
type Citations struct{}

var _ verify.Verifier = Citations{}

// cited is what reads like the id of a ticket, a policy or a draft.
var cited = regexp.MustCompile(`\b[A-Z]+\d[0-9A-Za-z-]*\b`)

// Cited returns what reads like an id in a text, each once, in their order.
func Cited(text string) []string {
	var ids []string
	for _, id := range cited.FindAllString(text, -1) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Verify judges an answer. It asks nobody and returns no error.
func (Citations) Verify(_ context.Context, f verify.Facts) (verify.Verdict, error) {
	s := SeenBy(&f)
	if f.AnswerEvidence == "" {
		return verify.Verdict{Finding: "there is no answer"}, nil
	}
	known := slices.Concat(s.Tickets, s.Policies, s.Drafts)
	ids := Cited(f.Answer)
	for _, id := range ids {
		// An id may also stand in a text that was read, such as a form's number.
		if !slices.Contains(known, id) && !strings.Contains(s.texts.String(), id) {
			return verify.Verdict{Finding: fmt.Sprintf("the answer cites %.80q, which nothing in this run returned", id), Evidence: []string{f.AnswerEvidence}}, nil
		}
	}
	switch {
	case len(s.Failed) > 0:
		return verify.Verdict{Finding: "a call of " + strings.Join(s.Failed, ", ") + " failed and was not made good", Evidence: []string{f.AnswerEvidence}}, nil
	case len(s.Evidence) == 0:
		return verify.Verdict{Finding: "the answer rests on nothing that was looked up", Evidence: []string{f.AnswerEvidence}}, nil
	case len(s.Policies) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(s.Policies, id) }):
		return verify.Verdict{Finding: "policies were found, and the answer cites none of them", Evidence: []string{f.AnswerEvidence}}, nil
	}
	return verify.Verdict{Verified: true, Finding: "every id that is cited was returned to this person in this run", Evidence: append(s.Evidence, f.AnswerEvidence)}, nil
}
