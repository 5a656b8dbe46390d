package remote

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// agent returns the agent of one submission. Its model is a script of the one
// call that the host makes; nothing else is allowed, and an outcome that nobody
// knows is waited for.
func (d *Desk) agent(o Order) (*holdfast.Agent, error) {
	args, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	m, err := script.New(script.Config{Name: "host", Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "submit", Name: SubmitTicket, Args: string(args)}}},
		{Text: "The ticket was not submitted."}, // a receipt ends the run before it comes to this
	}}})
	if err != nil {
		return nil, err
	}
	return &holdfast.Agent{
		Model: m, Tools: d.tools, Policy: d.policy,
		Verifier: receipts{}, VerifyEachTurn: true,
		Unknown: kernel.UnknownWait,
		Limits:  kernel.Limits{Turns: 2, Calls: 1, Deadline: 10 * time.Minute},
	}, nil
}

// stored makes the agent of a submission that another process began.
func (d *Desk) stored(_ context.Context, s *holdfast.Stored) (*holdfast.Agent, error) {
	var o Order
	if err := json.Unmarshal(s.Question.Config, &o); err != nil || o.Ticket == "" {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the run is no submission of a ticket", Hint: "go on with it in the program that started it"}
	}
	return d.agent(o)
}

// allowed is the policy of a submission: its own tool.
func allowed() (policy.Policy, error) {
	return policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: SubmitTicket}})
}

// receipts verifies a submission by the receipt that is stored of it.
type receipts struct{}

var _ verify.Verifier = receipts{}

// Verify looks for a submission that has landed.
func (receipts) Verify(_ context.Context, facts verify.Facts) (verify.Verdict, error) {
	for _, r := range facts.Results {
		if r.Tool == SubmitTicket && r.Disposition == kernel.Landed && !r.IsError {
			return verify.Verdict{Verified: true, Finding: "the ticket is at the service", Evidence: []string{r.Evidence}}, nil
		}
	}
	return verify.Verdict{Finding: "there is no receipt"}, nil
}

// newTools is the one tool of a submission.
func newTools(c Config, client *client) (*tool.Set, error) {
	t, err := newTool(client, c.Promise, c.Timeout, c.Settle)
	if err != nil {
		return nil, err
	}
	return tool.NewSet(t)
}
