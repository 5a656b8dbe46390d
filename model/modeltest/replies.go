package modeltest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// expected is the neutral form of what the stub says, without its private
// reasoning.
func expected(r stub.Reply) *model.Reply {
	out := &model.Reply{Message: kernel.Message{Role: kernel.RoleAssistant}, Stop: r.Stop, Usage: r.Usage}
	if out.Stop == "" && !r.NoStop {
		out.Stop = kernel.StopEnd
		if len(r.Calls) > 0 {
			out.Stop = kernel.StopCalls
		}
	}
	if r.Text != "" {
		out.Message.Blocks = append(out.Message.Blocks, kernel.Block{Kind: kernel.BlockText, Text: r.Text})
	}
	for _, c := range r.Calls {
		out.Message.Blocks = append(out.Message.Blocks,
			kernel.Block{Kind: kernel.BlockCall, Call: &kernel.Call{ID: c.ID, Name: c.Name, Arguments: c.Args}})
	}
	return out
}

// replyOptions compare a reply with what expected says of it.
func replyOptions() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(model.Reply{}, "Size"),
		cmpopts.EquateEmpty(),
		cmpopts.IgnoreSliceElements(func(b kernel.Block) bool { return b.Private != nil }),
	}
}

// sameOptions compare a streamed reply with a plain one: only the bytes on the
// wire may differ. Private data that is JSON may be spaced otherwise.
func sameOptions() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(model.Reply{}, "Size"),
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b kernel.Private) bool {
			return a.Provider == b.Provider && a.Signed == b.Signed && sameData(a.Data, b.Data)
		}),
	}
}

func sameData(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

// table are replies of every form.
func table() map[string]stub.Reply {
	usage := &kernel.Usage{Input: 120, Output: 33, CacheRead: 100}
	one := []stub.Call{{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}}
	return map[string]stub.Reply{
		"text":              {Text: "Hello.", Usage: usage},
		"text of one space": {Text: " "},
		"unicode":           {Text: "中文 😀 \u2028 <b>&amp;</b> \" \\ \t\n\u0001 é", Usage: usage},
		"one call":          {Calls: one, Usage: usage},
		"text and call":     {Text: "Let me see.", Calls: one, Usage: usage},
		"many calls": {Calls: []stub.Call{
			{ID: "c-9", Name: "read", Args: `{"path":"a"}`},
			{ID: "c-1", Name: "read", Args: `{"path":"a"}`},
			{ID: "c-5", Name: "search", Args: `{}`},
		}, Usage: usage},
		"repeated ids": {Calls: []stub.Call{{ID: "c", Name: "f", Args: `{}`}, {ID: "c", Name: "g", Args: `{}`}}},
		"no usage":     {Text: "Hello."},
		"thinking": {Thinking: []stub.Thinking{{Text: "first a plan", Signature: "SIG1"}},
			Text: "Hello.", Calls: one, Usage: usage},
		"no stop reason": {Text: "Hello.", NoStop: true},
	}
}

// testReplies: streamed and plain answers end in the same reply, and it says
// what was said.
func testReplies(t *testing.T, f Factory) {
	for name, want := range table() {
		t.Run(name, func(t *testing.T) {
			var got [2]*model.Reply
			for i, stream := range []bool{true, false} {
				b := f.start(t, Config{Stream: stream}, stub.Options{})
				b.srv.Play(stub.Answer(want))
				got[i] = b.reply(user("hi"))
				if diff := cmp.Diff(expected(want), got[i], replyOptions()); diff != "" {
					t.Errorf("stream %v:\n%s", stream, diff)
				}
				if got[i].Size <= 0 {
					t.Errorf("stream %v: size %d", stream, got[i].Size)
				}
			}
			if diff := cmp.Diff(got[0], got[1], sameOptions()); diff != "" {
				t.Errorf("streamed and plain differ:\n%s", diff)
			}
		})
	}
}

// testArguments: arguments arrive digit for digit (Report A08), and what no
// decoder would take arrives too, since admission judges it.
func testArguments(t *testing.T, f Factory) {
	for name, args := range map[string]string{
		"big integers": `{"id":9007199254740993,"max":9223372036854775807,"d":0.1}`, // Report A08
		"spaced":       `{ "a" : [1, 2.50, 1e2] , "b":null }`,
		"escapes":      `{"s":"\ud83d\ude00 \u4e2d \/ <&>"}`, // Report A40
		"twice a key":  `{"a":1,"a":2}`,
		"long":         `{"s":"` + strings.Repeat("x中", 2000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) {
				b := f.start(t, Config{Stream: stream}, stub.Options{})
				b.srv.Play(stub.Calls(stub.Call{ID: "c1", Name: "echo", Args: args}))
				r := b.reply(user("hi"))
				if len(r.Message.Blocks) != 1 || r.Message.Blocks[0].Call == nil || r.Message.Blocks[0].Call.Arguments != args {
					t.Errorf("got %+v, want the arguments %s", r.Message.Blocks, args)
				}
			})
		})
	}
	t.Run("none", func(t *testing.T) { // Report A07
		f.both(t, func(t *testing.T, stream bool) {
			b := f.start(t, Config{Stream: stream}, stub.Options{})
			b.srv.Play(stub.Calls(stub.Call{ID: "c1", Name: "list"}))
			r := b.reply(user("hi"))
			if len(r.Message.Blocks) != 1 || r.Message.Blocks[0].Call == nil {
				t.Fatalf("blocks %+v", r.Message.Blocks)
			}
			if args := r.Message.Blocks[0].Call.Arguments; args != "" && args != "{}" {
				t.Errorf("arguments %q", args)
			}
		})
	})
}

