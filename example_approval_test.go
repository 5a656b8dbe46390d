package holdfast_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
)

// clerk is the person who is asked. It sees the exact call, and refuses.
type clerk struct{}

func (clerk) Approve(_ context.Context, a policy.Approval) (policy.Verdict, error) {
	fmt.Printf("asked about %s %s\n", a.Tool, a.Arguments)
	return policy.Verdict{By: "clerk", Reason: "keep the old version"}, nil
}

// What a rule asks about is put to the Approver. A refusal is told to the
// model, and nothing happens.
func Example_approval() {
	dir := must(os.MkdirTemp("", "holdfast-example-"))
	defer os.RemoveAll(dir)
	workspace := must(files.Open(dir, files.Options{}))
	defer workspace.Close()

	agent := &holdfast.Agent{
		Model: must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
			{Calls: []script.Call{{ID: "call_1", Name: "write_file", Args: `{"path":"plan.txt","content":"new"}`}}},
			{Text: "It was not approved."},
		}}})),
		Tools:    must(tool.NewSet(workspace.Tools()...)),
		Policy:   must(policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: "write_file"}})),
		Approver: clerk{},
	}
	ctx := context.Background()
	rt := must(holdfast.Open(ctx, holdfast.Options{}))
	defer rt.Close()
	run := must(rt.Run(ctx, agent, "Write the plan."))
	fmt.Println(run.Outcome.Stop, len(must(os.ReadDir(dir))), "files")
	// Output:
	// asked about write_file {"path":"plan.txt","content":"new"}
	// answered 0 files
}
