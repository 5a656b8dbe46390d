package cli

import (
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/multiply"
)

// A past decision is put to the present rules as it was taken: a tool that is not
// here keeps the risk that it had, and what was asked because a tool had changed
// would be asked again.
func TestPastDecisionsAreJudgedAsTheyWere(t *testing.T) {
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "*", When: `risk == "low"`}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(multiply.New())
	if err != nil {
		t.Fatal(err)
	}
	b := &ruleBook{rules: rules, tools: set}
	for _, tt := range []struct {
		tool    string
		risk    kernel.Risk
		changed bool
		want    kernel.Answer
	}{
		{"mcp__docs__search", kernel.RiskLow, false, kernel.Allow},
		{"mcp__docs__search", kernel.RiskLow, true, kernel.Ask},
		{"mcp__docs__search", kernel.RiskHigh, true, kernel.Deny},
		{"mcp__docs__search", "", false, kernel.Deny}, // of a record that says nothing: the gravest
		{"multiply", kernel.RiskHigh, false, kernel.Allow},
	} {
		p := pastDecision{head: &journal.Head{}, call: kernel.Call{Name: tt.tool, Arguments: `{"a":1,"b":2}`}, decided: kernel.CallDecided{Risk: tt.risk, Changed: tt.changed}}
		d, err := b.rules.Decide(t.Context(), p.request(b))
		if got := p.answered(d.Answer); err != nil || got != tt.want {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
}