// testStops maps each wire's stop reasons.
func testStops(t *testing.T, f Factory) {
	calls := []stub.Call{{ID: "c1", Name: "f", Args: "{}"}}
	filter, window := kernel.StopFilter, kernel.StopLength // this wire does not tell what cut a reply
	if f.Wire == stub.Anthropic {
		filter, window = "other:content_filter", kernel.StopWindow // a filter is not a word of this wire
	}
	for _, tc := range []struct {
		name  string
		reply stub.Reply
		want  kernel.StopReason
	}{
		{"end", stub.Reply{Text: "x"}, kernel.StopEnd},
		{"calls", stub.Reply{Calls: calls}, kernel.StopCalls},
		{"length", stub.Reply{Text: "x", Stop: kernel.StopLength}, kernel.StopLength},
		{"length with a call", stub.Reply{Calls: calls, Stop: kernel.StopLength}, kernel.StopLength}, // Case 5
		{"window", stub.Reply{Text: "x", Stop: kernel.StopWindow}, window},
		{"window with a call", stub.Reply{Calls: calls, Stop: kernel.StopWindow}, window},
		{"content filter", stub.Reply{Text: "x", Stop: kernel.StopFilter}, filter},
		{"refusal", stub.Reply{Refusal: "I cannot help."}, kernel.StopRefusal},
		{"absent", stub.Reply{Text: "x", NoStop: true}, kernel.StopAbsent},
		{"absent with a call", stub.Reply{Calls: calls, NoStop: true}, kernel.StopAbsent}, // Report A05 (d)
		{"unknown", stub.Reply{Text: "x", Stop: "other:paused"}, "other:paused"},
		{"end with a call", stub.Reply{Calls: calls, Stop: kernel.StopEnd}, kernel.StopEnd}, // Report A06
		{"calls without a call", stub.Reply{Text: "x", Stop: kernel.StopCalls}, kernel.StopCalls},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) {
				b := f.start(t, Config{Stream: stream}, stub.Options{})
				b.srv.Play(stub.Answer(tc.reply))
				r := b.reply(user("hi"))
				if r.Stop != tc.want {
					t.Errorf("stop %q, want %q", r.Stop, tc.want)
				}
				if n := countCalls(&r.Message); n != len(tc.reply.Calls) {
					t.Errorf("%d calls, want %d", n, len(tc.reply.Calls))
				}
			})
		})
	}
}

func countCalls(m *kernel.Message) int {
	n := 0
	for _, b := range m.Blocks {
		if b.Kind == kernel.BlockCall {
			n++
		}
	}
	return n
}

// testUsage: cached tokens are counted once, whatever the wire counts.
func testUsage(t *testing.T, f Factory) {
	a29 := &kernel.Usage{Input: 10007, Output: 50, CacheRead: 9800}
	if f.Wire == stub.Anthropic {
		a29.CacheWrite = 200
	}
	f.both(t, func(t *testing.T, stream bool) { // Report A29
		b := f.start(t, Config{Stream: stream}, stub.Options{})
		b.srv.Play(stub.Answer(stub.Reply{Text: "x", Usage: a29}))
		if diff := cmp.Diff(a29, b.reply(user("hi")).Usage); diff != "" {
			t.Error(diff)
		}
	})
	plain := map[string]string{}
	switch f.Wire {
	case stub.OpenAI:
		body := `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":3`
		plain["details null"] = body + `,"prompt_tokens_details":null}}`
		plain["details absent"] = body + `}}`
		plain["cached null"] = body + `,"prompt_tokens_details":{"cached_tokens":null}}}`
	case stub.Anthropic:
		body := `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":3`
		plain["cache null"] = body + `,"cache_read_input_tokens":null,"cache_creation_input_tokens":null}}`
		plain["cache absent"] = body + `}}`
	}
	for name, body := range plain {
		t.Run(name, func(t *testing.T) {
			b := f.start(t, Config{}, stub.Options{})
			b.srv.Play(stub.Bytes(body))
			if diff := cmp.Diff(&kernel.Usage{Input: 10, Output: 3}, b.reply(user("hi")).Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}
