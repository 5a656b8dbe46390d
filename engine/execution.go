package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// Execution is the executor that engines share: it takes one run through its
// events and carries out its commands. Apply and Task belong to the goroutine
// that drives the run; the tasks themselves may run anywhere.
type Execution struct {
	*Replay
	agent  *Agent
	start  Start
	spec   kernel.Spec
	info   model.Info
	tools  *tool.Set
	log    *slog.Logger
	now    func() time.Time
	border tool.Border
	watch  func(model.Delta) // nil: nobody
	system string
	defs   []model.Tool
	encode model.Encoder // nil: the model keeps no bytes
	head   []byte

	messages  []model.Message
	size      int // bytes of the messages, for the estimate
	fault     *kernel.Error
	ambiguous string
}

// Task carries out one command. It honours ctx and reports in bounded time: by
// what it returns, or through instead where code that it called does not
// return. When both come, the first one counts.
type Task func(ctx context.Context, instead Report) (kernel.Event, Content)

// Report takes what came of a command. It may be called on any goroutine.
type Report func(kernel.Event, Content)

// Env is what an engine lends to its executions.
type Env struct {
	Now func() time.Time // required
	Log *slog.Logger     // required
	// Watch receives the deltas of replies; it does not block. nil: nobody.
	Watch func(model.Delta)
}

// NewExecution prepares a run of s, whose session holds the messages prior.
// What is wrong with s is CONFIGURATION or INVALID_ARGUMENT.
func NewExecution(env Env, s Start, prior []kernel.Message) (*Execution, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	spec, err := s.Agent.spec()
	if err != nil {
		return nil, err
	}
	x := &Execution{
		Replay: NewReplay(s.Run, prior),
		agent:  s.Agent, start: s, spec: spec, info: s.Agent.Model.Info(),
		tools: s.Agent.Tools, log: env.Log, now: env.Now,
		border: tool.Border{Logger: env.Log}, watch: env.Watch,
	}
	x.committed = x.keep
	if len(s.Requires) > 0 {
		if err := x.route(); err != nil {
			return nil, err
		}
	}
	for _, spec := range x.tools.Specs() {
		x.defs = append(x.defs, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	x.system = prompt.System(s.Agent.Instructions, x.tools.Names())
	if x.encode, _ = s.Agent.Model.(model.Encoder); x.encode != nil {
		if x.head, err = x.encode.EncodeHead(x.system, x.defs); err != nil {
			return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the model cannot express its instructions or tools: " + err.Error()}
		}
	}
	for i := range prior {
		x.keep(&prior[i])
	}
	if x.fault != nil {
		return nil, x.fault
	}
	return x, nil
}

// route narrows the tools to the one that covers what the question requires.
func (x *Execution) route() error {
	set, err := x.tools.Route(x.start.Question, x.start.Requires)
	if a, tie := asAmbiguous(err); tie {
		x.ambiguous = a.Error()
		return nil
	}
	if err != nil {
		return err
	}
	x.tools = set
	return nil
}

// Begin is the run's first event.
func (x *Execution) Begin() (kernel.Event, Content) {
	return kernel.RunStarted{At: x.at(), Spec: x.spec}, Content{Question: &Question{
		Text: x.start.Question, Provider: x.info.Provider, Model: x.info.Name, Scripted: x.info.Scripted,
		Instructions: x.agent.Instructions, Tools: x.tools.Names(), Requires: x.start.Requires,
		Prior: len(x.History.Messages()),
	}}
}

// keep encodes a message once, when it enters the history.
func (x *Execution) keep(m *kernel.Message) {
	kept := model.Message{Message: m}
	if x.encode != nil {
		wire, err := x.encode.EncodeMessage(m)
		if err != nil && x.fault == nil {
			x.fault = &kernel.Error{Code: kernel.CodeInternal, Message: "a message cannot be encoded for the model: " + err.Error()}
		}
		kept.Wire = wire
	}
	x.messages = append(x.messages, kept)
	x.size += messageSize(&kept)
}

// messageSize is the bytes that count for the token estimate.
func messageSize(m *model.Message) int {
	if m.Wire != nil {
		return len(m.Wire)
	}
	n := 0
	for i := range m.Blocks {
		b := &m.Blocks[i]
		n += len(b.Text) + 16
		if b.Call != nil {
			n += len(b.Call.Name) + len(b.Call.Arguments)
		}
		if b.Private != nil {
			n += len(b.Private.Data)
		}
	}
	return n
}

// Task returns what carries out a command, and whether it only computes: such
// a task may run before the event that caused it is committed. Commands that
// are the driver's own (timers, aborts, the finish) have none.
func (x *Execution) Task(c kernel.Command) (task Task, pure bool) {
	switch c := c.(type) {
	case kernel.PrepareContext:
		return x.prepare(c), true
	case kernel.CallModel:
		return x.callModel(c), false
	case kernel.DecideCall:
		return x.decide(c), x.purePolicy()
	case kernel.AskHuman:
		return x.ask(c), false
	case kernel.RunTool:
		return x.runTool(c), false
	case kernel.Verify:
		return x.verify(c), false
	}
	return nil, false
}

func (x *Execution) at() kernel.Time { return kernel.Time(x.now().UnixNano()) }

func jitter() int { return rand.IntN(10_001) }

// contain turns a panic of foreign code into an error. The stack goes to the
// log alone, and the panic's own words nowhere: they may quote content.
func (x *Execution) contain(what string, err *error) {
	if p := recover(); p != nil {
		x.log.Error("panic contained", "run", x.Run, "in", what, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		*err = &kernel.Error{Code: kernel.CodeInternal, Message: what + " panicked"}
	}
}

func (x *Execution) prepare(c kernel.PrepareContext) Task {
	return func(context.Context, Report) (kernel.Event, Content) {
		switch {
		case x.ambiguous != "":
			return kernel.ContextFailed{At: x.at(), Cmd: c.Cmd, Fault: kernel.ContextClarification, Detail: x.ambiguous}, Content{}
		case x.fault != nil:
			return kernel.ContextFailed{At: x.at(), Cmd: c.Cmd, Fault: kernel.ContextBroken, Detail: x.fault.Message}, Content{}
		}
		return kernel.ContextPrepared{
			At: x.at(), Cmd: c.Cmd,
			InputTokens: prompt.EstimateTokens(x.size + x.headSize()),
			Messages:    len(x.messages),
			Tools:       x.tools.Digest(),
		}, Content{}
	}
}

func (x *Execution) headSize() int {
	if x.head != nil {
		return len(x.head)
	}
	n := len(x.system)
	for i := range x.defs {
		n += len(x.defs[i].Name) + len(x.defs[i].Description) + len(x.defs[i].Schema)
	}
	return n
}
