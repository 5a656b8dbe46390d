package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/bench/scripted"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// Holdfast is a run of this project: admission, policy, schema check, tool
// border, budgets, and every event in the journal in memory.
func Holdfast() Contestant {
	return Contestant{Name: "holdfast", New: func(c Config) (Runner, error) { return newHold(c) }}
}

// hold has one runtime for all its runs, as a program that embeds it does. Its
// journal keeps them all.
type hold struct {
	model   *openai.Model
	agent   *holdfast.Agent
	runtime *holdfast.Runtime
}

func newHold(c Config) (*hold, error) {
	m, err := openai.New(openai.Config{BaseURL: c.BaseURL, Name: scripted.Model, Stream: c.Stream, MaxTokens: scripted.MaxTokens})
	if err != nil {
		return nil, err
	}
	lookup, err := lookupTool(scripted.Entries(c.Turns))
	if err != nil {
		return nil, err
	}
	tools, err := tool.NewSet(lookup)
	if err != nil {
		return nil, err
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: scripted.ToolName}})
	if err != nil {
		return nil, err
	}
	rt, err := holdfast.Open(context.Background(), holdfast.Options{})
	if err != nil {
		return nil, err
	}
	return &hold{model: m, runtime: rt, agent: &holdfast.Agent{
		Model: m, Instructions: scripted.Instructions, Tools: tools, Policy: rules,
		Limits:         kernel.Limits{Turns: c.Turns, Calls: c.Turns, Deadline: 10 * time.Minute, Repeat: 3},
		Retry:          kernel.Retry{Attempts: 4, PerRun: 2 * c.Turns, Wait: 3 * time.Second},
		RequestTimeout: requestTimeout,
	}}, nil
}

func lookupTool(e entries) (tool.Tool, error) {
	type input struct {
		N int64 `json:"n"`
	}
	return tool.Func(tool.Spec{
		Name: scripted.ToolName, Description: scripted.ToolText, Schema: json.RawMessage(scripted.ToolSchema), Effect: kernel.Read,
	}, func(_ context.Context, _ tool.Call, in input) (tool.Result, error) {
		text, err := e.lookup(in.N)
		return tool.Result{Text: text}, err
	})
}

func (h *hold) Run(ctx context.Context) (Result, error) {
	run, err := h.runtime.Run(ctx, h.agent, scripted.Question)
	if err != nil {
		return Result{}, err
	}
	if run.Outcome.Stop != kernel.StopAnswered {
		return Result{}, fmt.Errorf("stopped: %s (%s)", run.Outcome.Stop, run.Outcome.Detail)
	}
	return Result{run.Answer, len(run.Results)}, nil
}

func (h *hold) Close() {
	// Nothing is under way any more, and idle connections are all that is left.
	_ = h.runtime.Close()
	_ = h.model.Close()
}
