package holdfast_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
)

// A run that is watched while it goes on: deltas are pieces of the answer as
// they arrive, and may be lost; records are what happened, and never are. An
// agent without Limits has the default ones. To change some of them, start from
// DefaultLimits: in Limits, a field that is left out is zero and no default.
func Example_watch() {
	endpoint := must(stub.Start(stub.Options{}))
	defer endpoint.Close()
	endpoint.Play(stub.Text("Good morning."))
	model := must(openai.New(openai.Config{BaseURL: endpoint.OpenAIURL(), Key: "sk-example", Name: "some-model", Stream: true}))
	defer model.Close()

	limits := kernel.DefaultLimits()
	limits.Turns = 3
	agent := &holdfast.Agent{Model: model, Limits: limits}

	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	id := must(rt.Start(ctx, holdfast.Start{Agent: agent, Question: "Hello?"}))
	var typed strings.Builder
	for u, err := range rt.Watch(ctx, id, 0) { // 0: from the first record on
		switch {
		case err != nil:
			panic(err)
		case u.Event == nil:
			typed.WriteString(u.Delta)
		default:
			fmt.Println(u.Seq, u.Event.Kind())
		}
		if u.Outcome != nil {
			fmt.Println(u.Outcome.Stop)
		}
	}
	run := must(rt.Get(ctx, id))
	fmt.Println(run.Answer, strings.Contains(run.Answer, typed.String()))
	// Output:
	// 1 run_started
	// 2 context_prepared
	// 3 model_replied
	// answered
	// Good morning. true
}
