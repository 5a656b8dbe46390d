package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

const secret = "sk-secret"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newModel returns a model at a server, with the changes that a test makes.
func newModel(t testing.TB, url string, change ...func(*Config)) *Model {
	t.Helper()
	cfg := Config{BaseURL: url, Key: secret, Name: "m", Stream: true}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func say(text string) kernel.Block { return kernel.Block{Kind: kernel.BlockText, Text: text} }

func user(blocks ...kernel.Block) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleUser, Blocks: blocks}
}

func assistant(blocks ...kernel.Block) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleAssistant, Blocks: blocks}
}

func call(id, name, arguments string) kernel.Block {
	return kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: id, Name: name, Arguments: arguments}}
}

func result(id, text string) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{Kind: kernel.BlockResult, CallID: id, Text: text}}}
}

func request(messages ...*kernel.Message) *model.Request {
	req := &model.Request{}
	for _, m := range messages {
		req.Messages = append(req.Messages, model.Message{Message: m})
	}
	return req
}

// ask sends one request to a server that answers with body, and returns what
// the watcher saw too.
func ask(t *testing.T, contentType, body string, change ...func(*Config)) (*model.Reply, string, error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}))
	defer srv.Close()
	var seen strings.Builder
	m := newModel(t, srv.URL, change...)
	reply, err := m.Call(t.Context(), request(user(say("hi"))), func(d model.Delta) { seen.WriteString(d.Text) })
	return reply, seen.String(), err
}

// stream is ask for a stream of events.
func stream(t *testing.T, list ...string) (*model.Reply, string, error) {
	t.Helper()
	return ask(t, "text/event-stream", events(list...))
}

// plain is ask for one JSON answer.
func plain(t *testing.T, body string) (*model.Reply, string, error) {
	t.Helper()
	return ask(t, "application/json", body)
}

func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const (
	begun = `{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`
	whole = `{"type":"message_stop"}`
)

func start(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}

func end(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

func input(partial string) string {
	text, _ := json.Marshal(partial)
	return delta(0, `{"type":"input_json_delta","partial_json":`+string(text)+`}`)
}

// reply wraps blocks in a plain answer.
func reply(blocks, reason string) string {
	return `{"type":"message","role":"assistant","content":[` + blocks + `],"stop_reason":"` + reason + `"}`
}

func textOf(r *model.Reply) string {
	var s string
	for _, b := range r.Message.Blocks {
		s += b.Text
	}
	return s
}

// callsOf returns the calls of a reply as "id=name(arguments)".
func callsOf(r *model.Reply) string {
	var out []string
	for _, b := range r.Message.Blocks {
		if b.Call != nil {
			out = append(out, b.Call.ID+"="+b.Call.Name+"("+b.Call.Arguments+")")
		}
	}
	return strings.Join(out, " ")
}

// fails asserts the kind of a failure, and that no form of it tells a secret.
func fails(t *testing.T, err error, want kernel.FailureKind) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Errorf("got %v, want %s", err, want)
		return &model.Error{}
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(verb, e); strings.Contains(s, "secret") {
			t.Errorf("%s tells: %s", verb, s)
		}
	}
	return e
}

func streamOf(r io.Reader) *transport.Stream {
	s := new(transport.Stream)
	s.Open(r)
	return s
}
