package holdfast_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

type refund struct {
	Order string `json:"order" jsonschema:"the order's number"`
	Cents int64  `json:"cents"`
}

// A tool with an effect says what became of it. A refusal of its own is known
// not to have happened; an error that says nothing leaves the effect in doubt,
// and the model is told so.
func Example_tool() {
	refunds := must(tool.Func(tool.Spec{
		Name: "refund", Description: "Pays an order back.", Effect: kernel.Once,
	}, func(_ context.Context, c tool.Call, in refund) (string, error) {
		if in.Cents > 5000 {
			return "", &tool.Error{Message: "more than 50.00 needs a person", Disposition: kernel.DidNotHappen}
		}
		if in.Order == "1002" {
			return "", errors.New("the connection was lost")
		}
		return "refunded for " + c.Tenant, nil // who asks comes from the host
	}))
	agent := &holdfast.Agent{
		Model:  calls(`{"order":"1001","cents":900}`, `{"order":"1001","cents":90000}`, `{"order":"1002","cents":900}`, `{"order":"1001"}`),
		Tools:  must(tool.NewSet(refunds)),
		Policy: must(policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "refund"}})),
	}
	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.RunStart(ctx, holdfast.Start{Agent: agent, Question: "Refund them.", Tenant: "acme"}))
	for _, m := range run.History {
		if m.Role == kernel.RoleTool {
			fmt.Println(m.Blocks[0].Text)
		}
	}
	// Output:
	// {"status":"completed","result":"refunded for acme"}
	// {"status":"error","code":"TOOL_FAILED","message":"more than 50.00 needs a person"}
	// {"status":"error","code":"TOOL_FAILED","message":"the connection was lost; the effect may have taken place; its outcome is unknown"}
	// Not run: missing arguments: cents
}

// calls is a scripted model that calls refund once with each of args.
func calls(args ...string) *script.Model {
	step := script.Step{}
	for i, a := range args {
		step.Calls = append(step.Calls, script.Call{ID: fmt.Sprintf("call_%d", i+1), Name: "refund", Args: a})
	}
	return must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{step, {Text: "Done."}}}}))
}
