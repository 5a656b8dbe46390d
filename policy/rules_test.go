package policy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func allow(tool string) policy.Rule { return policy.Rule{Answer: kernel.Allow, Tool: tool} }
func ask(tool string) policy.Rule   { return policy.Rule{Answer: kernel.Ask, Tool: tool} }
func deny(tool string) policy.Rule  { return policy.Rule{Answer: kernel.Deny, Tool: tool} }

type fataler interface {
	Fatalf(format string, args ...any)
}

func decide(t fataler, rules []policy.Rule, tool string) policy.Decision {
	p, err := policy.NewRules(rules)
	if err != nil {
		t.Fatalf("NewRules(%v): %v", rules, err)
	}
	d, err := p.Decide(context.Background(), policy.Request{Tool: tool})
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return d
}

// Row 39: deny, ask and allow; a tool without a rule is denied; deny beats ask
// wherever it stands.
func TestRulesAnswer(t *testing.T) {
	tests := []struct {
		name  string
		rules []policy.Rule
		tool  string
		want  kernel.Answer
		rule  string
	}{
		{"no rules", nil, "multiply", kernel.Deny, "default"},
		{"nothing matches", []policy.Rule{allow("read_file")}, "multiply", kernel.Deny, "default"},
		{"allow", []policy.Rule{allow("multiply")}, "multiply", kernel.Allow, "policy rule 1: allow multiply"},
		{"ask", []policy.Rule{allow("multiply"), ask("run_program")}, "run_program", kernel.Ask, "policy rule 2: ask run_program"},
		{"first of ask and allow", []policy.Rule{ask("x"), allow("x")}, "x", kernel.Ask, "policy rule 1: ask x"},
		{"first of allow and ask", []policy.Rule{allow("x"), ask("x")}, "x", kernel.Allow, "policy rule 1: allow x"},
		{"deny stands last", []policy.Rule{allow("x"), ask("x"), deny("x")}, "x", kernel.Deny, "policy rule 3: deny x"},
		{"deny by pattern", []policy.Rule{allow("write_file"), deny("*_file")}, "write_file", kernel.Deny, "policy rule 2: deny *_file"},
		{"pattern is the whole name", []policy.Rule{allow("read*")}, "spread_file", kernel.Deny, "default"},
		{"pattern at the end", []policy.Rule{allow("read*")}, "read", kernel.Allow, "policy rule 1: allow read*"},
		{"pattern in the middle", []policy.Rule{ask("mcp__*__get")}, "mcp__a__b__get", kernel.Ask, "policy rule 1: ask mcp__*__get"},
		{"everything", []policy.Rule{allow("*")}, "anything", kernel.Allow, "policy rule 1: allow *"},
		{"a name is no prefix", []policy.Rule{allow("read")}, "read_file", kernel.Deny, "default"},
		{"case counts", []policy.Rule{allow("Read")}, "read", kernel.Deny, "default"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decide(t, tt.rules, tt.tool)
			if d.Answer != tt.want || d.Rule != tt.rule {
				t.Errorf("got %s by %q, want %s by %q", d.Answer, d.Rule, tt.want, tt.rule)
			}
			if d.Answer != kernel.Allow && d.Reason == "" {
				t.Error("a call that is not allowed has no reason")
			}
		})
	}
}

func TestDefaultDenySaysWhatToAdd(t *testing.T) {
	d := decide(t, nil, "run_program")
	if !strings.Contains(d.Reason, "{allow: run_program}") {
		t.Errorf("reason %q does not name the rule to add", d.Reason)
	}
}

func TestReasonOfTheRuleIsKept(t *testing.T) {
	d := decide(t, []policy.Rule{{Answer: kernel.Deny, Tool: "x", Reason: "frozen until Monday"}}, "x")
	if d.Reason != "frozen until Monday" {
		t.Errorf("reason = %q", d.Reason)
	}
}

func TestNilRulesDeny(t *testing.T) {
	var p *policy.Rules
	d, err := p.Decide(t.Context(), policy.Request{Tool: "multiply"})
	if err != nil || d.Answer != kernel.Deny {
		t.Errorf("got %v, %v", d, err)
	}
}

