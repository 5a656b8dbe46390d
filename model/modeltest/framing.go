package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// framed is a reply whose bytes are worth cutting.
func framed() stub.Reply {
	return stub.Reply{
		Text:  "中 and 😀 and \u2028 é",
		Calls: []stub.Call{{ID: "c1", Name: "f", Args: `{"s":"\ud83d\ude00 中😀"}`}},
		Usage: &kernel.Usage{Input: 20, Output: 5},
	}
}

// testFraming: the reply is the same however its bytes arrive.
func testFraming(t *testing.T, f Factory) {
	want := expected(framed())
	same := func(t *testing.T, stream bool, step stub.Step) {
		t.Helper()
		b := f.start(t, Config{Stream: stream}, stub.Options{})
		b.srv.Play(step)
		got, deltas, err := call(t, b.model, user("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, replyOptions()); diff != "" {
			t.Error(diff)
		}
		if stream && deltas != framed().Text {
			t.Errorf("deltas %q", deltas)
		}
	}
	t.Run("pieces", func(t *testing.T) { // Report A40
		for _, n := range []int{1, 2, 3, 7} {
			f.both(t, func(t *testing.T, stream bool) {
				step := stub.Answer(framed())
				step.Split = stub.Every(n)
				same(t, stream, step)
			})
		}
	})
	t.Run("noise", func(t *testing.T) { // Report A03
		noises := []string{
			": OPENROUTER PROCESSING\n\n", ":\n\n", "data:\n\n", "id: 7\n\n", "retry: 10\n\n", "\n",
			"event: ping\ndata: {\"type\":\"ping\"}\n\n",
		}
		if f.Wire == stub.OpenAI {
			noises = append(noises, "data: : keepalive\n\n")
		}
		for _, noise := range append(noises, strings.Join(noises, "")) {
			t.Run(fmt.Sprintf("%q", noise), func(t *testing.T) {
				step := stub.Answer(framed())
				step.Noise = noise
				same(t, true, step)
			})
		}
	})
	stream := f.encoded(t, true)
	for name, body := range map[string]string{ // Report A03
		"CRLF":                   strings.ReplaceAll(stream, "\n", "\r\n"),
		"data over lines":        strings.ReplaceAll(strings.ReplaceAll(stream, "data: {", "data: {\ndata: "), "\n", "\r\n"),
		"no blank after a colon": strings.ReplaceAll(strings.ReplaceAll(stream, "data: ", "data:"), "event: ", "event:"),
		"data without names":     stripEventNames(stream),
	} {
		t.Run(name, func(t *testing.T) {
			same(t, true, stub.Bytes(body))
			same(t, true, stub.Step{Raw: &stub.Raw{Body: body}, Split: stub.Every(1)})
		})
	}
	t.Run("a plain answer to a streaming request", func(t *testing.T) {
		b := f.start(t, Config{Stream: true}, stub.Options{})
		b.srv.Play(stub.Step{Raw: &stub.Raw{ContentType: stub.JSON, Body: f.encoded(t, false)}})
		if diff := cmp.Diff(want, b.reply(user("hi")), replyOptions()); diff != "" {
			t.Error(diff)
		}
	})
}

// encoded is the framed reply on the wire.
func (f Factory) encoded(t *testing.T, stream bool) string {
	t.Helper()
	body, err := stub.Encode(stub.Form{Wire: f.Wire, Stream: stream, Model: "m", Usage: true, ID: "msg_1"}, framed())
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// stripEventNames leaves the data lines, whose type says the same.
func stripEventNames(stream string) string {
	var out strings.Builder
	for line := range strings.Lines(stream) {
		if !strings.HasPrefix(line, "event: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// testDialects: what compatible servers send otherwise than the official one.
func testDialects(t *testing.T, f Factory) {
	if f.Wire != stub.OpenAI {
		t.Skip("this wire has one dialect")
	}
	type dialect struct {
		name, body string
		stream     bool
		want       stub.Reply
	}
	usage := &kernel.Usage{Input: 10, Output: 3}
	chunk := func(fields string) string { return "data: {" + fields + "}\n\n" }
	delta := func(delta, finish string) string {
		return chunk(`"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]`)
	}
	counted := `"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}`
	for _, d := range []dialect{
		{"chunks without choices", // Report A04
			chunk(`"choices":[],"prompt_filter_results":[]`) + chunk(`"object":"x"`) + delta(`{"content":"hi"}`, "null") +
				delta(`{}`, `"stop"`) + chunk(`"choices":[],`+counted) + "data: [DONE]\n\n",
			true, stub.Reply{Text: "hi", Usage: usage}},
		{"usage null, then on the last chunk", // Report A04
			chunk(`"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}],"usage":null`) +
				chunk(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+counted) + "data: [DONE]\n\n",
			true, stub.Reply{Text: "hi", Usage: usage}},
		{"content as an array", // Report A35
			`{"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"Hello"}]},"finish_reason":"stop"}]}`,
			false, stub.Reply{Text: "Hello"}},
		{"content in changing forms", // Report A35
			delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]}]}`, "null") + delta(`{"content":""}`, "null") +
				delta(`{"content":null}`, "null") + delta(`{"content":"Hel"}`, "null") + delta(`{"content":[{"type":"text","text":"lo"}]}`, "null") +
				delta(`{}`, `"stop"`) + "data: [DONE]\n\n",
			true, stub.Reply{Text: "Hello"}},
		{"no [DONE]", // Report A05 (c)
			delta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, "null") +
				delta(`{}`, `"tool_calls"`),
			true, stub.Reply{Calls: []stub.Call{{ID: "c1", Name: "f", Args: "{}"}}}},
	} {
		t.Run(d.name, func(t *testing.T) {
			b := f.start(t, Config{Stream: d.stream, Profile: kernel.Tolerant}, stub.Options{})
			b.srv.Play(stub.Bytes(d.body))
			got, deltas, err := call(t, b.model, user("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected(d.want), got, replyOptions()); diff != "" {
				t.Error(diff)
			}
			if d.stream && deltas != d.want.Text {
				t.Errorf("deltas %q", deltas)
			}
		})
	}
}
