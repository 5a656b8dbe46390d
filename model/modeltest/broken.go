package modeltest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// filler is what floods are made of.
var filler = strings.Repeat("a", 4096)

// testNetwork: nobody listens.
func testNetwork(t *testing.T, f Factory) {
	l, err := stub.Listen(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	m := f.New(t, Config{URL: f.url(l)}.filled())
	r, _, err := call(t, m, user("hi"))
	if e := failureOf(t, r, err); e.Kind != kernel.FailConnection {
		t.Errorf("kind %s, want %s", e.Kind, kernel.FailConnection)
	}
}

// testTimeouts: the request's time bounds everything, and nothing that arrives
// extends it.
func testTimeouts(t *testing.T, f Factory) {
	timed := func(t *testing.T, b *bench) {
		t.Helper()
		req := user("hi")
		req.Timeout = 50 * time.Millisecond
		if e := b.failure(req); e.Kind != kernel.FailTimeout {
			t.Errorf("kind %s, want %s", e.Kind, kernel.FailTimeout)
		}
	}
	for name, step := range map[string]stub.Step{
		"before the headers": {Reply: &stub.Reply{Text: "x"}, Stall: stub.Never()},
		"in the body":        {Reply: &stub.Reply{Text: "one two"}, Hold: &stub.Hold{At: stub.At{Bytes: 40}, Until: stub.Never()}},
	} {
		t.Run(name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) {
				b := f.start(t, Config{Stream: stream}, stub.Options{})
				b.srv.Play(step)
				timed(t, b)
				b.closed()
			})
		})
	}
	t.Run("keep-alives", func(t *testing.T) { // Report A03
		l, err := stub.Listen(http.HandlerFunc(keepAlive))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		timed(t, &bench{T: t, model: f.New(t, Config{URL: f.url(l), Stream: true}.filled())})
	})
	t.Run("a timeout that is not needed", func(t *testing.T) {
		b := f.start(t, Config{Stream: true}, stub.Options{})
		b.srv.Play(stub.Text("x"))
		req := user("hi")
		req.Timeout = patience
		b.reply(req)
	})
}

// keepAlive sends comments and pings until its client is gone.
func keepAlive(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", stub.EventStream)
	out := http.NewResponseController(w)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.Context().Err() == nil {
		_, err := fmt.Fprint(w, ": busy\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n")
		if err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
		}
	}
}

// testCuts: an answer that ended early is none, wherever it was cut (Report
// A05 a, b).
func testCuts(t *testing.T, f Factory) {
	reply := framed()
	events := strings.Count(f.encoded(t, true), "\n\n")
	for _, abrupt := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream, abrupt %v", abrupt), func(t *testing.T) {
			b := f.start(t, Config{Stream: true}, stub.Options{})
			// The last three events or less say that the content is whole.
			for n := range events - 3 {
				for _, bytes := range []int{1, 9, 40} {
					step := stub.Answer(reply)
					step.Cut = &stub.Cut{At: stub.At{Events: n, Bytes: bytes}, Abrupt: abrupt}
					b.srv.Play(step)
					e := b.failure(user("hi"))
					if e.Kind != kernel.FailCut {
						t.Errorf("after %d events and %d bytes: kind %s, want %s", n, bytes, e.Kind, kernel.FailCut)
					}
					if f.Wire == stub.Anthropic && n > 0 && !abrupt && (e.Usage == nil || e.Usage.Input != 20) {
						t.Errorf("after %d events: usage %+v, want the input that was reported", n, e.Usage)
					}
				}
			}
		})
	}
	t.Run("plain", func(t *testing.T) {
		for _, n := range []int{0, 1, 40} {
			b := f.start(t, Config{}, stub.Options{})
			step := stub.Answer(reply)
			step.Cut = &stub.Cut{At: stub.At{Bytes: n}, Abrupt: true}
			b.srv.Play(step)
			if e := b.failure(user("hi")); e.Kind != kernel.FailCut {
				t.Errorf("after %d bytes: kind %s, want %s", n, e.Kind, kernel.FailCut)
			}
		}
	})
	t.Run("before any answer", func(t *testing.T) {
		l, err := stub.Listen(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		r, _, err := call(t, f.New(t, Config{URL: f.url(l)}.filled()), user("hi"))
		if e := failureOf(t, r, err); e.Kind != kernel.FailCut {
			t.Errorf("kind %s, want %s: the request may have arrived", e.Kind, kernel.FailCut)
		}
	})
}

