package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// Factory makes the models under test.
type Factory struct {
	Wire stub.Wire
	// New makes a model of the adapter. What it opens it closes with
	// t.Cleanup.
	New func(t *testing.T, c Config) model.Model
}

// Config is what a case needs of a model. The zero value of a field is the
// adapter's default.
type Config struct {
	URL             string // base URL as the adapter's users write it
	Key             string
	Name            string // of the model
	Stream          bool
	Profile         kernel.Profile
	ReplayReasoning bool             // send reasoning_content back; OpenAI's wire alone
	ResponseCap     int              // bytes
	Now             func() time.Time // the clock for Retry-After dates
}

// patience bounds a call of the suite that should have ended by itself.
const patience = 30 * time.Second

// Run runs the suite.
func Run(t *testing.T, f Factory) {
	t.Run("Contract", func(t *testing.T) { Contract(t, f.contractMaker) })
	for _, part := range []struct {
		name string
		run  func(*testing.T, Factory)
	}{
		{"Replies", testReplies},
		{"Arguments", testArguments},
		{"Stops", testStops},
		{"Usage", testUsage},
		{"Private", testPrivate},
		{"Requests", testRequests},
		{"Conversations", testConversations},
		{"Encoder", testEncoder},
		{"Tools", testTools},
		{"Framing", testFraming},
		{"Dialects", testDialects},
		{"Spliced", testSpliced},
		{"Statuses", testStatuses},
		{"RetryAfter", testRetryAfter},
		{"Network", testNetwork},
		{"Timeouts", testTimeouts},
		{"Cuts", testCuts},
		{"OpenEnds", testOpenEnds},
		{"ErrorEvents", testErrorEvents},
		{"Nonsense", testNonsense},
		{"Caps", testCaps},
		{"Cancel", testCancel},
		{"Secrets", testSecrets},
		{"Concurrent", testConcurrent},
		{"Leaks", testLeaks},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, f) })
	}
}

// bench is one model in front of one stub.
type bench struct {
	*testing.T
	wire  stub.Wire
	srv   *stub.Server
	model model.Model
}

// start makes a bench.
func (f Factory) start(t *testing.T, c Config, o stub.Options) *bench {
	t.Helper()
	srv, err := stub.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	c.URL = f.url(srv.Listener)
	return &bench{T: t, wire: f.Wire, srv: srv, model: f.New(t, c.filled())}
}

func (f Factory) url(l *stub.Listener) string {
	if f.Wire == stub.Anthropic {
		return l.AnthropicURL()
	}
	return l.OpenAIURL()
}

func (c Config) filled() Config {
	if c.Key == "" {
		c.Key = "test-key"
	}
	if c.Name == "" {
		c.Name = "test-model"
	}
	return c
}

// both runs a case streamed and plain.
func (f Factory) both(t *testing.T, run func(t *testing.T, stream bool)) {
	t.Run("stream", func(t *testing.T) { run(t, true) })
	t.Run("plain", func(t *testing.T) { run(t, false) })
}

func (f Factory) contractMaker(t *testing.T, replies ...stub.Reply) model.Model {
	b := f.start(t, Config{Stream: true}, stub.Options{})
	for _, r := range replies {
		b.srv.Play(stub.Answer(r))
	}
	return b.model
}

// user is a request of one question.
func user(text string) *model.Request { return request(userMessage(text)) }

func userMessage(text string) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}
}

func resultMessage(call, text string, isError bool) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: call, Text: text, IsError: isError}}}
}

func request(messages ...*kernel.Message) *model.Request {
	req := &model.Request{MaxTokens: 256}
	for _, m := range messages {
		req.Messages = append(req.Messages, model.Message{Message: m})
	}
	return req
}

// call sends a request and collects the deltas.
func call(t *testing.T, m model.Model, req *model.Request) (*model.Reply, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var deltas string
	reply, err := m.Call(ctx, req, func(d model.Delta) { deltas += d.Text })
	if err == nil && reply == nil {
		t.Fatal("neither a reply nor an error")
	}
	return reply, deltas, err
}

// reply is call for a case where nothing may fail.
func (b *bench) reply(req *model.Request) *model.Reply {
	b.Helper()
	r, _, err := call(b.T, b.model, req)
	if err != nil {
		b.Fatalf("no reply: %v%s", err, b.refusals())
	}
	return r
}

// failure is call for a case where no reply may come.
func (b *bench) failure(req *model.Request) *model.Error {
	b.Helper()
	r, _, err := call(b.T, b.model, req)
	return failureOf(b.T, r, err)
}

func failureOf(t *testing.T, r *model.Reply, err error) *model.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("a reply came: %+v", r)
	}
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is no *model.Error: %T", err)
	}
	if r != nil {
		t.Error("a reply came with the error")
	}
	return e
}

// closed waits until the client of the first request has hung up.
func (b *bench) closed() {
	b.Helper()
	select {
	case <-b.srv.Closed(0):
	case <-time.After(patience):
		b.Fatalf("the client did not close the connection%s", b.refusals())
	}
}

// cancelled calls the model and ends its context once request i has arrived.
func (b *bench) cancelled(i int) *model.Error {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	go func() {
		select {
		case <-b.srv.Arrived(i):
			cancel()
		case <-ctx.Done():
		}
	}()
	r, err := b.model.Call(ctx, user("hi"), nil)
	return failureOf(b.T, r, err)
}

// refusals says which requests the stub refused.
func (b *bench) refusals() string {
	var all string
	for _, r := range b.srv.Requests() {
		if r.Refused != "" {
			all += "\nthe stub refused: " + r.Refused
		}
	}
	return all
}

// accepted fails the case when the stub refused a request.
func (b *bench) accepted() {
	b.Helper()
	if all := b.refusals(); all != "" {
		b.Error(all)
	}
}

// throughJSON is a message after a journal.
func throughJSON(t *testing.T, m *kernel.Message) *kernel.Message {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out kernel.Message
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}
