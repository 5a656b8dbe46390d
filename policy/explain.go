package policy

import (
	"context"

	"github.com/holdfast-run/holdfast/kernel"
)

// Explanation is a decision, and what each rule had to say about the call.
type Explanation struct {
	Decision
	Rules []Look
}

// Look is what a rule had to say about a call.
type Look struct {
	Position int // from 1
	Rule     Rule
	Outcome  LookOutcome
	Doubt    string // undecided: why it cannot be told whether the condition holds
	Decided  bool   // it is the rule that counts
}

// LookOutcome says whether a rule is about a call.
type LookOutcome string

// The outcomes.
const (
	Matched   LookOutcome = "matched"
	OtherTool LookOutcome = "other_tool" // it names another tool
	NotMet    LookOutcome = "not_met"    // its condition does not hold
	Undecided LookOutcome = "undecided"  // whether it holds cannot be told
	// Unasked is a rule about the tool whose condition was not looked at: one before
	// it had settled what it could say.
	Unasked LookOutcome = "unasked"
)

// Explain decides on a call, as Decide does and with the same answer, and says
// what came of each rule on the way. What Decide does not look at, it does not
// either.
func (p *Rules) Explain(_ context.Context, r Request) Explanation {
	var e Explanation
	if p != nil {
		e.Rules = p.unasked(r.Tool)
	}
	decision, at := p.walk(&r, func(i int, matches bool, doubt error) { e.Rules[i].saw(matches, doubt) })
	e.Decision = decision
	if at >= 0 {
		e.Rules[at].Decided = true
	}
	return e
}

// unasked are all rules, before any condition was looked at.
func (p *Rules) unasked(tool string) []Look {
	looks := make([]Look, len(p.rules))
	for i, rule := range p.rules {
		looks[i] = Look{Position: i + 1, Rule: rule, Outcome: Unasked}
		if !rule.Matches(tool) {
			looks[i].Outcome = OtherTool
		}
	}
	return looks
}

// saw takes what came of asking the rule.
func (l *Look) saw(matches bool, doubt error) {
	switch {
	case doubt != nil:
		l.Outcome, l.Doubt = Undecided, kernel.Clip(doubt.Error(), maxDoubt)
	case matches:
		l.Outcome = Matched
	case l.Outcome != OtherTool:
		l.Outcome = NotMet
	}
}