// testOpenEnds: a stream that its server leaves open is whole once its wire
// says so. What has not said so by the end of the request's time is none, but
// for OpenAI's finish reason, after which only usage comes.
func testOpenEnds(t *testing.T, f Factory) {
	held := func(events int) (*bench, *model.Request) {
		b := f.start(t, Config{Stream: true}, stub.Options{})
		step := stub.Answer(framed())
		step.Hold = &stub.Hold{At: stub.At{Events: events}, Until: stub.Never()}
		b.srv.Play(step)
		return b, user("hi")
	}
	same := func(b *bench, req *model.Request, want *model.Reply) {
		t.Helper()
		if diff := cmp.Diff(want, b.reply(req), replyOptions()); diff != "" {
			t.Error(diff)
		}
		b.closed()
	}
	want := expected(framed())
	b, req := held(1 << 10) // after the last event
	same(b, req, want)
	if f.Wire == stub.Anthropic {
		b, req = held(-1) // before message_stop
		req.Timeout = 50 * time.Millisecond
		if e := b.failure(req); e.Kind != kernel.FailTimeout {
			t.Errorf("kind %s, want %s", e.Kind, kernel.FailTimeout)
		}
		return
	}
	b, req = held(-1) // before [DONE]
	same(b, req, want)
	b, req = held(-2) // before the usage
	req.Timeout = 50 * time.Millisecond
	want.Usage = nil
	same(b, req, want)
	b, req = held(-3) // before the finish reason
	req.Timeout = 50 * time.Millisecond
	if e := b.failure(req); e.Kind != kernel.FailTimeout {
		t.Errorf("kind %s, want %s", e.Kind, kernel.FailTimeout)
	}
	b, _ = held(-2)
	if e := b.cancelled(0); e.Kind != kernel.FailAborted {
		t.Errorf("kind %s, want %s", e.Kind, kernel.FailAborted)
	}
}

// testNonsense: a 200 that is not what the wire speaks.
func testNonsense(t *testing.T, f Factory) {
	plain := map[string]stub.Step{
		"HTML":           {Raw: &stub.Raw{ContentType: "text/html", Body: "<html>sign in</html>"}},
		"HTML as JSON":   stub.Bytes("<html>"),
		"a list":         stub.Bytes("[]"),
		"null":           stub.Bytes("null"),
		"another object": stub.Bytes(`{"ok":true}`),
		"two objects":    stub.Bytes(f.encoded(t, false) + "{}"),
	}
	for name, step := range plain {
		t.Run("plain "+name, func(t *testing.T) {
			b := f.start(t, Config{}, stub.Options{})
			b.srv.Play(step)
			if e := b.failure(user("hi")); e.Kind != kernel.FailInvalid {
				t.Errorf("kind %s, want %s", e.Kind, kernel.FailInvalid)
			}
		})
	}
	stream := map[string]stub.Step{
		"HTML":        {Raw: &stub.Raw{ContentType: "text/html", Body: "<html>sign in</html>"}},
		"broken JSON": stub.Bytes("data: {\"choices\": broken\n\n" + f.encoded(t, true)), // Report A03
	}
	for name, step := range stream {
		t.Run("stream "+name, func(t *testing.T) {
			b := f.start(t, Config{Stream: true}, stub.Options{})
			b.srv.Play(step)
			if e := b.failure(user("hi")); e.Kind != kernel.FailInvalid {
				t.Errorf("kind %s, want %s", e.Kind, kernel.FailInvalid)
			}
		})
	}
	t.Run("stream a list", func(t *testing.T) {
		b := f.start(t, Config{Stream: true}, stub.Options{})
		b.srv.Play(stub.Bytes("data: []\n\n" + f.encoded(t, true)))
		r, _, err := call(t, b.model, user("hi"))
		if err == nil && r.Fault == "" { // the answer is whole, and contradicts its wire
			t.Errorf("reply %+v", r)
		}
		if err != nil && failureOf(t, r, err).Kind != kernel.FailInvalid {
			t.Errorf("error %v", err)
		}
	})
	t.Run("empty", func(t *testing.T) {
		f.both(t, func(t *testing.T, stream bool) {
			b := f.start(t, Config{Stream: stream}, stub.Options{})
			b.srv.Play(stub.Step{})
			if e := b.failure(user("hi")); e.Kind != kernel.FailInvalid && e.Kind != kernel.FailCut {
				t.Errorf("kind %s", e.Kind)
			}
		})
	})
}

