package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// drive carries a run's commands out one after another, and keeps its records.
type drive struct {
	t       *testing.T
	x       *engine.Execution
	events  []kernel.Event
	records []journal.Record
	// before is told of each preparation before it is carried out.
	before func(kernel.PrepareContext)
}

func begin(t *testing.T, a *engine.Agent, run, question string, prior []kernel.Message) *drive {
	t.Helper()
	x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil), Grace: 10 * time.Millisecond}, engine.Start{Agent: a, Run: run, Session: "s", Question: question}, prior)
	if err != nil {
		t.Fatal(err)
	}
	return &drive{t: t, x: x}
}

// take applies an event and returns what follows from it.
func (d *drive) take(e kernel.Event, c engine.Content) []kernel.Command {
	d.t.Helper()
	commands, err := d.x.Apply(e, c)
	if err != nil {
		d.t.Fatalf("%+v: %v", e, err)
	}
	rec, err := new(engine.Recorder).Record(d.x.Seq, e, c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.events, d.records = append(d.events, e), append(d.records, rec)
	return slices.Clone(commands) // the next Apply writes over them
}

// run takes the run to its stop.
func (d *drive) run() *kernel.Outcome {
	d.t.Helper()
	d.goOn(d.take(d.x.Begin()))
	return d.x.State.Outcome
}

func (d *drive) goOn(queue []kernel.Command) {
	d.t.Helper()
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		switch c := c.(type) {
		case kernel.SetTimer:
			if c.Timer != kernel.TimerRetry {
				continue
			}
			queue = append(queue, d.take(kernel.TimerFired{At: d.x.State.Now, Cmd: c.Cmd, Timer: c.Timer}, engine.Content{})...)
			continue
		case kernel.Abort, kernel.Finish, kernel.Settle:
			continue
		case kernel.RunTool:
			queue = append(queue, d.take(kernel.CallStarted{At: d.x.State.Now, Cmd: c.Cmd, Call: c.Call.ID}, engine.Content{})...)
		case kernel.PrepareContext:
			if d.before != nil {
				d.before(c)
			}
		}
		queue = append(queue, d.do(c)...)
	}
}

// do carries one command out.
func (d *drive) do(c kernel.Command) []kernel.Command {
	d.t.Helper()
	task := d.x.Task(c)
	if task == nil {
		d.t.Fatalf("%T has no task", c)
	}
	type report struct {
		e kernel.Event
		c engine.Content
	}
	reports := make(chan report, 2)
	own := new(leash.Leash)
	defer own.End(context.Canceled)
	go func() {
		e, content := task.Do(own, func(e kernel.Event, c engine.Content) { reports <- report{e, c} })
		reports <- report{e, content}
	}()
	first := <-reports
	return d.take(first.e, first.c)
}

// notice brings a notice.
func (d *drive) notice(id, text string) {
	d.t.Helper()
	d.take(kernel.Noticed{At: d.x.State.Now, Notice: id, Size: len(text)}, engine.Content{Said: &engine.Said{Text: text}})
}

// model is a model whose replies the test gives, one function a request. It
// keeps what it was sent, and how often it encoded what.
type fake struct {
	steps   []func(*model.Request) (*model.Reply, error)
	seen    []model.Request
	encoded map[string]int
	quoted  [][]byte // texts of results, as they came quoted
	max     int
}

func (f *fake) Info() model.Info {
	return model.Info{Provider: "test", Name: "fake", Profile: kernel.Strict, MaxTokens: max(f.max, 100)}
}

func (f *fake) Call(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	f.seen = append(f.seen, *req)
	n := len(f.seen) - 1
	if n >= len(f.steps) {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: "the script is at its end"}
	}
	return f.steps[n](req)
}

// encoder is a fake that keeps bytes.
type encoder struct{ *fake }

func (f encoder) EncodeMessage(m *kernel.Message, quoted []byte) (model.Encoded, error) {
	if m.Role == kernel.RoleTool {
		f.quoted = append(f.quoted, quoted)
	}
	b, err := json.Marshal(m)
	if f.encoded == nil {
		f.encoded = map[string]int{}
	}
	f.encoded[string(b)]++
	if i := bytes.Index(b, quoted); quoted != nil && i >= 0 {
		return model.Encoded{Before: b[:i], Text: quoted, After: b[i+len(quoted):]}, err
	}
	return model.Encoded{Before: b}, err
}

func (f encoder) EncodeHead(system string, tools []model.Tool) ([]byte, error) {
	b, err := json.Marshal(map[string]any{"system": system, "tools": len(tools)})
	return b, err
}

func answers(text string) func(*model.Request) (*model.Reply, error) {
	return func(*model.Request) (*model.Reply, error) {
		return &model.Reply{Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}, Stop: kernel.StopEnd, Size: len(text)}, nil
	}
}

func asks(id string) func(*model.Request) (*model.Reply, error) {
	return func(*model.Request) (*model.Reply, error) {
		c := kernel.Call{ID: id, Name: "look", Arguments: `{"at":"` + id + `"}`}
		return &model.Reply{Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockCall, Call: &c}}}, Stop: kernel.StopCalls}, nil
	}
}

func fails(e model.Error) func(*model.Request) (*model.Reply, error) {
	return func(*model.Request) (*model.Reply, error) { return nil, &e }
}

type allow struct{}

func (allow) Decide(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Answer: kernel.Allow}, nil
}

// look is a tool that returns so many bytes.
func look(t *testing.T, size int) *tool.Set {
	t.Helper()
	type in struct {
		At string `json:"at"`
	}
	f, err := tool.Func(tool.Spec{Name: "look", Description: "Looks.", Effect: kernel.Read}, func(_ context.Context, _ tool.Call, in in) (tool.Result, error) {
		return tool.Result{Text: in.At + ":" + strings.Repeat("x", size)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(f)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func agent(t *testing.T, m model.Model, size int) *engine.Agent {
	t.Helper()
	limits := kernel.DefaultLimits()
	limits.Turns, limits.Calls, limits.Deadline, limits.Repeat = 600, 600, time.Hour, 0
	return &engine.Agent{Model: m, Instructions: "Be brief.", Tools: look(t, size), Policy: allow{}, Limits: limits}
}

// texts are the messages of a request in short.
func texts(req *model.Request) (all []string) {
	for _, m := range req.Messages {
		s := string(m.Role)
		for _, b := range m.Blocks {
			s += "|" + b.Text + b.CallID
			if b.Call != nil {
				s += b.Call.ID
			}
		}
		all = append(all, s)
	}
	return all
}

func count(all []string, part string) (n int) {
	for _, s := range all {
		n += strings.Count(s, part)
	}
	return n
}

// holds reports whether any message of the history has the text.
func holds(messages []kernel.Message, part string) bool {
	return slices.ContainsFunc(messages, func(m kernel.Message) bool { return strings.Contains(prompt.Text(&m)+m.Blocks[0].Text, part) })
}

func kinds(events []kernel.Event) (s []string) {
	for _, e := range events {
		s = append(s, fmt.Sprint(e.Kind()))
	}
	return s
}

func one[E kernel.Event](t *testing.T, events []kernel.Event) E {
	t.Helper()
	var found []E
	for _, e := range events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d events of that type in %v", len(found), kinds(events))
	}
	return found[0]
}
