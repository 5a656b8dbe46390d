package eval_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk/eval"
)

// docs/desk-eval.md has every class, kind, script and field, and no row for
// anything else: others script against them.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/desk-eval.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"version": true, "commit": true, "go": true, "limits": true, "turns": true, "calls": true, "deadline": true, eval.Honest: true}
	for _, c := range eval.Classes() {
		known[string(c)] = true
	}
	for _, k := range eval.Kinds() {
		known[string(k)] = true
	}
	for _, m := range eval.Misbehaviours() {
		known[m.Name] = true
	}
	for _, v := range []any{
		eval.Report{}, eval.Setup{}, eval.ModelFacts{}, eval.LimitsFacts{}, eval.TasksFacts{}, eval.Rate{}, eval.Totals{}, eval.Verdict{}, eval.Trial{}, eval.State{},
		eval.Call{}, eval.Read{}, eval.Failure{}, eval.Gate{}, eval.Task{}, eval.Ticket{}, eval.Policy{}, eval.Injection{}, eval.Step{}, eval.Expect{}, eval.Wanted{}, eval.Comparison{},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known[name] = true
			}
		}
	}
	span, said := regexp.MustCompile("`([^`]+)`"), map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			said[m[1]] = true
		}
		if first, _, row := strings.Cut(line, " | "); row && strings.HasPrefix(line, "| `") {
			for _, m := range span.FindAllStringSubmatch(first, -1) {
				if !known[m[1]] {
					t.Errorf("there is no %s", m[1])
				}
			}
		}
	}
	for name := range known {
		if !said[name] {
			t.Errorf("%s is not documented", name)
		}
	}
}
