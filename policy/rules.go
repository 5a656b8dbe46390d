package policy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of a rule list.
const (
	MaxRules   = 1000
	MaxPattern = 64  // bytes of Rule.Tool, as long as a tool's name may be
	MaxReason  = 500 // bytes of Rule.Reason
)

// Rule gives one answer for the tools that it names. The zero value is not a
// rule.
type Rule struct {
	Answer kernel.Answer // Allow, Ask or Deny
	// Tool is a tool's name, or a pattern for the whole name in which * stands
	// for any run of characters, none included.
	Tool   string
	Reason string // told to the model (deny) or to the person (ask); may be empty
}

// Rules is a policy made of an ordered list: a rule that denies wins wherever
// it stands, then the first rule that allows or asks, and a call that no rule
// matches is denied. It is immutable and safe for concurrent use. A nil *Rules
// and the zero value deny everything.
type Rules struct {
	rules     []Rule
	decisions []Decision // what each rule says, put into words once
}

var _ Policy = (*Rules)(nil)

// NewRules checks the list and returns its policy. What is wrong is
// CONFIGURATION and names the rule by its position, from 1. An empty list is
// legal and denies everything.
func NewRules(rules []Rule) (*Rules, error) {
	if len(rules) > MaxRules {
		return nil, invalid(fmt.Sprintf("a policy has at most %d rules, not %d", MaxRules, len(rules)), "use patterns with *")
	}
	p := &Rules{rules: slices.Clone(rules)}
	for i, r := range rules {
		if err := r.Validate(); err != nil {
			err.Message = fmt.Sprintf("policy rule %d: %s", i+1, err.Message)
			return nil, err
		}
		p.decisions = append(p.decisions, r.decision(i+1))
	}
	return p, nil
}

// Validate reports what is wrong with a rule, as CONFIGURATION, or nil.
func (r Rule) Validate() *kernel.Error {
	switch {
	case r.Answer != kernel.Allow && r.Answer != kernel.Ask && r.Answer != kernel.Deny:
		return invalid(fmt.Sprintf("unknown answer %q", r.Answer), "a rule says allow, ask or deny")
	case r.Tool == "" || len(r.Tool) > MaxPattern || strings.Trim(r.Tool, patternChars) != "":
		return invalid(fmt.Sprintf("%.80q is no tool name and no pattern", r.Tool),
			"a name has 1–64 letters, digits, _ or -; * stands for any characters")
	case len(r.Reason) > MaxReason || !utf8.ValidString(r.Reason):
		return invalid(fmt.Sprintf("a reason is text of at most %d bytes", MaxReason), "shorten it")
	}
	return nil
}

// patternChars is what a pattern may hold: a tool's characters and the glob.
// It keeps every other meaning that path.Match knows out of patterns.
const patternChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*"

// Pure reports that rules only compute.
func (p *Rules) Pure() bool { return true }

// Decide answers for one call by its tool alone. It returns no error.
func (p *Rules) Decide(_ context.Context, r Request) (Decision, error) {
	granted := -1
	if p != nil {
		for i, rule := range p.rules {
			if !rule.Matches(r.Tool) {
				continue
			}
			if rule.Answer == kernel.Deny {
				return p.decisions[i], nil
			}
			if granted < 0 {
				granted = i
			}
		}
	}
	if granted >= 0 {
		return p.decisions[granted], nil
	}
	return Decision{
		Answer: kernel.Deny,
		Rule:   "default",
		Reason: fmt.Sprintf("no policy rule allows %s; an operator can add {allow: %s} or {ask: %s}", r.Tool, r.Tool, r.Tool),
	}, nil
}

// decision is what the rule says at that position, from 1.
func (r Rule) decision(position int) Decision {
	d := Decision{Answer: r.Answer, Reason: r.Reason}
	d.Rule = fmt.Sprintf("policy rule %d: %s %s", position, r.Answer, r.Tool)
	if d.Reason != "" {
		return d
	}
	switch r.Answer {
	case kernel.Deny:
		d.Reason = "the policy denies it"
	case kernel.Ask:
		d.Reason = "the policy wants a person's approval"
	}
	return d
}

// Matches reports whether the rule is about the tool of that name.
func (r Rule) Matches(tool string) bool {
	if !strings.Contains(r.Tool, "*") {
		return r.Tool == tool
	}
	ok, err := path.Match(r.Tool, tool)
	return err == nil && ok
}

func invalid(message, hint string) *kernel.Error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: hint}
}
