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
		Arguments: json.RawMessage(`{"cents":9007199254740993,"to":"bob","share":0.5,"tags":["a","b"],"note":null,"deep":{"x":[{"y":1}]}}`),
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
		`args.to.matches("^b.b$")`:                   kernel.Allow,
	} {
		d := decideOn(t, r, when(allow("pay"), condition))
		if d.Answer != want {
			t.Errorf("%s: %s (%s)", condition, d.Answer, d.Reason)
		}
	}
}

// A number without an exact form is nothing that a condition could compare, at
// any depth and as part of any whole: a rule that allows lets nothing through for
// it, and one that denies denies.
func TestNumbersWithoutAnExactForm(t *testing.T) {
	for _, number := range []string{"123456789012345678901", "9223372036854775808", "-9223372036854775809", "9007199254740993.0", "1e400", "1e19"} {
		r := policy.Request{Tool: "pay", User: "ann", Arguments: json.RawMessage(`{"to":"bob","big":` + number + `,"l":[` + number + `],"m":{"n":` + number + `}}`)}
		for _, condition := range []string{
			`args.big > 5`, `args.big < 5`, `args.big == args.big`, `args.l == [5]`, `args.l != [5]`, `5 in args.l`, `!(5 in args.l)`,
			`args.m == {"n": 5}`, `args.m != {"n": 5}`, `args.m.n == 9007199254740992`, `has(args.big)`, `args.to == "bob"`, `args.l.exists(x, x == 5)`,
		} {
			if d := decideOn(t, r, when(allow("pay"), condition)); d.Answer != kernel.Deny || !strings.Contains(d.Reason, "too large to be compared") {
				t.Errorf("%s allows by %s: %+v", number, condition, d)
			}
			if d := decideOn(t, r, allow("pay"), when(deny("pay"), condition)); d.Answer != kernel.Deny {
				t.Errorf("%s is not denied by %s", number, condition)
			}
		}
		if d := decideOn(t, r, when(allow("pay"), `user == "ann"`)); d.Answer != kernel.Allow {
			t.Errorf("a condition that looks at no argument: %+v", d)
		}
	}
}

// What cannot be told refuses: a rule that denies denies, one that allows does not
// match, and one that asks comes before whatever would let the call through; the
// reason says so.
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

// A rule that asks is no hole where its condition fails: it is asked by that very
// rule, and not allowed by the next.
func TestDoubtfulAskStillAsks(t *testing.T) {
	r := policy.Request{Tool: "pay", Arguments: json.RawMessage(`{}`)}
	careful := when(ask("pay"), `args.cents > 100`)
	careful.Approvers.Quorum = 2
	for _, later := range []policy.Rule{allow("pay"), ask("pay")} {
		d := decideOn(t, r, careful, later)
		if d.Answer != kernel.Ask || d.Rule != "policy rule 1: ask pay" || d.Asking.Approvers.Quorum != 2 || !strings.Contains(d.Reason, "no such key: cents") {
			t.Errorf("%+v", d)
		}
	}
	if d := decideOn(t, r, allow("pay"), careful); d.Answer != kernel.Allow || d.Reason != "" {
		t.Errorf("a rule that comes first: %+v", d)
	}
	r.Arguments = json.RawMessage(`{"cents":5}`)
	if d := decideOn(t, r, careful, allow("pay")); d.Answer != kernel.Allow {
		t.Errorf("a condition that does not hold: %+v", d)
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

// Many of them end too: one decision has one bound.
func TestConditionsEndTogether(t *testing.T) {
	long, err := json.Marshal(map[string]any{"l": make([]int, 5000)})
	if err != nil {
		t.Fatal(err)
	}
	var rules []policy.Rule
	for range 100 {
		rules = append(rules, when(allow("x"), `args.l.all(a, args.l.all(b, a == b))`))
	}
	d := decideOn(t, policy.Request{Tool: "x", Arguments: long}, append(rules, when(deny("x"), `args.l.exists(a, a == 7)`), allow("x"))...)
	if d.Answer != kernel.Deny || d.Rule != "policy rule 101: deny x" || !strings.Contains(d.Reason, "cost too much together") {
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
