package policy_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func rulesOf(t fataler, rules ...policy.Rule) *policy.Rules {
	p, err := policy.NewRules(rules)
	if err != nil {
		t.Fatalf("NewRules(%v): %v", rules, err)
	}
	return p
}

func TestExplain(t *testing.T) {
	p := rulesOf(t, allow("other"), when(allow("x"), `args.n < 5`), when(deny("x"), `args.n > 7`), ask("x"), when(deny("*"), `args.m == 1`))
	for args, want := range map[string]string{
		`{"n":1,"m":0}`: "allow other_tool matched! not_met unasked not_met",
		`{"n":9,"m":0}`: "deny other_tool not_met matched! unasked unasked",
		`{"n":6,"m":0}`: "ask other_tool not_met not_met matched! not_met",
		`{"n":6}`:       "deny other_tool not_met not_met matched undecided!",
	} {
		e := p.Explain(t.Context(), policy.Request{Tool: "x", Arguments: json.RawMessage(args)})
		got := string(e.Answer)
		for _, l := range e.Rules {
			got += " " + string(l.Outcome) + map[bool]string{true: "!"}[l.Decided]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	var none *policy.Rules
	if e := none.Explain(t.Context(), policy.Request{Tool: "x"}); e.Answer != kernel.Deny || len(e.Rules) != 0 {
		t.Errorf("no rules: %+v", e)
	}
}

// What a decision does not pay for, its explanation does not either: else a rule
// that denies would seem to be one of which nobody can tell.
func TestExplainSpendsAsDecideDoes(t *testing.T) {
	const costly = `args.l.all(x, args.l.all(y, x != y || x == y)) && args.n == 1`
	rules := []policy.Rule{allow("x")}
	for range 12 {
		rules = append(rules, when(allow("x"), costly))
	}
	rules = append(rules, when(deny("x"), `args.l.exists(x, x == 3)`))
	r := policy.Request{Tool: "x", Arguments: json.RawMessage(`{"n":1,"l":[` + strings.Repeat("0,", 200) + `3]}`)}
	e := rulesOf(t, rules...).Explain(t.Context(), r)
	if last := e.Rules[len(e.Rules)-1]; e.Answer != kernel.Deny || last.Outcome != policy.Matched || !last.Decided {
		t.Errorf("%s by %q; the last rule %s (%s)", e.Answer, e.Rule, last.Outcome, last.Doubt)
	}
}

// An explanation gives the answer of the decision, and names the rule that it
// rests on, whatever the rules and the call: those in doubt included.
func TestExplainAgreesWithDecide(t *testing.T) {
	rule := rapid.Custom(func(t *rapid.T) policy.Rule {
		r := ruleGen().Draw(t, "rule")
		r.When = rapid.SampledFrom([]string{"", "args.n > 1", "args.n == 1", `user == "ann"`, "args.missing == 1"}).Draw(t, "when")
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		p := rulesOf(t, rapid.SliceOfN(rule, 0, 8).Draw(t, "rules")...)
		r := policy.Request{
			Tool: rapid.StringMatching(`[ab]{1,3}`).Draw(t, "tool"), User: rapid.SampledFrom([]string{"ann", "ben"}).Draw(t, "user"),
			Arguments: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"n":1}`, `{"n":2}`, `{"n":"1"}`}).Draw(t, "args")),
		}
		d, _ := p.Decide(t.Context(), r)
		e := p.Explain(t.Context(), r)
		if !reflect.DeepEqual(e.Decision, d) {
			t.Fatalf("explains %+v, decides %+v", e.Decision, d)
		}
		var deciding []policy.Look
		for _, l := range e.Rules {
			if l.Decided {
				deciding = append(deciding, l)
			}
		}
		switch {
		case d.Rule == "default" && len(deciding) == 0:
		case len(deciding) != 1 || deciding[0].Rule.Answer != d.Answer || deciding[0].Outcome != policy.Matched && deciding[0].Outcome != policy.Undecided:
			t.Fatalf("%q decides, and the explanation says %+v", d.Rule, deciding)
		}
	})
}
