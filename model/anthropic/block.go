package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// block is a content block on its way.
type block struct {
	index int
	raw   json.RawMessage // the block as it began; the whole of a plain answer's
	begin begin
	ended bool

	text      transport.Joined
	input     transport.Joined // of deltas
	thinking  transport.Joined
	signature strings.Builder
	grown     bool // thinking came in deltas
}

// begin is a block as it begins in a stream, and whole in a plain answer.
type begin struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}

func (b *block) parse() (fault string) {
	if !transport.IsObject(b.raw) {
		return "a block of the reply is no object"
	}
	fault, _, err := transport.Decode(b.raw, &b.begin)
	if err != nil {
		return "a block of the reply is no JSON"
	}
	b.text.AddText(b.begin.Text)
	b.thinking.AddText(b.begin.Thinking)
	b.signature.WriteString(b.begin.Signature)
	return fault
}

// add adds a delta and returns the text that it adds to what is shown, and what
// is contradictory about it, if anything. A kind of delta that this package
// does not know adds nothing.
func (b *block) add(d *piece) (shown, fault string) {
	var want string
	switch d.Type {
	case "text_delta":
		want = "text"
		shown = b.text.Add(d.Text)
		fault = wrong(d.Text)
	case "input_json_delta":
		want = "tool_use"
		b.input.Add(d.PartialJSON)
		fault = wrong(d.PartialJSON)
	case "thinking_delta":
		want = "thinking"
		b.thinking.Add(d.Thinking)
		b.grown = true
		fault = wrong(d.Thinking)
	case "signature_delta":
		want = "thinking"
		b.signature.WriteString(d.Signature)
		b.grown = true
	default:
		return "", ""
	}
	if b.begin.Type != want {
		shown = ""
		if b.known() {
			fault = "a piece does not fit its block"
		}
	}
	return shown, fault
}

// wrong says so where a delta's text is no string.
func wrong(text json.RawMessage) (fault string) {
	if len(text) > 0 && text[0] != '"' && text[0] != 'n' {
		return "a delta of the reply has the wrong type"
	}
	return ""
}

// known tells the blocks whose deltas this package understands.
func (b *block) known() bool {
	switch b.begin.Type {
	case "text", "tool_use", "thinking", "redacted_thinking":
		return true
	}
	return false
}

// neutral returns the block in neutral form.
func (a *assembly) neutral(b *block) (kernel.Block, string) {
	switch b.begin.Type {
	case "text":
		return kernel.Block{Kind: kernel.BlockText, Text: b.text.String()}, ""
	case "tool_use":
		args, fault := b.arguments()
		call := &kernel.Call{ID: b.begin.ID, Name: b.begin.Name, Arguments: args}
		return kernel.Block{Kind: kernel.BlockCall, Call: call}, fault
	case "thinking":
		signed := b.signature.Len() > 0
		kind := kernel.BlockThinking
		if !signed && a.tolerant {
			kind = kernel.BlockReason
		}
		return kernel.Block{Kind: kind, Private: a.private(b.verbatim(), signed)}, ""
	case "redacted_thinking":
		return kernel.Block{Kind: kernel.BlockRedacted, Private: a.private(b.raw, false)}, ""
	}
	return kernel.Block{Kind: kernel.BlockKind(transport.Other(b.begin.Type))}, ""
}

func (a *assembly) private(data []byte, signed bool) *kernel.Private {
	return &kernel.Private{Provider: a.maker, Data: data, Signed: signed}
}

// verbatim returns a thinking block as the provider wants it back: the bytes
// that it sent, or, where those came in pieces, the block that they make.
func (b *block) verbatim() []byte {
	if !b.grown {
		return b.raw
	}
	data := transport.AppendString([]byte(`{"type":"thinking","thinking":`), b.thinking.String())
	data = append(data, `,"signature":`...)
	data = transport.AppendString(data, b.signature.String())
	return append(data, '}')
}

// arguments returns a call's arguments, byte for byte. Report A07: no input and
// an empty one are no arguments. A stream begins a call with {}, which stands
// for the deltas to come. Text that is no JSON stays, for admission to refuse;
// a value that is JSON and no object contradicts the wire.
func (b *block) arguments() (args, fault string) {
	args = string(b.begin.Input)
	if args == "null" {
		args = ""
	}
	if b.input.Lossy() {
		return b.input.String(), inexact
	}
	if s := b.input.String(); s != "" {
		if args != "" && args != "{}" {
			return s, "a call has its input twice"
		}
		args = s
	}
	if strings.TrimSpace(args) != "" && !transport.IsObject([]byte(args)) && transport.Valid([]byte(args)) {
		return args, "the input of a call is no object"
	}
	return args, ""
}
