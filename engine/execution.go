package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/tool"
)

// Execution is the executor that engines share: it takes one run through its
// events and carries out its commands. Apply and Task belong to the goroutine
// that drives the run; the tasks themselves may run anywhere.
type Execution struct {
	*Replay
	Env
	agent  *Agent
	start  Start
	spec   kernel.Spec
	info   model.Info
	border tool.Border
	encode model.Encoder // nil: the model keeps no bytes

	base    *snapshot // of the agent's own tools
	sources *sources  // nil: it has no other tools
	snap    *snapshot // of the request that was prepared last; nil: none was

	// rated are the risks of the calls that people are asked about, as the policy
	// says, by the call's id.
	rated sync.Map

	sheet     sheet
	fault     *kernel.Error
	preparing preparation // of the latest pure one
}

// Task carries out one command.
type Task interface {
	// Do carries it out, once. It honours ctx and reports in bounded time: by what
	// it returns, or through instead where code that it called does not return.
	// When both come, the first one counts. Any ctx does, but those of an engine
	// cost less to be watched.
	Do(ctx context.Context, instead Report) (kernel.Event, Content)
}

// TaskFunc is a Task that is a function.
type TaskFunc func(ctx context.Context, instead Report) (kernel.Event, Content)

// Do calls f.
func (f TaskFunc) Do(ctx context.Context, instead Report) (kernel.Event, Content) {
	return f(ctx, instead)
}

// Report takes what came of a command. It may be called on any goroutine.
type Report func(kernel.Event, Content)

// Env is what an engine lends to its executions.
type Env struct {
	Log *slog.Logger // required
	// Watch receives the deltas of replies; it does not block. nil: nobody.
	Watch func(model.Delta)
	// Grace is how long code of the embedding program may take to return once
	// its context has ended; after that its command is reported without it. 0:
	// DefaultGrace.
	Grace time.Duration
	// Clock is the time of the runs. nil: the system's.
	Clock Clock
	// Snapshots are shared by the executions that the engine begins. nil: each makes
	// its own.
	Snapshots *Snapshots
	// Jitter is a share of the largest jitter, in 1/10,000. nil: random.
	Jitter func() int
}

// NewExecution prepares a run of s, whose session holds the messages prior.
// What is wrong with s is CONFIGURATION or INVALID_ARGUMENT; that no tool has
// what s requires is NOT_FOUND; that its model or a tool panics is INTERNAL.
func NewExecution(env Env, s Start, prior []kernel.Message) (x *Execution, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	x = &Execution{
		Replay: NewReplay(s.Run, prior), Env: env.complete(),
		agent: s.Agent, start: s,
	}
	x.border = tool.Border{Grace: x.Grace, Logger: x.Log}
	defer x.contain("the agent", &err)
	if x.spec, err = s.Agent.spec(); err != nil {
		return nil, err
	}
	if err := s.Agent.Hooks.Validate(); err != nil {
		return nil, err
	}
	x.info = s.Agent.Model.Info()
	x.observer = x
	x.encode, _ = s.Agent.Model.(model.Encoder)
	if x.base, err = x.own(); err != nil {
		return nil, err
	}
	if x.sources = newSources(x, s.Agent.Sources); x.sources == nil {
		x.snap = x.base
	}
	if x.snap != nil && x.snap.missing != nil {
		return nil, x.snap.missing
	}
	for i := range prior {
		x.kept(&prior[i], nil)
	}
	if x.fault != nil {
		return nil, x.fault
	}
	return x, nil
}

// Begin is the run's first event.
func (x *Execution) Begin() (kernel.Event, Content) {
	return kernel.RunStarted{At: x.at(), Spec: x.spec}, Content{Question: &Question{
		Text: x.start.Question, Provider: x.info.Provider, Model: x.info.Name, Scripted: x.info.Scripted,
		Instructions: x.agent.Instructions, Tools: x.base.tools.Names(), Requires: x.start.Requires,
		Prior: len(x.History.Messages()), Config: x.start.Config,
	}}
}

// describe is what may be shown of an error.
func describe(err error) string {
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// Pure reports whether a command only computes: it may then be carried out
// before the event that caused it is committed.
func (x *Execution) Pure(c kernel.Command) bool {
	switch c := c.(type) {
	case kernel.PrepareContext:
		return x.agent == nil || len(x.agent.Attach) == 0 && (x.sources == nil || x.sources.prompt())
	case kernel.DecideCall:
		return x.agent == nil || x.pureDecision(c.Call.Name)
	case kernel.Observe:
		return x.agent == nil || !x.observed(c.Call.Name)
	}
	return false
}

// Task returns what carries out a command. Commands that are the driver's own
// (timers, aborts, questions to people, the ledger, the finish) have none.
func (x *Execution) Task(c kernel.Command) Task {
	if x.agent == nil {
		return x.without(c)
	}
	switch c := c.(type) {
	case kernel.PrepareContext:
		return x.prepare(c)
	case kernel.CallModel:
		return x.callModel(c)
	case kernel.Summarize:
		return x.summarize(c)
	case kernel.DecideCall:
		return x.decide(c)
	case kernel.RunTool:
		return x.runTool(c)
	case kernel.Reconcile:
		return x.reconcile(c)
	case kernel.Observe:
		return x.observe(c)
	case kernel.Verify:
		return x.verify(c)
	}
	return nil
}
