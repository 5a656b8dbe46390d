package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/verify"
)

// Citations verifies an answer by what the run's own calls returned: every id
// that it cites was read or found by this person in this run, and where policies
// were found, it cites one of them. What looks like an id and stands only in a
// text that was read, or in the question, may be repeated and not be rested on. An
// answer after a call that failed, or that rests on no call at all, is not
// verified, nor one that claims an upload, a submission or an approval in the usual
// words (see [Claim.In]) which no ticket or draft of theirs bears out.
type Citations struct{}

var _ verify.Verifier = Citations{}

// Verify judges an answer. It asks nobody and returns no error.
func (Citations) Verify(_ context.Context, f verify.Facts) (verify.Verdict, error) {
	if f.AnswerEvidence == "" {
		return verify.Verdict{Finding: "there is no answer"}, nil
	}
	s := SeenBy(&f)
	if why := s.unsupported(f.Answer, f.Question); why != "" {
		return verify.Verdict{Finding: why, Evidence: []string{f.AnswerEvidence}}, nil
	}
	return verify.Verdict{Verified: true, Finding: "every id that is cited was returned to this person in this run", Evidence: append(s.Evidence, f.AnswerEvidence)}, nil
}

// unsupported says why an answer is not borne out, or nothing.
func (s *Seen) unsupported(answer, question string) string {
	mentioned := mentions(answer, s.ids(), s.Policies)
	for _, m := range mentioned {
		switch {
		case m.known:
		case !s.told(m.id) && len(standing(spelled(question), m.id)) == 0:
			return fmt.Sprintf("the answer cites %.80q, which nothing in this run returned", m.id)
		case m.cited:
			return fmt.Sprintf("the answer rests on %.80q, which was only spoken of and not returned", m.id)
		}
	}
	switch {
	case len(s.Failed) > 0:
		return "a call of " + strings.Join(s.Failed, ", ") + " failed and was not made good"
	case len(s.Evidence) == 0 && asksBack(answer):
		return "the answer asks for what is missing, and nothing was looked up"
	case len(s.Evidence) == 0:
		return "the answer rests on nothing that was looked up"
	case len(s.Policies) > 0 && !slices.ContainsFunc(mentioned, func(m mention) bool { return slices.Contains(s.Policies, m.id) }):
		return "policies were found, and the answer cites none of them"
	}
	return s.overstated(answer)
}

// overstated says what an answer claims that no row of theirs bears out, or nothing.
func (s *Seen) overstated(answer string) string {
	for _, c := range Claims() {
		if said := c.In(answer); said != "" && !slices.ContainsFunc(s.backing, func(text string) bool { return c.In(text) != "" }) {
			return fmt.Sprintf("the answer says %.200q, and no result does", said)
		}
	}
	return ""
}

// Cited are the policies that were found and stand in an answer, each once.
func (s *Seen) Cited(answer string) (ids []string) {
	for _, m := range mentions(answer, s.ids(), s.Policies) {
		if m.known && slices.Contains(s.Policies, m.id) && !slices.Contains(ids, m.id) {
			ids = append(ids, m.id)
		}
	}
	return ids
}
