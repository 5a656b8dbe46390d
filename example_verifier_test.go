package holdfast_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/multiply"
	"github.com/holdfast-run/holdfast/verify"
)

// computed verifies that the answer names a number that multiply returned.
type computed struct{}

func (computed) Verify(_ context.Context, facts verify.Facts) (verify.Verdict, error) {
	for _, r := range facts.Results {
		if r.Tool == multiply.Name && !r.IsError && strings.Contains(facts.Answer, string(r.Data)) {
			return verify.Verdict{Verified: true, Finding: "the number was computed", Evidence: []string{r.Evidence}}, nil
		}
	}
	return verify.Verdict{Finding: "no call returned that number; call multiply"}, nil
}

// A verifier judges by what was stored. With Continue its finding goes back to
// the model, which here guesses first and computes then.
func Example_verifier() {
	agent := &holdfast.Agent{
		Model: must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
			{Text: "About 4000."},
			{Calls: []script.Call{{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}}},
			{Text: "It is 3720."},
		}}})),
		Tools:    must(tool.NewSet(multiply.New())),
		Policy:   must(policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "*"}})),
		Verifier: computed{},
		Continue: true,
	}
	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.Run(ctx, agent, "What is 248 times 15?"))
	fmt.Println(run.Outcome.Stop, run.Outcome.Verified, run.Answer)
	fmt.Println(run.Outcome.Finding, len(run.Outcome.Evidence))
	// Output:
	// verified_success true It is 3720.
	// the number was computed 1
}
