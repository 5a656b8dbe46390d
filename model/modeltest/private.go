package modeltest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// testPrivate: private reasoning is kept verbatim for the provider that made
// it, replayed where it is demanded, and goes nowhere else (Report A12).
func testPrivate(t *testing.T, f Factory) {
	cases := map[string][]stub.Thinking{
		"thinking":            {{Text: "first a plan 中 <&>", Signature: "SIG1"}},
		"signature alone":     {{Signature: "SIG2"}},
		"redacted":            {{Redacted: "ENC=="}},
		"thinking, redacted":  {{Text: "a", Signature: "SIG3"}, {Redacted: "ENC"}, {Text: "b", Signature: "SIG4"}},
		"thinking, then text": {{Text: "with \"quotes\"\nand lines", Signature: "SIG5"}},
	}
	if f.Wire == stub.OpenAI {
		cases = map[string][]stub.Thinking{"reasoning_content": {{Text: "first a plan 中 \"<&>\"\n"}}}
	}
	for name, thinking := range cases {
		t.Run(name, func(t *testing.T) {
			f.both(t, func(t *testing.T, stream bool) { replayed(t, f, stream, thinking) })
		})
	}
	t.Run("not replayed where it is not demanded", func(t *testing.T) {
		if f.Wire != stub.OpenAI {
			t.Skip("this wire always demands it")
		}
		f.both(t, func(t *testing.T, stream bool) { notReplayed(t, f, stream) })
	})
	t.Run("of another provider", func(t *testing.T) { foreign(t, f) })
}

// reason plays a turn with private reasoning and a call, and an answer.
func reason(t *testing.T, f Factory, c Config, o stub.Options, thinking []stub.Thinking) (*bench, *model.Reply) {
	t.Helper()
	b := f.start(t, c, o)
	b.srv.Play(stub.Answer(stub.Reply{
		Thinking: thinking, Text: "I look.",
		Calls: []stub.Call{{ID: "c1", Name: "f", Args: `{}`}},
	}), stub.Text("done"))
	return b, b.reply(user("hi"))
}

func replayed(t *testing.T, f Factory, stream bool, thinking []stub.Thinking) {
	for name, keep := range map[string]func(*kernel.Message) *kernel.Message{
		"from memory":    func(m *kernel.Message) *kernel.Message { return m },
		"from a journal": func(m *kernel.Message) *kernel.Message { return throughJSON(t, m) },
	} {
		c := Config{Stream: stream, ReplayReasoning: true}
		b, r := reason(t, f, c, stub.Options{Reasoning: stub.DemandReasoning}, thinking)
		if kinds := leading(&r.Message); kinds != len(thinking) {
			t.Fatalf("%d private blocks come first, want %d: %+v", kinds, len(thinking), r.Message.Blocks)
		}
		checkKinds(t, f.Wire, thinking, r.Message.Blocks)
		b.reply(request(userMessage("hi"), keep(&r.Message), resultMessage("c1", "ok", false)))
		b.accepted() // the stub compares what comes back with what it issued
		sent := b.srv.Requests()[1].Messages[1]
		if f.Wire == stub.Anthropic && len(sent.Thinking) != len(thinking) || f.Wire == stub.OpenAI && sent.Reasoning != thinking[0].Text {
			t.Errorf("%s: sent back %+v", name, sent)
		}
	}
}

// leading counts the private blocks that a message begins with.
func leading(m *kernel.Message) int {
	n := 0
	for n < len(m.Blocks) && m.Blocks[n].Private != nil {
		n++
	}
	return n
}

func checkKinds(t *testing.T, w stub.Wire, thinking []stub.Thinking, blocks []kernel.Block) {
	t.Helper()
	for i, want := range thinking {
		kind, signed := kernel.BlockThinking, true
		switch {
		case w == stub.OpenAI:
			kind, signed = kernel.BlockReason, false
		case want.Redacted != "":
			kind, signed = kernel.BlockRedacted, blocks[i].Private.Signed // its data speaks for itself
		}
		b := blocks[i]
		if b.Kind != kind || b.Private.Signed != signed || b.Private.Provider == "" || b.Text != "" {
			t.Errorf("block %d: kind %s, signed %v, provider %q", i, b.Kind, b.Private.Signed, b.Private.Provider)
		}
	}
}

func notReplayed(t *testing.T, f Factory, stream bool) {
	b, r := reason(t, f, Config{Stream: stream}, stub.Options{}, []stub.Thinking{{Text: "SECRET plan"}})
	b.reply(request(userMessage("hi"), &r.Message, resultMessage("c1", "ok", false)))
	b.accepted()
	if bytes.Contains(b.srv.Requests()[1].Body, []byte("SECRET")) {
		t.Error("reasoning was sent to a server that does not demand it")
	}
}

// foreign: another provider's reasoning never leaves, in any form of it.
func foreign(t *testing.T, f Factory) {
	private := func(kind kernel.BlockKind, data string) kernel.Block {
		return kernel.Block{Kind: kind, Private: &kernel.Private{Provider: "elsewhere", Data: []byte(data), Signed: true}}
	}
	b := f.start(t, Config{ReplayReasoning: true}, stub.Options{Reasoning: stub.AllowReasoning})
	b.srv.Play(stub.Text("done"))
	b.reply(request(userMessage("hi"),
		&kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{
			private(kernel.BlockThinking, `{"type":"thinking","thinking":"SECRET","signature":"S"}`),
			private(kernel.BlockRedacted, `{"type":"redacted_thinking","data":"SECRET"}`),
			private(kernel.BlockReason, `"SECRET"`),
			{Kind: kernel.BlockCall, Call: &kernel.Call{ID: "c1", Name: "f", Arguments: "{}"}},
		}},
		resultMessage("c1", "ok", false)))
	b.accepted()
	sent := b.srv.Requests()[0]
	if bytes.Contains(sent.Body, []byte("SECRET")) || strings.Contains(string(sent.Body), "thinking") {
		t.Errorf("another provider's reasoning was sent: %s", sent.Body)
	}
	if diff := cmp.Diff([]stub.Call{{ID: "c1", Name: "f", Args: "{}"}}, sent.Messages[1].Calls); diff != "" {
		t.Error(diff)
	}
}
