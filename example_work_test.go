package holdfast_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

type payment struct {
	Cents int64 `json:"cents"`
}

// cashier makes the agent from the configuration that is kept with each run, in
// whichever process goes on with it.
func cashier(config json.RawMessage) *holdfast.Agent {
	var c struct{ Greeting string }
	if err := json.Unmarshal(config, &c); err != nil {
		panic(err)
	}
	pay := must(tool.Func(tool.Spec{Name: "pay", Description: "Pays.", Effect: kernel.Once},
		func(_ context.Context, _ tool.Call, in payment) (string, error) {
			fmt.Println("paying", in.Cents)
			return "paid", nil
		}))
	return &holdfast.Agent{
		Model: must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
			{Calls: []script.Call{{ID: "call_1", Name: "pay", Args: `{"cents":900}`}}},
			{Text: "It is paid."},
		}}})),
		Instructions: c.Greeting,
		Tools:        must(tool.NewSet(pay)),
		Policy:       must(policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: "pay"}})),
	}
}

// A run that waits for a person survives its process: it is decided on from
// anywhere, and whoever works goes on with it.
func ExampleRuntime_Work() {
	dir := must(os.MkdirTemp("", "holdfast-example-"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "runs.db")
	ctx := context.Background()

	config := json.RawMessage(`{"greeting":"Be brief."}`)
	first := must(holdfast.Open(ctx, holdfast.Options{File: file}))
	run := must(first.RunStart(ctx, holdfast.Start{Agent: cashier(config), Question: "Pay 9.00.", User: "ann", Config: config}))
	fmt.Println(run.Head.State, "for", run.Head.WaitingFor)
	first.Close()

	second := must(holdfast.Open(ctx, holdfast.Options{
		File: file,
		Agents: func(_ context.Context, s *holdfast.Stored) (*holdfast.Agent, error) {
			return cashier(s.Question.Config), nil
		},
	}))
	defer second.Close()
	for _, a := range must(second.Journal().Approvals(ctx, journal.ApprovalQuery{State: journal.ApprovalOpen})) {
		fmt.Println(a.User, "asks for", a.Tool, string(a.Arguments))
		// Hash binds the decision to what was shown.
		err := second.Signal(ctx, a.Run, holdfast.Signal{Kind: holdfast.SignalApprove, Approval: a.ID, Hash: a.Hash, By: "bob"})
		if err != nil {
			panic(err)
		}
	}
	if err := second.Work(ctx, holdfast.Workload{Once: true}); err != nil {
		panic(err)
	}
	run = must(second.Get(ctx, run.Head.Run))
	fmt.Println(run.Outcome.Stop, run.Answer)
	// Output:
	// waiting for approval
	// ann asks for pay {"cents":900}
	// paying 900
	// answered It is paid.
}
