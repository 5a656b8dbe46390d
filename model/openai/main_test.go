package openai

import (
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
	cfg := Config{BaseURL: url + "/v1", Key: secret, Name: "m", Stream: true}
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

func question() *model.Request {
	return &model.Request{Messages: []model.Message{{Message: user("hi")}}}
}

func user(text string) *kernel.Message {
	return &kernel.Message{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}
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
	reply, err := m.Call(t.Context(), question(), func(d model.Delta) { seen.WriteString(d.Text) })
	return reply, seen.String(), err
}

// stream is ask for a stream of chunks, each one data line.
func stream(t *testing.T, chunks ...string) (*model.Reply, string, error) {
	t.Helper()
	return ask(t, "text/event-stream", events(chunks...))
}

func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// plain is ask for one JSON answer.
func plain(t *testing.T, body string) (*model.Reply, string, error) {
	t.Helper()
	return ask(t, "application/json", body)
}

// chunk is a chunk with a delta, and finish one with a finish reason.
func chunk(delta string) string {
	return `{"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func fragments(list string) string { return chunk(`{"tool_calls":[` + list + `]}`) }

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const done = "[DONE]"

// textOf returns the text blocks of a reply.
func textOf(r *model.Reply) string { return text(&r.Message) }

// calls returns the calls of a reply as "id=name(arguments)".
func callsOf(r *model.Reply) string {
	var out []string
	for _, b := range r.Message.Blocks {
		if b.Call != nil {
			out = append(out, b.Call.ID+"="+b.Call.Name+"("+b.Call.Arguments+")")
		}
	}
	return strings.Join(out, " ")
}

func streamOf(r io.Reader) *transport.Stream {
	s := new(transport.Stream)
	s.Open(r)
	return s
}