// testCaps: an answer over the cap is given up, and its connection closed.
func testCaps(t *testing.T, f Factory) {
	floods := map[string]struct {
		stream bool
		step   stub.Step
	}{
		"plain body":      {false, stub.Step{Raw: &stub.Raw{Body: `{"id":"`}, Flood: filler}},
		"stream":          {true, stub.Step{Raw: &stub.Raw{}, Flood: strings.Repeat(": ping\n\n", 500)}},
		"one stream line": {true, stub.Step{Raw: &stub.Raw{Body: `data: {"id":"`}, Flood: filler}},
		"one comment":     {true, stub.Step{Raw: &stub.Raw{Body: ": "}, Flood: filler}},
	}
	for name, tc := range floods {
		t.Run("endless "+name, func(t *testing.T) {
			b := f.start(t, Config{Stream: tc.stream}, stub.Options{})
			b.srv.Play(tc.step)
			if e := b.failure(user("hi")); e.Kind != kernel.FailTooLarge {
				t.Errorf("kind %s, want %s", e.Kind, kernel.FailTooLarge)
			}
			b.closed()
		})
	}
	t.Run("one line of almost the default cap", func(t *testing.T) {
		f.both(t, func(t *testing.T, stream bool) {
			b := f.start(t, Config{Stream: stream}, stub.Options{})
			text := strings.Repeat("x", 990_000)
			b.srv.Play(stub.Text(text))
			if got := textOf(&b.reply(user("hi")).Message); got != text {
				t.Errorf("%d bytes of text arrived", len(got))
			}
		})
	})
	t.Run("a cap of its own", func(t *testing.T) {
		f.both(t, func(t *testing.T, stream bool) {
			body := f.encoded(t, stream)
			b := f.start(t, Config{Stream: stream, ResponseCap: len(body)}, stub.Options{})
			b.srv.Play(stub.Bytes(body))
			b.reply(user("hi"))
			small := f.start(t, Config{Stream: stream, ResponseCap: len(body) / 2}, stub.Options{})
			small.srv.Play(stub.Bytes(body))
			if e := small.failure(user("hi")); e.Kind != kernel.FailTooLarge {
				t.Errorf("kind %s, want %s", e.Kind, kernel.FailTooLarge)
			}
		})
	})
}

// testCancel: the end of the context closes the connection.
func testCancel(t *testing.T, f Factory) {
	for name, step := range map[string]stub.Step{
		"before the headers": {Reply: &stub.Reply{Text: "x"}, Stall: stub.Never()},
		"in the body":        {Reply: &stub.Reply{Text: "one two"}, Hold: &stub.Hold{At: stub.At{Bytes: 40}, Until: stub.Never()}},
	} {
		t.Run(name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) {
				b := f.start(t, Config{Stream: stream}, stub.Options{})
				b.srv.Play(step)
				if e := b.cancelled(0); e.Kind != kernel.FailAborted {
					t.Errorf("kind %s, want %s", e.Kind, kernel.FailAborted)
				}
				b.closed()
			})
		})
	}
	t.Run("in an error body", func(t *testing.T) {
		b := f.start(t, Config{}, stub.Options{})
		b.srv.Play(stub.Step{Fail: &stub.Fail{Status: 400}, Hold: &stub.Hold{At: stub.At{Bytes: 5}, Until: stub.Never()}})
		// The status may be all that the adapter wants to know.
		if e := b.cancelled(0); e.Kind != kernel.FailAborted && e.Kind != kernel.FailStatus {
			t.Errorf("kind %s", e.Kind)
		}
		b.closed()
	})
	t.Run("before the call", func(t *testing.T) {
		b := f.start(t, Config{}, stub.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, err := b.model.Call(ctx, user("hi"), nil)
		if e := failureOf(t, r, err); e.Kind != kernel.FailAborted || b.srv.Count() != 0 {
			t.Errorf("kind %s after %d requests", e.Kind, b.srv.Count())
		}
	})
}
