// Package context_test measures what it costs to prepare a request, by how long
// the history is: through the executor that engines share, with the real encoder
// of a wire and without sending.
package context_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// sink encodes as a wire does, and answers every request with a call.
type sink struct {
	*openai.Model
	sent  int // bytes of messages
	turns int
}

func (s *sink) Call(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	s.turns++
	for i := range req.Messages {
		s.sent += len(req.Messages[i].Encoded.Before) + len(req.Messages[i].Encoded.Text) + len(req.Messages[i].Encoded.After)
	}
	call := kernel.Call{ID: fmt.Sprint("call_", s.turns), Name: "read", Arguments: `{"page":7}`}
	return &model.Reply{
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockCall, Call: &call}}}, Stop: kernel.StopCalls,
	}, nil
}

// page is the result of a call: two KB, so that 500 messages are about 1 MB with
// what the wire puts around them.
var page = strings.Repeat("a line of the page\n", 210)

// memory is attached to each request, and does not change.
type memory struct{}

func (memory) Attach(context.Context, prompt.AttachRequest) ([]prompt.Attachment, error) {
	return []prompt.Attachment{{Kind: "memory", ID: "house.md", Text: "The door is blue."}}, nil
}

// session is what so many messages of earlier runs look like.
func session(messages int) []kernel.Message {
	all := []kernel.Message{{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: "Read the book."}}}}
	for n := 0; len(all) < messages-2; n++ {
		id := fmt.Sprint("old_", n)
		all = append(all,
			kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockCall, Call: &kernel.Call{ID: id, Name: "read", Arguments: `{"page":7}`}}}},
			kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: id, Text: page}}})
	}
	return append(all, kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: "Read."}}})
}

// run is a run whose first request is to be prepared.
type run struct {
	x       *engine.Execution
	sink    *sink
	prepare kernel.Command // the next
}

func begin(tb testing.TB, messages int, c engine.Context, attach ...prompt.Attacher) *run {
	tb.Helper()
	m, err := openai.New(openai.Config{BaseURL: "http://127.0.0.1:1/v1", Key: "sk-bench", Name: "m", MaxTokens: 1024})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	type in struct {
		Page int `json:"page"`
	}
	read, err := tool.Func(tool.Spec{Name: "read", Description: "Reads a page.", Effect: kernel.Read},
		func(context.Context, tool.Call, in) (tool.Result, error) { return tool.Result{Text: page}, nil })
	if err != nil {
		tb.Fatal(err)
	}
	set, err := tool.NewSet(read)
	if err != nil {
		tb.Fatal(err)
	}
	rules, err := policy.NewRules([]policy.Rule{{Answer: kernel.Allow, Tool: "read"}})
	if err != nil {
		tb.Fatal(err)
	}
	s := &sink{Model: m}
	limits := kernel.DefaultLimits()
	limits.Turns, limits.Calls, limits.Deadline, limits.Repeat = 1000, 1000, time.Hour, 0
	agent := &engine.Agent{Model: s, Instructions: "Read.", Tools: set, Policy: rules, Limits: limits, Context: c, Attach: attach}
	x, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil)}, engine.Start{Agent: agent, Run: "run_1", Session: "s", Question: "And now?"}, session(messages))
	if err != nil {
		tb.Fatal(err)
	}
	r := &run{x: x, sink: s}
	e, content := x.Begin()
	r.prepare = r.next(tb, e, content)
	return r
}

// next applies an event, and returns the one command that follows and is carried
// out.
func (r *run) next(tb testing.TB, e kernel.Event, c engine.Content) kernel.Command {
	commands, err := r.x.Apply(e, c)
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range commands {
		if r.x.Task(c) != nil {
			return c
		}
	}
	tb.Fatalf("nothing follows from %s", e.Kind())
	return nil
}

func (r *run) do(tb testing.TB, c kernel.Command) kernel.Command {
	if t, runs := c.(kernel.RunTool); runs {
		if _, err := r.x.Apply(kernel.CallStarted{At: r.x.State.Now, Cmd: t.Cmd, Call: t.Call.ID}, engine.Content{}); err != nil {
			tb.Fatal(err)
		}
	}
	e, content := r.x.Task(c).Do(context.Background(), nil)
	return r.next(tb, e, content)
}

// turn is a whole turn, from a preparation to the next one.
func (r *run) turn(tb testing.TB) {
	for c := r.prepare; ; {
		c = r.do(tb, c)
		if _, again := c.(kernel.PrepareContext); again {
			r.prepare = c
			return
		}
	}
}

var sizes = []int{10, 100, 500}

// A prepared request holds the session, and what is attached.
func TestPrepare(t *testing.T) {
	r := begin(t, 500, engine.Context{}, memory{})
	r.turn(t)
	if r.sink.sent < 1_000_000 || r.sink.turns != 1 || len(r.x.History.Messages()) < 500 {
		t.Errorf("%d bytes in %d requests, %d messages", r.sink.sent, r.sink.turns, len(r.x.History.Messages()))
	}
}

// BenchmarkPrepare is the preparation of a request alone, whose history is there
// already: with nothing attached, and with memory that has not changed.
func BenchmarkPrepare(b *testing.B) {
	for name, attach := range map[string][]prompt.Attacher{"plain": nil, "memory": {memory{}}} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/messages=%d", name, n), func(b *testing.B) {
				r := begin(b, n, engine.Context{Window: 10_000_000}, attach...)
				r.turn(b) // what is attached is there now
				mark := r.x.Mark()
				b.ReportAllocs()
				for b.Loop() {
					r.do(b, r.prepare)
					r.x.Reset(&mark)
				}
			})
		}
	}
}

// BenchmarkTurn is all that the state of a turn costs: request, reply, decision,
// call, result. Nothing is sent.
func BenchmarkTurn(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			left := 0
			var r *run
			for b.Loop() {
				if left == 0 { // a run of 20 turns, the first of which is not counted
					b.StopTimer()
					r, left = begin(b, n, engine.Context{Window: 10_000_000}), 19
					r.turn(b)
					b.StartTimer()
				}
				r.turn(b)
				left--
			}
		})
	}
}

// BenchmarkCompact is a preparation that puts a digest in the place of nearly all
// of the history.
func BenchmarkCompact(b *testing.B) {
	for _, n := range sizes[1:] {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			r := begin(b, n, engine.Context{Window: 12_000})
			mark := r.x.Mark()
			b.ReportAllocs()
			for b.Loop() {
				r.do(b, r.prepare)
				if len(r.x.History.Messages()) > n/2 {
					b.Fatal("the history is as long as before")
				}
				r.x.Reset(&mark)
			}
		})
	}
}
