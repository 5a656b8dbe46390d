package policy

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
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

	// How people are asked, with Ask alone, within the bounds of CheckAsking.
	Expires   time.Duration   // to decide in; 0: DefaultExpires
	OnExpiry  kernel.OnExpiry // empty: refuse
	Grant     time.Duration   // how long a yes holds before it is used; 0: DefaultGrant
	Approvers kernel.Approvers
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
	p := &Rules{}
	for i, r := range rules {
		if err := r.Validate(); err != nil {
			err.Message = fmt.Sprintf("policy rule %d: %s", i+1, err.Message)
			return nil, err
		}
		r = r.WithDefaults()
		p.rules = append(p.rules, r)
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
	case r.Answer == kernel.Ask:
		return CheckAsking(r.asking())
	case r.Expires != 0 || r.OnExpiry != "" || r.Grant != 0 || !anyone(&r.Approvers):
		return invalid(fmt.Sprintf("nobody is asked by a rule that says %s", r.Answer), "expires, on_expiry, grant and approvers belong to {ask: TOOL}")
	}
	return nil
}

func anyone(a *kernel.Approvers) bool {
	return !a.NotAsker && a.Quorum == 0 && len(a.From)+len(a.Escalate) == 0
}

// WithDefaults returns the rule with what an ask leaves out, and shares nothing
// with r.
func (r Rule) WithDefaults() Rule {
	r.Approvers.From, r.Approvers.Escalate = slices.Clone(r.Approvers.From), slices.Clone(r.Approvers.Escalate)
	if r.Answer == kernel.Ask {
		r.Expires = cmp.Or(r.Expires, DefaultExpires)
		r.OnExpiry = cmp.Or(r.OnExpiry, kernel.ExpiryRefuse)
		r.Grant = cmp.Or(r.Grant, DefaultGrant)
	}
	return r
}

func (r Rule) asking() *kernel.Asking {
	return &kernel.Asking{Expires: r.Expires, OnExpiry: r.OnExpiry, Grant: r.Grant, Approvers: r.Approvers}
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
	if r.Answer == kernel.Ask {
		d.Asking = r.asking()
	}
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
