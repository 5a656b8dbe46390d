package modeltest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// testRequests: what a request says arrives.
func testRequests(t *testing.T, f Factory) {
	f.both(t, func(t *testing.T, stream bool) {
		b := f.start(t, Config{Stream: stream, Key: "k-1", Name: "m-1"}, stub.Options{Key: "k-1"})
		b.srv.Play(stub.Text("ok"), stub.Text("ok"))
		req := user("hi 中 \u2028 <&>")
		req.System = "be \"brief\""
		req.MaxTokens = 777
		req.Tools = []model.Tool{
			{Name: "multiply", Description: "Multiplies <two> numbers.", Schema: []byte(`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`)},
			{Name: "list", Schema: []byte(`{"type":"object"}`)},
		}
		b.reply(req)
		b.reply(user("bare")) // no system, no tools
		b.accepted()
		got := b.srv.Requests()[0]
		if got.Model != "m-1" || got.Stream != stream || got.MaxTokens != 777 || got.System != req.System {
			t.Errorf("model %q, stream %v, max tokens %d, system %q", got.Model, got.Stream, got.MaxTokens, got.System)
		}
		if !slices.Equal(got.Tools, []string{"multiply", "list"}) || !bytes.Contains(got.Body, []byte("9007199254740993")) {
			t.Errorf("tools %v of %s", got.Tools, got.Body)
		}
		if diff := cmp.Diff([]stub.Message{{Role: "user", Text: "hi 中 \u2028 <&>"}}, got.Messages); diff != "" {
			t.Error(diff)
		}
	})
}

// assistant is an assistant's message of text and calls.
func assistant(text string, calls ...kernel.Call) *kernel.Message {
	m := &kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}}
	for i := range calls {
		m.Blocks = append(m.Blocks, kernel.Block{Kind: kernel.BlockCall, Call: &calls[i]})
	}
	return m
}

// histories are conversations that a runtime may hold. Each must be acceptable
// to the wire that gets it.
func histories() map[string][]*kernel.Message {
	read := kernel.Call{ID: "call_1", Name: "read", Arguments: `{"path":"a"}`}
	search := kernel.Call{ID: "call_2", Name: "search", Arguments: `{"id":9007199254740993}`}
	toolOnly := &kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockCall, Call: &read}}}
	// A runtime tells the calls of a session's runs apart by a suffix.
	again := func(id, run string) (*kernel.Message, *kernel.Message) {
		return assistant("", kernel.Call{ID: id + run, Name: "read", Arguments: `{"path":"a"}`}), resultMessage(id+run, "a", false)
	}
	first, firstResult := again("call_1", "_5feceb66")
	second, secondResult := again("call_1", "_6b86b273")
	minted, mintedResult := again("call_1_1", "_5feceb66")
	mintedAgain, mintedAgainResult := again("call_1_1", "_6b86b273")
	long := strings.Repeat("x", 200)
	return map[string][]*kernel.Message{
		"two runs of a session with one id": {userMessage("hi"), first, firstResult, assistant("done"),
			userMessage("again"), second, secondResult},
		"two runs of a session with minted ids": {userMessage("hi"), minted, mintedResult, assistant("done"),
			userMessage("again"), mintedAgain, mintedAgainResult},
		"long ids that begin alike": {userMessage("hi"),
			assistant("Both.", kernel.Call{ID: long + "1", Name: "read", Arguments: `{}`}, kernel.Call{ID: long + "2", Name: "search", Arguments: `{}`}),
			resultMessage(long+"1", "a", false), resultMessage(long+"2", "b", false)},
		"an id of another wire": {userMessage("hi"), assistant("One.", kernel.Call{ID: "functions.read:0/中", Name: "read", Arguments: `{}`}),
			resultMessage("functions.read:0/中", "a", false)},
		"one question":          {userMessage("hi")},
		"an answer, a question": {userMessage("hi"), assistant("hello"), userMessage("more")},
		"two calls":             {userMessage("hi"), assistant("Both.", read, search), resultMessage("call_1", "a", false), resultMessage("call_2", "b", false)},
		"calls alone":           {userMessage("hi"), toolOnly, resultMessage("call_1", "a", false)}, // Report A35
		"empty text with calls": {userMessage("hi"), assistant("", read), resultMessage("call_1", "a", false)},
		"blank text with calls": {userMessage("hi"), assistant(" \n", read), resultMessage("call_1", "a", false)},
		"empty and blank results": {userMessage("hi"), assistant("Both.", read, search),
			resultMessage("call_1", "", false), resultMessage("call_2", " \n", true)},
		"an error result": {userMessage("hi"), assistant("One.", read), resultMessage("call_1", "未执行：no", true)},
		"a question after results": {userMessage("hi"), assistant("One.", read), resultMessage("call_1", "a", false),
			userMessage("continue")},
		"an empty answer":                  {userMessage("hi"), assistant(""), userMessage("hello?")}, // Report A35
		"a question that was not answered": {userMessage("hi"), userMessage("hello?")},
		"empty arguments": {userMessage("hi"), assistant("One.", kernel.Call{ID: "call_1", Name: "read", Arguments: `{}`}),
			resultMessage("call_1", "a", false)},
		"blank arguments": {userMessage("hi"), assistant("Two.", kernel.Call{ID: "call_1", Name: "read"}, kernel.Call{ID: "call_2", Name: "read", Arguments: " \n"}),
			resultMessage("call_1", "a", false), resultMessage("call_2", "b", false)},
		"turn after turn": {userMessage("hi"), assistant("1", read), resultMessage("call_1", "a", false),
			assistant("2", search), resultMessage("call_2", "b", false), assistant("done"), userMessage("again")},
		"unicode": {userMessage("中 😀 \u2028 \u0000 \" \\ </script>"), assistant("é", kernel.Call{ID: "call_1", Name: "read", Arguments: `{"s":"\ud83d\ude00 中"}`}),
			resultMessage("call_1", "\u0001\ufffd", false)},
	}
}

