package anthropic

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
		msg := user(say(strings.Repeat("x", 2048)))
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
	m := inMemory(t, events(begun, start(0, `{"type":"text","text":"hi"}`), end(0), stop("end_turn"), whole))
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
	m := inMemory(b, events(begun, start(0, `{"type":"text","text":"hi"}`), end(0), stop("end_turn"), whole))
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
	list := []string{begun, start(0, `{"type":"text","text":""}`)}
	for range 128 {
		list = append(list, delta(0, `{"type":"text_delta","text":"sixteen letters "}`))
	}
	in := events(append(list, end(0), stop("end_turn"), whole)...)
	b.ReportAllocs()
	for b.Loop() {
		a := assembly{maker: "anthropic"}
		if err := a.ReadStream(streamOf(strings.NewReader(in))); err != nil {
			b.Fatal(err)
		}
		a.Reply()
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
