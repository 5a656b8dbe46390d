package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// The tools of the scenario, one of each class. The last one needs a yes.
const (
	look   = "look"   // read
	put    = "put"    // idempotent
	move   = "move"   // reconcilable
	charge = "charge" // once
)

// Kill says where a process kills itself. The zero value is nowhere.
type Kill struct {
	Write int    // right before or behind the write of that number, from 1
	Call  string // or in that tool, before or behind its effect, or in a hook on charge
	Turn  int    // or in the request of that turn, from 1
	Sum   int    // or in the request for a summary of that turn, before or behind its count
	Event string // or right before or behind the write of the Nth event of that kind, from 1
	Nth   int
	After bool
}

// The hooks of the scenario, which look at each call.
const (
	checked = "checked" // before
	seen    = "seen"    // after
)

// agent is the agent of the scenario, in the part that its process plays: two
// requests with calls, of which the second is first refused, then an answer.
// Hooks look at each call.
func agent(p part) (*engine.Agent, error) {
	set, err := tool.NewSet(p.Label.put(
		worker{look, kernel.Read, p}, worker{put, kernel.Idempotent, p},
		finder{worker{move, kernel.Reconcilable, p}}, worker{charge, kernel.Once, p},
	)...)
	if err != nil {
		return nil, err
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Ask, Tool: charge}, {Answer: kernel.Allow, Tool: "*"}})
	if err != nil {
		return nil, err
	}
	limits := kernel.DefaultLimits()
	limits.Deadline = 5 * time.Minute
	if p.Long {
		return p.long(set, rules, limits), nil
	}
	return &engine.Agent{Model: planned{p.Kill}, Tools: set, Policy: rules, Limits: limits, Hooks: p.hooks()}, nil
}

// planned is a model that answers by what it is sent alone, so that it is the
// same in every process. It refuses a history that no endpoint would accept.
type planned struct{ kill Kill }

func (planned) Info() model.Info {
	return model.Info{Provider: "enginetest", Name: "planned", Profile: kernel.Strict, MaxTokens: 100, Scripted: true}
}

func (p planned) Call(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	if p.kill.Turn == req.Turn {
		die()
	}
	replies, err := accept(req.Messages)
	if err != nil {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: err.Error()}
	}
	switch replies {
	case 0:
		return asksFor(kernel.Call{ID: look, Name: look, Arguments: `{}`}, kernel.Call{ID: put, Name: put, Arguments: `{}`}), nil
	case 1:
		if req.Attempt == 1 {
			soon := 20 * time.Millisecond
			return nil, &model.Error{Kind: kernel.FailStatus, Status: 529, RetryAfter: &soon}
		}
		return asksFor(kernel.Call{ID: move, Name: move, Arguments: `{}`}, kernel.Call{ID: charge, Name: charge, Arguments: `{}`}), nil
	}
	text := fmt.Sprintf("done, in %d messages", lasting(req.Messages))
	return &model.Reply{
		Stop: kernel.StopEnd, Usage: &kernel.Usage{Input: 10, Output: 5},
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}},
	}, nil
}

// lasting counts messages but for the user's: notices are on one request alone.
func lasting(messages []model.Message) (n int) {
	for _, m := range messages {
		if m.Role != kernel.RoleUser {
			n++
		}
	}
	return n
}

func asksFor(calls ...kernel.Call) *model.Reply {
	m := kernel.Message{Role: kernel.RoleAssistant}
	for i := range calls {
		m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &calls[i]})
	}
	return &model.Reply{Message: m, Stop: kernel.StopCalls, Usage: &kernel.Usage{Input: 10, Output: 5}}
}

// accept counts the replies of a history in which each call is answered at
// once, in order.
func accept(messages []model.Message) (replies int, err error) {
	var open []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == kernel.BlockResult && (len(open) == 0 || open[0] != b.CallID):
				return 0, fmt.Errorf("a result of %s, where %q are open", b.CallID, open)
			case b.Kind == kernel.BlockResult:
				open = open[1:]
			case len(open) > 0 && m.Role != kernel.RoleAssistant:
				return 0, fmt.Errorf("%q are not answered", open)
			case b.Call != nil:
				open = append(open, b.Call.ID)
			}
		}
		if m.Role == kernel.RoleAssistant {
			replies++
		}
	}
	if len(open) > 0 {
		return 0, fmt.Errorf("%q are not answered", open)
	}
	return replies, nil
}

// worker is a tool whose effect is a line in a file.
type worker struct {
	name  string
	class kernel.EffectClass
	part  part
}

func (w worker) Spec() tool.Spec {
	return tool.Spec{Name: w.name, Description: "A tool of a test.", Effect: w.class, Schema: []byte(`{"type":"object","properties":{},"additionalProperties":false}`)}
}

func (w worker) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	if w.part.Call == w.name && !w.part.After {
		die()
	}
	if w.name == charge && w.part.Pause == PauseBegun {
		w.part.pause()
	}
	if err := happen(w.part.Dir, w.name, c.Key); err != nil {
		return tool.Result{}, err
	}
	if w.part.Call == w.name {
		die()
	}
	if w.part.Long {
		return tool.Result{Text: w.name + " is done" + strings.Repeat(" x", 950)}, nil
	}
	return tool.Result{Text: w.name + " is done"}, nil
}

// finder is a worker that can tell whether its effect is there.
type finder struct{ worker }

func (f finder) Lookup(_ context.Context, c tool.Call) (tool.Found, error) {
	if slices.Contains(happened(f.part.Dir, f.name), c.Key) {
		return tool.Found{Presence: kernel.Present, Result: tool.Result{Text: f.name + " is done"}}, nil
	}
	return tool.Found{Presence: kernel.Absent}, nil
}

// happen has an effect: one line, written whole.
func happen(dir, name, key string) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(key + "\n")
	return err
}

// happened are the keys of the effects that a tool had, in order.
func happened(dir, name string) []string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