// testConversations: the strict stub accepts every history, and sees in it
// what was said, calls and results in order (Case 8).
func testConversations(t *testing.T, f Factory) {
	for name, history := range histories() {
		t.Run(name, func(t *testing.T) {
			b := f.start(t, Config{}, stub.Options{})
			b.srv.Play(stub.Text("ok"))
			b.reply(request(history...))
			b.accepted()
			checkSaid(t, history, b.srv.Requests()[0].Messages)
		})
	}
	t.Run("results of one turn", func(t *testing.T) { // Case 8
		b := f.start(t, Config{}, stub.Options{})
		b.srv.Play(stub.Text("ok"))
		b.reply(request(histories()["two calls"]...))
		got := b.srv.Requests()[0].Messages
		want := []string{"user", "assistant", "tool", "tool"}
		if f.Wire == stub.Anthropic {
			want = []string{"user", "assistant", "user"}
		}
		var roles []string
		for _, m := range got {
			roles = append(roles, m.Role)
		}
		if !slices.Equal(roles, want) {
			t.Errorf("roles %v, want %v", roles, want)
		}
	})
	t.Run("an error result says so", func(t *testing.T) {
		b := f.start(t, Config{}, stub.Options{})
		b.srv.Play(stub.Text("ok"))
		b.reply(request(histories()["an error result"]...))
		result := b.srv.Requests()[0].Messages[2].Results[0]
		if result.IsError != (f.Wire == stub.Anthropic) || result.Text != "未执行：no" {
			t.Errorf("result %+v", result)
		}
	})
}

// checkSaid compares a history with what arrived, whatever messages the wire
// joined. Blank text may be left out, and what replaces an empty result or
// stands for an id that the wire refuses is the adapter's choice: ids are
// compared by which call a result answers.
func checkSaid(t *testing.T, history []*kernel.Message, got []stub.Message) {
	t.Helper()
	var want, arrived []string
	wanted, sent := numbers{}, numbers{}
	for _, m := range history {
		for _, b := range m.Blocks {
			switch b.Kind {
			case kernel.BlockCall:
				args := b.Call.Arguments
				if strings.TrimSpace(args) == "" { // Report A07
					args = "{}"
				}
				want = append(want, fmt.Sprint("call ", wanted.of(b.Call.ID), b.Call.Name, args))
			case kernel.BlockResult:
				want = append(want, fmt.Sprint("result ", wanted.of(b.CallID)))
			}
		}
	}
	for _, m := range got {
		for _, c := range m.Calls {
			arrived = append(arrived, fmt.Sprint("call ", sent.of(c.ID), c.Name, c.Args))
		}
		for _, r := range m.Results {
			arrived = append(arrived, fmt.Sprint("result ", sent.of(r.ID)))
		}
	}
	if diff := cmp.Diff(want, arrived); diff != "" {
		t.Error(diff)
	}
	checkTexts(t, history, got)
}

