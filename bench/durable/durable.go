// Package durable drives many runs through the local engine on one SQLite file.
package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// resultSize is what a call returns, in bytes.
const resultSize = 2048

// scripted asks for one call in each turn but the last, never for the same one
// again: the ledger would refuse it while its equal runs. It answers at once, so
// that what is measured is the runtime and the file.
type scripted struct {
	turns int
	tool  string
	calls atomic.Int64 // so far
}

func (*scripted) Info() model.Info {
	return model.Info{Provider: "bench", Name: "scripted", Profile: kernel.Strict, MaxTokens: 4096, Scripted: true}
}

func (s *scripted) Call(_ context.Context, r *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	usage := &kernel.Usage{Input: 1000, Output: 20}
	if r.Turn == s.turns {
		return &model.Reply{Stop: kernel.StopEnd, Usage: usage, Size: 300, Message: kernel.Message{
			Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: "done"}},
		}}, nil
	}
	call := &kernel.Call{ID: "call_" + strconv.Itoa(r.Turn), Name: s.tool, Arguments: fmt.Sprintf(`{"n":%d}`, s.calls.Add(1))}
	return &model.Reply{Stop: kernel.StopCalls, Usage: usage, Size: 700, Message: kernel.Message{
		Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockCall, Call: call}},
	}}, nil
}

// lookup is a tool of the given class, whose effect is nothing.
type lookup struct{ class kernel.EffectClass }

func (l lookup) Spec() tool.Spec {
	return tool.Spec{
		Name: "lookup", Description: "Looks an entry up.", Effect: l.class,
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"type":"integer"}}}`),
	}
}

func (lookup) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{Text: strings.Repeat("x", resultSize)}, nil
}

// Agent is one whose runs take that many turns, with a call of that class in
// each but the last, and whose calls policy answers so.
func Agent(turns int, class kernel.EffectClass, answer kernel.Answer) (*engine.Agent, error) {
	set, err := tool.NewSet(lookup{class})
	if err != nil {
		return nil, err
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: answer, Tool: "lookup"}})
	if err != nil {
		return nil, err
	}
	limits := kernel.DefaultLimits()
	limits.Turns, limits.Calls, limits.Deadline = turns, turns, time.Hour
	return &engine.Agent{Model: &scripted{turns: turns, tool: "lookup"}, Tools: set, Policy: rules, Limits: limits}, nil
}

// Drive starts n runs of agent, so many at a time, and waits until each has
// stopped as answered, or waits for people where it must.
func Drive(ctx context.Context, e *local.Engine, agent *engine.Agent, n, atOnce int, wait bool) error {
	queue := make(chan int)
	errs := make(chan error, atOnce)
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := range queue {
				r, err := e.Run(ctx, engine.Start{Agent: agent, Question: "How many entries are there?", Run: fmt.Sprintf("run_%026d", i), Tenant: "acme", User: fmt.Sprint("user", i)})
				switch {
				case err != nil:
				case wait && r.Head.State == journal.Waiting, !wait && r.Outcome != nil && r.Outcome.Stop == kernel.StopAnswered:
					continue
				default:
					err = fmt.Errorf("run %d ended as %+v", i, r.Outcome)
				}
				select {
				case errs <- err:
				default:
				}
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	wg.Wait()
	close(errs)
	return <-errs
}

// Recorder is a journal that keeps what was appended, in order.
type Recorder struct {
	journal.Journal
	mu      sync.Mutex
	Entries []journal.Entry
}

// Append appends and remembers.
func (r *Recorder) Append(ctx context.Context, e journal.Entry) error {
	kept := e
	kept.Records = append([]journal.Record(nil), e.Records...) // the list is the caller's again
	if err := r.Journal.Append(ctx, e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Entries = append(r.Entries, kept)
	return nil
}
