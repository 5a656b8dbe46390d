package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// Design section 6: who may decide, what an expiry means and how long a grant
// holds are declared, and a rule that leaves them out has them all the same.
func TestAskSaysHowPeopleAreAsked(t *testing.T) {
	d := decide(t, []policy.Rule{ask("x")}, "x")
	want := &kernel.Asking{Expires: 24 * time.Hour, OnExpiry: kernel.ExpiryRefuse, Grant: 15 * time.Minute}
	if diff := cmp.Diff(want, d.Asking); diff != "" {
		t.Errorf("defaults (-want +got)\n%s", diff)
	}
	rule := ask("x")
	rule.Expires, rule.OnExpiry, rule.Grant = time.Minute, kernel.ExpiryEscalate, time.Hour
	rule.Approvers = kernel.Approvers{NotAsker: true, Quorum: 2, From: []string{"ann", "ben"}, Escalate: []string{"eve", "fay"}}
	want = &kernel.Asking{Expires: time.Minute, OnExpiry: kernel.ExpiryEscalate, Grant: time.Hour, Approvers: rule.Approvers}
	if diff := cmp.Diff(want, decide(t, []policy.Rule{rule}, "x").Asking); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, answer := range []policy.Rule{allow("x"), deny("x")} {
		if d := decide(t, []policy.Rule{answer}, "x"); d.Asking != nil {
			t.Errorf("%s asks: %+v", d.Answer, d.Asking)
		}
	}
	if d := decide(t, nil, "x"); d.Asking != nil {
		t.Errorf("the default asks: %+v", d.Asking)
	}
}

func TestAskDoesNotAliasItsLists(t *testing.T) {
	from := []string{"ann"}
	p, err := policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: "x", Approvers: kernel.Approvers{From: from}}})
	if err != nil {
		t.Fatal(err)
	}
	from[0] = "mallory"
	if d, _ := p.Decide(t.Context(), policy.Request{Tool: "x"}); d.Asking.Approvers.From[0] != "ann" {
		t.Errorf("a change of the list changed who may decide: %v", d.Asking.Approvers)
	}
}