// numbers are ids by the order in which they were first seen.
type numbers map[string]int

func (n numbers) of(id string) int {
	if _, ok := n[id]; !ok {
		n[id] = len(n)
	}
	return n[id]
}

// checkTexts compares the texts of the messages and of the results.
func checkTexts(t *testing.T, history []*kernel.Message, got []stub.Message) {
	t.Helper()
	var text, results string
	for _, m := range got {
		text += m.Text
		for _, r := range m.Results {
			results += r.Text
		}
	}
	rest, restOfResults := []byte(text), []byte(results)
	for _, m := range history {
		for _, b := range m.Blocks {
			in := &rest
			if b.Kind == kernel.BlockResult {
				in = &restOfResults
			}
			said := bytes.TrimSpace([]byte(b.Text))
			_, after, ok := bytes.Cut(*in, said)
			if !ok {
				t.Errorf("%q did not arrive, or not in order, in %q", said, *in)
			}
			*in = after
		}
	}
}

// testEncoder: messages that were encoded once give the same request as
// messages that were not.
func testEncoder(t *testing.T, f Factory) {
	for name, history := range histories() {
		t.Run(name, func(t *testing.T) {
			b := f.start(t, Config{Stream: true}, stub.Options{})
			enc, ok := b.model.(model.Encoder)
			if !ok {
				t.Skip("the model keeps no encoding")
			}
			b.srv.Always(stub.Text("ok"))
			req := request(history...)
			req.System = "be brief"
			req.Tools = []model.Tool{{Name: "read", Description: "d", Schema: []byte(`{"type":"object"}`)}}
			b.reply(req)
			encode(t, enc, req)
			wires := make([]string, len(req.Messages))
			for i, m := range req.Messages {
				wires[i] = string(m.Encoded.Append(nil))
			}
			b.reply(req)
			b.reply(req)
			b.accepted()
			got := b.srv.Requests()
			for i := 1; i < 3; i++ {
				if !bytes.Equal(got[0].Body, got[i].Body) {
					t.Errorf("one-shot:\n%s\nencoded once:\n%s", got[0].Body, got[i].Body)
				}
			}
			for i, m := range req.Messages {
				if wires[i] != string(m.Encoded.Append(nil)) {
					t.Errorf("the bytes of message %d were changed", i)
				}
			}
		})
	}
}

func encode(t *testing.T, enc model.Encoder, req *model.Request) {
	t.Helper()
	var err error
	if req.Head, err = enc.EncodeHead(req.System, req.Tools); err != nil {
		t.Fatal(err)
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Encoded, err = enc.EncodeMessage(m.Message, nil); err != nil {
			t.Fatal(err)
		}
		m.Encoded.Before = slices.Clip(m.Encoded.Before)
		if m.Role == kernel.RoleTool {
			encodeQuoted(t, enc, m)
		}
	}
}

// encodeQuoted encodes a result whose text was quoted before, which gives the
// same bytes. They are sent from then on.
func encodeQuoted(t *testing.T, enc model.Encoder, m *model.Message) {
	t.Helper()
	quoted := kernel.AppendString(nil, m.Blocks[0].Text)
	got, err := enc.EncodeMessage(m.Message, slices.Clip(quoted))
	if all := m.Encoded.Append(nil); err != nil || !bytes.Equal(got.Append(nil), all) {
		t.Errorf("with its text quoted before: %s, %v\nwithout: %s", got.Append(nil), err, all)
	}
	if fresh := kernel.AppendString(nil, m.Blocks[0].Text); !bytes.Equal(quoted, fresh) || got.Text != nil && !bytes.Equal(got.Text, fresh) {
		t.Errorf("the text %s became %s, and is sent as %s", fresh, quoted, got.Text)
	}
	m.Encoded = got
}