func TestNewRulesRefuses(t *testing.T) {
	tests := []struct {
		name string
		rule policy.Rule
	}{
		{"no answer", policy.Rule{Tool: "x"}},
		{"invalid as an answer", policy.Rule{Answer: kernel.Invalid, Tool: "x"}},
		{"answer in capitals", policy.Rule{Answer: "Allow", Tool: "x"}},
		{"no tool", policy.Rule{Answer: kernel.Allow}},
		{"a space", allow("read file")},
		{"a space around", allow(" x")},
		{"a character class", allow("[a-z]*")},
		{"a question mark", allow("rea?")},
		{"a backslash", allow(`x\*`)},
		{"too long", allow(strings.Repeat("x", policy.MaxPattern+1))},
		{"long reason", policy.Rule{Answer: kernel.Deny, Tool: "x", Reason: strings.Repeat("x", policy.MaxReason+1)}},
		{"broken reason", policy.Rule{Answer: kernel.Deny, Tool: "x", Reason: "\xff"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policy.NewRules([]policy.Rule{allow("ok"), tt.rule})
			if kernel.CodeOf(err) != kernel.CodeConfiguration {
				t.Fatalf("got %v, want CONFIGURATION", err)
			}
			if !strings.Contains(err.Error(), "policy rule 2") {
				t.Errorf("%v does not name the rule", err)
			}
		})
	}
	if _, err := policy.NewRules(make([]policy.Rule, policy.MaxRules+1)); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("too many rules: got %v", err)
	}
}

func TestRulesDoNotAliasTheList(t *testing.T) {
	list := []policy.Rule{deny("x")}
	p, err := policy.NewRules(list)
	if err != nil {
		t.Fatal(err)
	}
	list[0].Answer = kernel.Allow
	if d, _ := p.Decide(t.Context(), policy.Request{Tool: "x"}); d.Answer != kernel.Deny {
		t.Errorf("a change of the list changed the policy: %v", d)
	}
}

func ruleGen() *rapid.Generator[policy.Rule] {
	return rapid.Custom(func(t *rapid.T) policy.Rule {
		return policy.Rule{
			Answer: rapid.SampledFrom([]kernel.Answer{kernel.Allow, kernel.Ask, kernel.Deny}).Draw(t, "answer"),
			Tool:   rapid.StringMatching(`[ab*]{1,4}`).Draw(t, "pattern"),
		}
	})
}

// Adding a rule that allows or asks never opens what a rule denies, whatever
// its place; adding one that denies never opens anything.
func TestAddedRulesNeverBeatADeny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(ruleGen(), 0, 6).Draw(t, "rules")
		tool := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "tool")
		added := ruleGen().Draw(t, "added")
		at := rapid.IntRange(0, len(rules)).Draw(t, "at")

		before := decide(t, rules, tool)
		more := append(append(append([]policy.Rule{}, rules[:at]...), added), rules[at:]...)
		after := decide(t, more, tool)

		if byRule := before.Rule != "default"; before.Answer == kernel.Deny && byRule && after.Answer != kernel.Deny {
			t.Fatalf("%v opened a denied call", added)
		}
		if added.Answer == kernel.Deny && before.Answer != after.Answer && after.Answer != kernel.Deny {
			t.Fatalf("%v turned %s into %s", added, before.Answer, after.Answer)
		}
	})
}

// A naive second reading of the rules agrees on every list.
func TestRulesAgreeWithANaiveReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(ruleGen(), 0, 6).Draw(t, "rules")
		tool := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "tool")
		want := kernel.Deny
		for _, r := range slices.Backward(rules) {
			if r.Answer != kernel.Deny && glob(r.Tool, tool) {
				want = r.Answer
			}
		}
		for _, r := range rules {
			if r.Answer == kernel.Deny && glob(r.Tool, tool) {
				want = kernel.Deny
			}
		}
		if got := decide(t, rules, tool).Answer; got != want {
			t.Fatalf("%v on %s: got %s, want %s", rules, tool, got, want)
		}
	})
}

func glob(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '*' {
		return glob(pattern[1:], s) || s != "" && glob(pattern, s[1:])
	}
	return s != "" && s[0] == pattern[0] && glob(pattern[1:], s[1:])
}

func ExampleRules() {
	p, err := policy.NewRules([]policy.Rule{
		{Answer: kernel.Allow, Tool: "read_*"},
		{Answer: kernel.Ask, Tool: "run_program"},
		{Answer: kernel.Deny, Tool: "read_mail", Reason: "mail is private"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"read_file", "run_program", "read_mail"} {
		d, _ := p.Decide(context.Background(), policy.Request{Tool: tool})
		fmt.Println(tool, d.Answer, "by", d.Rule)
	}
	// Output:
	// read_file allow by policy rule 1: allow read_*
	// run_program ask by policy rule 2: ask run_program
	// read_mail deny by policy rule 3: deny read_mail
}
