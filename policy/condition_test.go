package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func when(r policy.Rule, condition string) policy.Rule {
	r.When = condition
	return r
}

func decideOn(t testing.TB, r policy.Request, rules ...policy.Rule) policy.Decision {
	t.Helper()
	p, err := policy.NewRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Decide(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConditions(t *testing.T) {
	r := policy.Request{
		Tool: "pay", User: "ann", Tenant: "acme", Effect: kernel.Once, Risk: kernel.RiskHigh,
		Arguments: json.RawMessage(`{"cents":9007199254740993,"to":"bob","share":0.5,"tags":["a","b"],"note":null,"deep":{"x":[{"y":1}]},"big":123456789012345678901234567890}`),
	}
	for condition, want := range map[string]kernel.Answer{
		`args.cents == 9007199254740993`:             kernel.Allow, // no float could tell
		`args.cents == 9007199254740992`:             kernel.Deny,
		`args.to == "bob" && user == "ann"`:          kernel.Allow,
		`args.share < 0.75`:                          kernel.Allow,
		`"a" in args.tags && size(args.tags) == 2`:   kernel.Allow,
		`args.note == null`:                          kernel.Allow,
		`args.deep.x[0].y == 1`:                      kernel.Allow,
		`tenant == "acme" && effect == "once"`:       kernel.Allow,
		`risk == "high"`:                             kernel.Allow,
		`tool == "pay"`:                              kernel.Allow,
		`size(argv) == 0`:                            kernel.Allow,
		`args.tags.all(tag, tag in ["a", "b", "c"])`: kernel.Allow,
		`!("memo" in args)`:                          kernel.Allow,
		`args.memo == ""`:                            kernel.Deny, // it is not there
		`args.to > 5`:                                kernel.Deny, // of another type
		`args.big > 5`:                               kernel.Deny, // over what can be compared
		`args.big == args.big`:                       kernel.Deny,
		`args.to == "bob" || args.big > 5`:           kernel.Allow,
		`args.to.matches("^b.b$")`:                   kernel.Allow,
	} {
		d := decideOn(t, r, when(allow("pay"), condition))
		if d.Answer != want {
			t.Errorf("%s: %s (%s)", condition, d.Answer, d.Reason)
		}
	}
}

// What cannot be told refuses: a rule that denies denies, and one that allows or
// asks does not match; the reason says so.
func TestDoubtRefuses(t *testing.T) {
	r := policy.Request{Tool: "pay", Arguments: json.RawMessage(`{}`)}
	d := decideOn(t, r, allow("pay"), when(deny("pay"), `args.cents > 100`))
	if d.Answer != kernel.Deny || d.Rule != "policy rule 2: deny pay" || !strings.Contains(d.Reason, "no such key: cents") {
		t.Errorf("%+v", d)
	}
	d = decideOn(t, r, when(allow("pay"), `args.cents < 100`), when(ask("pay"), `args.cents >= 100`))
	if d.Answer != kernel.Deny || d.Rule != "default" || !strings.Contains(d.Reason, "rule 1") || !strings.Contains(d.Reason, "rule 2") {
		t.Errorf("%+v", d)
	}
	d = decideOn(t, r, when(allow("pay"), `args.cents < 100`), ask("pay"))
	if d.Answer != kernel.Ask {
		t.Errorf("%+v", d)
	}
}

func TestConditionsThatAreNone(t *testing.T) {
	for condition, want := range map[string]string{
		`args.x ==`:                         "syntax",
		`args.x`:                            "gives a dyn",
		`user`:                              "gives a string",
		`user.name == "x"`:                  "does not support field selection",
		`secret == 1`:                       "undeclared reference",
		`args.s.matches("(a{1000}){1000}")`: "",
		strings.Repeat("!", 2001):           "at most 2000 bytes",
		strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300): "",
	} {
		err := when(allow("x"), condition).Validate()
		if err == nil || err.Code != kernel.CodeConfiguration || !strings.Contains(strings.ToLower(err.Message), strings.ToLower(want)) {
			t.Errorf("%.60s: %v", condition, err)
		}
	}
	if err := (policy.Rule{Answer: kernel.Allow, Tool: "x", Risk: "grave"}).Validate(); err == nil {
		t.Error("an unknown risk is taken")
	}
}

// A condition that would take for ever ends, and refuses.
func TestConditionsEnd(t *testing.T) {
	long, err := json.Marshal(map[string]any{"l": make([]int, 5000)})
	if err != nil {
		t.Fatal(err)
	}
	r := policy.Request{Tool: "x", Arguments: long}
	d := decideOn(t, r, when(allow("x"), `args.l.all(a, args.l.all(b, args.l.all(c, a == b && b == c)))`))
	if d.Answer != kernel.Deny || !strings.Contains(d.Reason, "cost") {
		t.Errorf("%+v", d)
	}
}

// Report A21: a command line is a list of arguments. A rule for `git status` lets
// nothing through that merely begins like it.
func TestCommandLinesAreNoText(t *testing.T) {
	rule := when(allow("run_program"), `args.program == "git" && args.args == ["status"]`)
	byArgv := when(allow("run_program"), `argv == ["git", "status"]`)
	run := func(args ...string) policy.Request {
		b, err := json.Marshal(map[string]any{"program": "git", "args": args})
		if err != nil {
			t.Fatal(err)
		}
		return policy.Request{Tool: "run_program", Arguments: b, Argv: append([]string{"git"}, args...)}
	}
	for i, args := range [][]string{
		{"status", "&&", "rm", "-rf", "data"}, {"status;", "id"}, {"status", "$(touch p)"}, {"status", "`id`"}, {"status\nid"},
		{"status", ">", "f"}, {"statusx"}, {"-c", "core.pager=sh", "status"}, {"X=1", "git", "status"}, {"status", "|", "sh"}, {"status "}, {},
	} {
		for _, r := range []policy.Rule{rule, byArgv} {
			if d := decideOn(t, run(args...), r); d.Answer != kernel.Deny {
				t.Errorf("%d: %q passes %s", i+1, args, r.When)
			}
		}
	}
	for _, r := range []policy.Rule{rule, byArgv} {
		if d := decideOn(t, run("status"), r); d.Answer != kernel.Allow {
			t.Errorf("git status: %+v", d)
		}
		if d := decideOn(t, run("status"), r, when(deny("run_program"), `args.program == "git"`)); d.Answer != kernel.Deny {
			t.Errorf("a rule that denies does not win: %+v", d)
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(rules ...policy.Rule) string {
		p, err := policy.NewRules(rules)
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash()
	}
	base := hash(when(allow("x"), `user == "a"`), deny("y"))
	for _, other := range [][]policy.Rule{
		{deny("y"), when(allow("x"), `user == "a"`)}, {when(allow("x"), `user == "b"`), deny("y")}, {allow("x"), deny("y")}, {deny("y")}, nil,
		{{Answer: kernel.Allow, Tool: "x", When: `user == "a"`, Risk: kernel.RiskLow}, deny("y")},
	} {
		if hash(other...) == base {
			t.Errorf("%+v has the same hash", other)
		}
	}
	var none *policy.Rules
	if none.Hash() != hash() || (&policy.Rules{}).Hash() != hash() {
		t.Error("no rules have several hashes")
	}
}

func TestExplain(t *testing.T) {
	p, err := policy.NewRules([]policy.Rule{
		allow("other"), when(allow("x"), `args.n < 5`), when(deny("x"), `args.n > 7`), ask("x"), when(deny("*"), `args.m == 1`),
	})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := func(args string) (string, string) {
		e := p.Explain(t.Context(), policy.Request{Tool: "x", Arguments: json.RawMessage(args)})
		var s []string
		for _, l := range e.Rules {
			s = append(s, string(l.Outcome)+strings.Repeat("!", map[bool]int{true: 1}[l.Decided]))
		}
		return string(e.Answer), strings.Join(s, " ")
	}
	for args, want := range map[string]string{
		`{"n":1,"m":0}`: "allow other_tool matched! not_met matched not_met",
		`{"n":9,"m":0}`: "deny other_tool not_met matched! matched not_met",
		`{"n":6,"m":0}`: "ask other_tool not_met not_met matched! not_met",
		`{"n":6}`:       "deny other_tool not_met not_met matched undecided!",
	} {
		if answer, rules := outcomes(args); answer+" "+rules != want {
			t.Errorf("%s: %s %s, want %s", args, answer, rules, want)
		}
	}
}

// Figure: 200 rules with a condition each, all of them about the tool.
func BenchmarkDecide(b *testing.B) {
	var rules []policy.Rule
	for i := range 200 {
		rules = append(rules, policy.Rule{
			Answer: []kernel.Answer{kernel.Deny, kernel.Ask}[i%2], Tool: "run_program",
			When: fmt.Sprintf(`args.program == "p%d" && size(args.args) > %d && user != "u%d"`, i, i, i),
		})
	}
	rules = append(rules, allow("run_program"))
	p, err := policy.NewRules(rules)
	if err != nil {
		b.Fatal(err)
	}
	r := policy.Request{Tool: "run_program", User: "ann", Tenant: "acme", Arguments: json.RawMessage(`{"program":"main","args":["a","b"]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := p.Decide(context.Background(), r); err != nil || d.Answer != kernel.Allow {
			b.Fatal(d, err)
		}
	}
}
