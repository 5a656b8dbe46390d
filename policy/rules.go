package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	Tool string
	// When is a condition that has to hold too, in the Common Expression Language: over
	// args (the call's arguments), argv (the command line that it would run, one
	// argument each), tool, user, tenant, effect and risk. Empty: always. Where it
	// cannot be told whether it holds (an argument that is missing, or of another
	// type), a rule that denies denies, one that allows does not match, and one that
	// asks takes the place of the later rule that would let the call through.
	When   string
	Risk   Risk   // that a matching call has for people and for the record; empty: the tool's own
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
	rules      []Rule
	conditions []*condition // nil: always
	decisions  []Decision   // what each rule says, put into words once
	hash       string
}

var (
	_ Policy = (*Rules)(nil)
	_ Pure   = (*Rules)(nil)
	_ Hashed = (*Rules)(nil)
)

// NewRules checks the list and returns its policy. What is wrong is
// CONFIGURATION and names the rule by its position, from 1. An empty list is
// legal and denies everything.
func NewRules(rules []Rule) (*Rules, error) {
	if len(rules) > MaxRules {
		return nil, invalid(fmt.Sprintf("a policy has at most %d rules, not %d", MaxRules, len(rules)), "use patterns with *")
	}
	c, err := newConditions()
	if err != nil {
		return nil, err
	}
	p := &Rules{}
	for i, r := range rules {
		condition, err := r.compile(c)
		if err != nil {
			err.Message = fmt.Sprintf("policy rule %d: %s", i+1, err.Message)
			return nil, err
		}
		r = r.WithDefaults()
		p.rules = append(p.rules, r)
		p.conditions = append(p.conditions, condition)
		p.decisions = append(p.decisions, r.decision(i+1))
	}
	p.hash = hashOf(p.rules)
	return p, nil
}

// compile checks a rule and returns its condition, nil where it has none.
func (r Rule) compile(c *conditions) (*condition, *kernel.Error) {
	if err := r.check(); err != nil || r.When == "" {
		return nil, err
	}
	return c.compile(r.When)
}

// Validate reports what is wrong with a rule, as CONFIGURATION, or nil.
func (r Rule) Validate() *kernel.Error {
	if r.When == "" {
		return r.check()
	}
	c, err := newConditions()
	if err != nil {
		return invalid(err.Error(), "")
	}
	_, wrong := r.compile(c)
	return wrong
}

// check judges everything but the condition.
func (r Rule) check() *kernel.Error {
	switch {
	case r.Answer != kernel.Allow && r.Answer != kernel.Ask && r.Answer != kernel.Deny:
		return invalid(fmt.Sprintf("unknown answer %q", r.Answer), "a rule says allow, ask or deny")
	case r.Tool == "" || len(r.Tool) > MaxPattern || strings.Trim(r.Tool, patternChars) != "":
		return invalid(fmt.Sprintf("%.80q is no tool name and no pattern", r.Tool),
			"a name has 1–64 letters, digits, _ or -; * stands for any characters")
	case len(r.Reason) > MaxReason || !utf8.ValidString(r.Reason):
		return invalid(fmt.Sprintf("a reason is text of at most %d bytes", MaxReason), "shorten it")
	case len(r.When) > MaxCondition || !utf8.ValidString(r.When):
		return invalid(fmt.Sprintf("a condition is text of at most %d bytes", MaxCondition), "shorten it, or write several rules")
	case r.Risk != "" && r.Risk != kernel.RiskLow && r.Risk != kernel.RiskMedium && r.Risk != kernel.RiskHigh:
		return invalid(fmt.Sprintf("unknown risk %.40q", r.Risk), "a risk is low, medium or high")
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

// Hash is the SHA-256 in hex of what the rules say.
func (p *Rules) Hash() string {
	if p == nil || p.hash == "" {
		return hashOf(nil)
	}
	return p.hash
}

func hashOf(rules []Rule) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, r := range rules {
		// Texts, numbers and lists of texts always have a JSON form.
		_ = enc.Encode([]any{r.Answer, r.Tool, r.When, r.Risk, r.Reason, r.Expires, r.OnExpiry, r.Grant, r.Approvers})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Decide answers for one call. It returns no error.
func (p *Rules) Decide(_ context.Context, r Request) (Decision, error) {
	d, _ := p.walk(&r, nil)
	return d, nil
}

// walk decides on a call, and tells looked what came of each rule that it asked,
// in order. It returns the position of the rule that counts, -1 for the default.
// A nil looked is told nothing.
func (p *Rules) walk(r *Request, looked func(i int, matches bool, doubt error)) (Decision, int) {
	if p == nil {
		p = &Rules{}
	}
	f := facts{request: *r}
	granted, doubted := -1, -1
	var doubts []string
	for i := range p.rules {
		denies := p.rules[i].Answer == kernel.Deny
		if granted >= 0 && !denies {
			continue // the first that grants counts
		}
		matches, err := p.matches(i, &f)
		if looked != nil {
			looked(i, matches, err)
		}
		switch {
		case err != nil && denies:
			d := p.decisions[i]
			d.Reason += "; whether its condition holds could not be told: " + kernel.Clip(err.Error(), maxDoubt)
			return d, i
		case err != nil:
			if doubted < 0 && p.rules[i].Answer == kernel.Ask {
				doubted = i
			}
			doubts = append(doubts, fmt.Sprintf("whether the condition of rule %d holds could not be told: %s", i+1, kernel.Clip(err.Error(), maxDoubt)))
		case matches && denies:
			return p.decisions[i], i
		case matches:
			granted = i
		}
	}
	switch {
	case granted < 0:
		return p.byDefault(r.Tool, doubts), -1
	case doubted >= 0:
		return p.doubted(doubted, doubts), doubted
	}
	return p.decisions[granted], granted
}

// maxDoubt bounds what is said of why a condition cannot be told, in bytes.
const maxDoubt = 200

// doubted is the rule at ask, which nobody can tell whether it matches, in the
// place of a later one that would let the call through.
func (p *Rules) doubted(ask int, doubts []string) Decision {
	d := p.decisions[ask]
	d.Reason += "; " + kernel.Clip(strings.Join(doubts, "; "), 1000)
	return d
}

// matches reports whether a rule is about the call.
func (p *Rules) matches(i int, f *facts) (bool, error) {
	if !p.rules[i].Matches(f.request.Tool) {
		return false, nil
	}
	if p.conditions[i] == nil {
		return true, nil
	}
	return p.conditions[i].holds(f)
}

// byDefault refuses what no rule matched, and says whether a rule about the tool
// could have.
func (p *Rules) byDefault(tool string, doubts []string) Decision {
	d := Decision{
		Answer: kernel.Deny, Rule: "default",
		Reason: fmt.Sprintf("no policy rule allows %s; an operator can add {allow: %s} or {ask: %s}", tool, tool, tool),
	}
	switch {
	case len(doubts) > 0:
		d.Reason = "no policy rule allows this call of " + tool + "; " + kernel.Clip(strings.Join(doubts, "; "), 1000)
	case slices.ContainsFunc(p.rules, func(r Rule) bool { return r.Answer != kernel.Deny && r.Matches(tool) }):
		d.Reason = "no policy rule allows this call of " + tool + ": the conditions of the rules about it do not hold"
	}
	return d
}

// decision is what the rule says at that position, from 1.
func (r Rule) decision(position int) Decision {
	d := Decision{Answer: r.Answer, Reason: r.Reason, Risk: r.Risk}
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

// Matches reports whether the rule is about the tool of that name, whatever its
// condition.
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
