package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// swallow reads each request and answers from memory: what is left is the cost
// of this package and of net/http's client.
type swallow struct{ body string }

func (s swallow) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(strings.NewReader(s.body)),
		Request:    r,
	}, nil
}

// history returns a request of n messages with their bytes kept, as the engine
// keeps them.
func history(tb testing.TB, m *Model, n int) *model.Request {
	tb.Helper()
	head, err := m.EncodeHead("sys", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req := &model.Request{Head: head}
	for range n {
		msg := user(strings.Repeat("x", 2048))
		wire, err := m.EncodeMessage(msg, nil)
		if err != nil {
			tb.Fatal(err)
		}
		req.Messages = append(req.Messages, model.Message{Message: msg, Encoded: wire})
	}
	return req
}

func inMemory(tb testing.TB, body string) *Model {
	return newModel(tb, "http://127.0.0.1:1", func(c *Config) { c.HTTPClient = &http.Client{Transport: swallow{body}} })
}

// The allocations of a request do not grow with the history.
func TestAllocationsDoNotGrow(t *testing.T) {
	m := inMemory(t, events(chunk(`{"content":"hi"}`), finish("stop"), done))
	measure := func(n int) float64 {
		req := history(t, m, n)
		return testing.AllocsPerRun(20, func() {
			if _, err := m.Call(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := measure(10), measure(1000)
	if many > few+2 { // the runtime's own come and go
		t.Errorf("%v allocations with 10 messages, %v with 1,000", few, many)
	}
}

func BenchmarkCall(b *testing.B) {
	m := inMemory(b, events(chunk(`{"content":"hi"}`), finish("stop"), done))
	for _, n := range []int{10, 1000} {
		req := history(b, m, n)
		b.Run(map[int]string{10: "10 messages", 1000: "1000 messages"}[n], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Call(b.Context(), req, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeStream2KB(b *testing.B) {
	chunks := make([]string, 0, 130)
	for range 128 {
		chunks = append(chunks, chunk(`{"content":"sixteen letters "}`))
	}
	in := events(append(chunks, finish("stop"), done)...)
	b.ReportAllocs()
	for b.Loop() {
		a := assembly{maker: "openai"}
		if err := a.ReadStream(streamOf(strings.NewReader(in))); err != nil {
			b.Fatal(err)
		}
		a.Reply()
	}
}

func BenchmarkDecodePlain(b *testing.B) {
	in := []byte(`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"call_000001","type":"function","function":{"name":"lookup","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`)
	a := assembly{maker: "openai"}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.ReadPlain(in); err != nil {
			b.Fatal(err)
		}
		a.Reply()
		a.forget()
	}
}

func BenchmarkEncodeMessage(b *testing.B) {
	m := inMemory(b, "")
	msg := &kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{
		{Kind: kernel.BlockResult, CallID: "call_1", Text: strings.Repeat("a line of a result\n", 108)},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.EncodeMessage(msg, nil); err != nil {
			b.Fatal(err)
		}
	}
}
