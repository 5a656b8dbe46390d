package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// script is a model whose replies the test gives, one function a request.
type script struct {
	mu    sync.Mutex
	steps []step
	seen  []*model.Request
}

type step func(ctx context.Context, req *model.Request) (*model.Reply, error)

func (s *script) Info() model.Info {
	return model.Info{Provider: "test", Name: "script", Profile: kernel.Strict, MaxTokens: 1024, MaxTokensCap: 2048}
}

func (s *script) Call(ctx context.Context, req *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	s.mu.Lock()
	n := len(s.seen)
	copied := *req
	s.seen = append(s.seen, &copied)
	s.mu.Unlock()
	if n >= len(s.steps) {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: "the script is at its end"}
	}
	reply, err := s.steps[n](ctx, req)
	if reply != nil && watch != nil {
		for _, b := range reply.Message.Blocks {
			watch(model.Delta{Text: b.Text})
		}
	}
	return reply, err
}

func (s *script) requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func says(text string) step {
	return func(context.Context, *model.Request) (*model.Reply, error) {
		return &model.Reply{
			Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}},
			Stop:    kernel.StopEnd, Usage: &kernel.Usage{Input: 10, Output: 5}, Size: len(text),
		}, nil
	}
}

func calls(calls ...kernel.Call) step {
	return func(context.Context, *model.Request) (*model.Reply, error) {
		m := kernel.Message{Role: kernel.RoleAssistant}
		for i := range calls {
			c := calls[i]
			m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &c})
		}
		return &model.Reply{Message: m, Stop: kernel.StopCalls, Usage: &kernel.Usage{Input: 10, Output: 5}}, nil
	}
}

func fails(e model.Error) step {
	return func(context.Context, *model.Request) (*model.Reply, error) { return nil, &e }
}

func call(id, name, args string) kernel.Call { return kernel.Call{ID: id, Name: name, Arguments: args} }

// probe is a tool whose behaviour the test gives.
type probe struct {
	name   string
	effect kernel.EffectClass
	tries  int
	run    func(ctx context.Context, c tool.Call) (tool.Result, error)
}

func (p probe) Spec() tool.Spec {
	return tool.Spec{
		Name: p.name, Description: "A tool of a test.", Effect: p.effect,
		Schema:       []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`),
		Capabilities: []string{p.name}, Limits: tool.Limits{Attempts: p.tries},
	}
}

func (p probe) Run(ctx context.Context, c tool.Call) (tool.Result, error) { return p.run(ctx, c) }

// counter counts the runs of the tools that it makes.
type counter struct{ n atomic.Int64 }

func (c *counter) count() int { return int(c.n.Load()) }

func (c *counter) tool(name string) tool.Tool {
	return probe{name: name, effect: kernel.Read, run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: fmt.Sprintf("%s %d", name, c.n.Add(1))}, nil
	}}
}

type allowAll struct{}

func (allowAll) Decide(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Answer: kernel.Allow, Rule: "test"}, nil
}

type deciding func(policy.Request) (policy.Decision, error)

func (d deciding) Decide(_ context.Context, r policy.Request) (policy.Decision, error) { return d(r) }

func tools(t *testing.T, list ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// open opens an engine; what it leaves in the journal is verified in the end.
func open(t *testing.T, j journal.Journal, change ...func(*local.Config)) *local.Engine {
	t.Helper()
	t.Cleanup(func() { wantVerified(t, j) })
	return openSpoilt(t, j, change...)
}

// openSpoilt opens an engine on a journal that somebody spoils.
func openSpoilt(t *testing.T, j journal.Journal, change ...func(*local.Config)) *local.Engine {
	t.Helper()
	c := local.Config{Journal: j}
	for _, f := range change {
		f(&c)
	}
	e, err := local.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// wantVerified holds a journal to its chains, and what stands beside the events
// to those. One that a test has closed or spoilt cannot be read.
func wantVerified(t *testing.T, j journal.Journal) {
	t.Helper()
	report, err := journal.VerifyAll(context.Background(), j, nil)
	if err == nil && report.Flaw != nil {
		t.Errorf("the journal does not verify: %s", report.Flaw)
	}
}

// run drives one agent over one question, on a journal in memory.
func run(t *testing.T, a *engine.Agent) *engine.Run {
	t.Helper()
	j := memory.New()
	r, err := open(t, j).Run(t.Context(), engine.Start{Agent: a, Question: "do it"})
	if err != nil {
		t.Fatal(err)
	}
	sameAsStored(t, j, r)
	return r
}

func encode(t *testing.T, s kernel.State) string {
	t.Helper()
	b, err := kernel.EncodeState(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func results(r *engine.Run) (out []string) {
	for _, m := range r.History {
		if m.Role == kernel.RoleTool {
			out = append(out, m.Blocks[0].CallID+": "+m.Blocks[0].Text)
		}
	}
	return out
}

func wantStop(t *testing.T, r *engine.Run, stop kernel.Stop, detail string) {
	t.Helper()
	if r.Outcome == nil || r.Outcome.Stop != stop || r.Outcome.Detail != detail {
		t.Fatalf("outcome %+v, want stop %s (%s)", r.Outcome, stop, detail)
	}
}

var errForeign = errors.New("the disk is on fire")

func limits(change func(*kernel.Limits)) kernel.Limits {
	l := kernel.DefaultLimits()
	l.Deadline = time.Minute
	change(&l)
	return l
}

// mortal is the journal of a process that dies: from then on nothing of it
// arrives any more, and its leases stay as they are.
type mortal struct {
	journal.Journal
	dead atomic.Bool
}

var errDead = &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the process is dead"}

func (m *mortal) Append(ctx context.Context, e journal.Entry) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Journal.Append(ctx, e)
}

func (m *mortal) Renew(ctx context.Context, owner string, runs []string, until time.Time) ([]string, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Journal.Renew(ctx, owner, runs, until)
}

func (m *mortal) Release(ctx context.Context, run string, l journal.Lease) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Journal.Release(ctx, run, l)
}

// later is the configuration of an engine whose clock is ahead: to it, the
// leases of the others have ended.
func later(by time.Duration) func(*local.Config) {
	return func(c *local.Config) { c.Clock = ahead(by) }
}

type ahead time.Duration

func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

func (ahead) AfterFunc(d time.Duration, f func()) engine.Timer { return time.AfterFunc(d, f) }
