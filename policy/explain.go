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
)

// Explain decides on a call and says why.
func (p *Rules) Explain(ctx context.Context, r Request) Explanation {
	d, _ := p.Decide(ctx, r) // returns no error
	e := Explanation{Decision: d}
	if p == nil {
		return e
	}
	f := facts{request: &r}
	for i, rule := range p.rules {
		look := Look{Position: i + 1, Rule: rule, Outcome: NotMet, Decided: p.decisions[i].Rule == d.Rule}
		switch matches, err := p.matches(i, &f); {
		case err != nil:
			look.Outcome, look.Doubt = Undecided, kernel.Clip(err.Error(), 200)
		case matches:
			look.Outcome = Matched
		case !rule.Matches(r.Tool):
			look.Outcome = OtherTool
		}
		e.Rules = append(e.Rules, look)
	}
	return e
}