func TestAskRefuses(t *testing.T) {
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("p", i))
		}
		return names
	}
	escalating := func(names ...string) func(*policy.Rule) {
		return func(r *policy.Rule) { r.OnExpiry, r.Approvers.Escalate = kernel.ExpiryEscalate, names }
	}
	for name, tt := range map[string]struct {
		change func(*policy.Rule)
		want   string // of the message; empty: it is legal
	}{
		"shortest expiry":      {func(r *policy.Rule) { r.Expires = time.Second }, ""},
		"short expiry":         {func(r *policy.Rule) { r.Expires = time.Second - 1 }, "expires after 1s to 720h"},
		"negative expiry":      {func(r *policy.Rule) { r.Expires = -time.Hour }, "expires after"},
		"longest expiry":       {func(r *policy.Rule) { r.Expires = 720 * time.Hour }, ""},
		"long expiry":          {func(r *policy.Rule) { r.Expires = 720*time.Hour + 1 }, "expires after"},
		"shortest grant":       {func(r *policy.Rule) { r.Grant = time.Second }, ""},
		"short grant":          {func(r *policy.Rule) { r.Grant = time.Millisecond }, "holds for 1s to 168h"},
		"longest grant":        {func(r *policy.Rule) { r.Grant = 168 * time.Hour }, ""},
		"long grant":           {func(r *policy.Rule) { r.Grant = 168*time.Hour + 1 }, "holds for"},
		"outcome of an expiry": {func(r *policy.Rule) { r.OnExpiry = "approve" }, `unknown outcome of an expiry "approve"`},
		"largest quorum":       {func(r *policy.Rule) { r.Approvers.Quorum = 10 }, ""},
		"large quorum":         {func(r *policy.Rule) { r.Approvers.Quorum = 11 }, "a quorum is from 1 to 10"},
		"negative quorum":      {func(r *policy.Rule) { r.Approvers.Quorum = -1 }, "a quorum is"},
		"quorum of the list":   {func(r *policy.Rule) { r.Approvers.Quorum, r.Approvers.From = 2, many(2) }, ""},
		"quorum over the list": {func(r *policy.Rule) { r.Approvers.Quorum, r.Approvers.From = 3, many(2) }, "from names 2"},
		"quorum over the escalation": {func(r *policy.Rule) {
			r.Approvers.Quorum, r.Approvers.From = 2, many(2)
			escalating("eve")(r)
		}, "escalate names 1"},
		"many names":          {func(r *policy.Rule) { r.Approvers.From = many(100) }, ""},
		"too many names":      {func(r *policy.Rule) { r.Approvers.From = many(101) }, "names 101 people"},
		"no name":             {func(r *policy.Rule) { r.Approvers.From = []string{"ann", ""} }, "printable text of 1 to 200 bytes"},
		"long name":           {func(r *policy.Rule) { r.Approvers.From = []string{strings.Repeat("é", 100)} }, ""},
		"too long name":       {func(r *policy.Rule) { r.Approvers.From = []string{strings.Repeat("x", 201)} }, "printable text"},
		"line break":          {func(r *policy.Rule) { r.Approvers.From = []string{"a\nb"} }, "printable text"},
		"broken name":         {func(r *policy.Rule) { r.Approvers.From = []string{"\xff"} }, "printable text"},
		"white space around":  {func(r *policy.Rule) { r.Approvers.From = []string{"ann "} }, "white space"},
		"name twice":          {func(r *policy.Rule) { r.Approvers.From = []string{"ann", "ben", "ann"} }, `names "ann" twice`},
		"escalated name":      {escalating("eve", "eve"), `names "eve" twice`},
		"escalation":          {escalating("eve"), ""},
		"escalation to none":  {escalating(), "nobody is named to escalate to"},
		"unused escalation":   {func(r *policy.Rule) { r.Approvers.Escalate = []string{"eve"} }, "does not escalate"},
		"refusing escalation": {func(r *policy.Rule) { escalating("eve")(r); r.OnExpiry = kernel.ExpiryRefuse }, "does not escalate"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := ask("x")
			tt.change(&rule)
			_, err := policy.NewRules([]policy.Rule{rule})
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want CONFIGURATION that says %q", err, tt.want)
			}
		})
	}
}

// Of a rule that asks nobody, everything about asking is a slip.
func TestOnlyAnAskSaysHowPeopleAreAsked(t *testing.T) {
	for name, change := range map[string]func(*policy.Rule){
		"expires":   func(r *policy.Rule) { r.Expires = time.Hour },
		"on_expiry": func(r *policy.Rule) { r.OnExpiry = kernel.ExpiryRefuse },
		"grant":     func(r *policy.Rule) { r.Grant = time.Hour },
		"not_asker": func(r *policy.Rule) { r.Approvers.NotAsker = true },
		"quorum":    func(r *policy.Rule) { r.Approvers.Quorum = 1 },
		"from":      func(r *policy.Rule) { r.Approvers.From = []string{"ann"} },
		"escalate":  func(r *policy.Rule) { r.Approvers.Escalate = []string{"eve"} },
	} {
		for _, rule := range []policy.Rule{allow("x"), deny("x")} {
			change(&rule)
			if err := rule.Validate(); err == nil || !strings.Contains(err.Message, "nobody is asked by a rule that says "+string(rule.Answer)) {
				t.Errorf("%s of %s: %v", name, rule.Answer, err)
			}
		}
	}
}

// A policy of one's own may ask without an end.
func TestCheckAskingWithoutAnEnd(t *testing.T) {
	if err := policy.CheckAsking(&kernel.Asking{}); err != nil {
		t.Error(err)
	}
	if err := policy.CheckAsking(&kernel.Asking{Expires: 1}); err == nil {
		t.Error("an expiry of a nanosecond is taken")
	}
}
