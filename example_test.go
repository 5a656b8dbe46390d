package holdfast_test

import (
	"context"
	"fmt"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

type factors struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

func Example() {
	ctx := context.Background()
	multiply := must(tool.Func(tool.Spec{Name: "multiply", Description: "Multiplies two integers.", Effect: kernel.Read},
		func(_ context.Context, _ tool.Call, in factors) (int64, error) { return in.A * in.B, nil }))
	agent := &holdfast.Agent{
		Model: must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{ // no real model: a fixed script
			{Calls: []script.Call{{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}}},
			{Text: "248 × 15 = 3720"},
		}}})),
		Tools:  must(tool.NewSet(multiply)),
		Policy: must(policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "multiply"}})),
	}
	rt := must(holdfast.Open(ctx, holdfast.Options{})) // in memory; File: "runs.db" keeps the runs
	defer rt.Close()
	run := must(rt.Run(ctx, agent, "What is 248 times 15?"))
	fmt.Println(run.Outcome.Stop, run.Outcome.Verified, run.Answer)
	// Output: answered unchecked 248 × 15 = 3720
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
