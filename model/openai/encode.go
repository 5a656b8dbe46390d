package openai

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// body returns the pieces of a request: the head, the messages with commas
// between them, and the tail with the output limit, which recovery may raise
// without a change to the rest.
func (m *Model) body(req *model.Request) (transport.Pieces, error) {
	head := req.Head
	if head == nil {
		var err error
		if head, err = m.EncodeHead(req.System, req.Tools); err != nil {
			return nil, err
		}
	}
	messages, err := m.encoded(req.Messages)
	if err != nil {
		return nil, err
	}
	limit := req.MaxTokens
	if limit <= 0 {
		limit = m.endpoint.Info.MaxTokens
	}
	b := &body{head: head, messages: messages}
	b.tail = append(append(append(b.room[:0], `],"`...), m.limitField...), `":`...)
	b.tail = append(strconv.AppendInt(b.tail, int64(limit), 10), '}')
	return b, nil
}

// encoded returns messages that all have their bytes.
func (m *Model) encoded(messages []model.Message) ([]model.Message, error) {
	lacks := func(m model.Message) bool { return m.Encoded.Before == nil }
	if !slices.ContainsFunc(messages, lacks) {
		return messages, nil
	}
	all := slices.Clone(messages)
	for i := range all {
		if all[i].Encoded.Before != nil {
			continue
		}
		var err error
		if all[i].Encoded, err = m.EncodeMessage(all[i].Message, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// body is the pieces of a request, found where they are: a list of them would
// grow with the history.
type body struct {
	head     []byte
	messages []model.Message
	tail     []byte
	room     [48]byte // for the tail, with either field and its limit
}

// Len counts the head, the tail, and four pieces a message.
func (b *body) Len() int { return 4*len(b.messages) + 2 }

// Piece returns the head, then what is before each message and the three pieces
// of the message itself, then the tail.
func (b *body) Piece(i int) []byte {
	switch {
	case i == 0:
		return b.head
	case i == b.Len()-1:
		return b.tail
	case i == 1 && bytes.HasSuffix(b.head, []byte{'['}): // no system message
		return nil
	}
	m := &b.messages[(i-1)/4].Encoded
	switch i % 4 {
	case 1:
		return b.tail[1:2] // a comma
	case 2:
		return m.Before
	case 3:
		return m.Text
	}
	return m.After
}

// EncodeHead returns the request up to its first message, the instructions
// included. A schema that is no JSON object is INVALID_ARGUMENT; with the strict
// profile, a tool that the official endpoint refuses is CONFIGURATION.
func (m *Model) EncodeHead(system string, tools []model.Tool) ([]byte, error) {
	return m.endpoint.Heads.Of(system, tools, m.encodeHead)
}

func (m *Model) encodeHead(system string, tools []model.Tool) ([]byte, error) {
	if m.endpoint.Info.Profile == kernel.Strict {
		limits := officialTools()
		if err := limits.Check(tools); err != nil {
			return nil, err
		}
	}
	b := transport.AppendString([]byte(`{"model":`), m.endpoint.Info.Name)
	if m.endpoint.Stream {
		b = append(b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	for i, t := range tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = transport.AppendString(b, t.Name)
		b = append(b, `,"description":`...)
		b = transport.AppendString(b, t.Description)
		b = append(b, `,"parameters":`...)
		schema, ok := transport.Object(string(t.Schema))
		if !ok {
			return nil, transport.BadMessage(fmt.Sprintf("the schema of tool %q is no JSON object", t.Name))
		}
		b = append(b, schema...)
		b = append(b, "}}"...)
	}
	if len(tools) > 0 {
		b = append(b, ']')
	}
	b = append(b, `,"messages":[`...)
	if system != "" {
		b = append(b, `{"role":"system","content":`...)
		b = append(transport.AppendString(b, system), '}')
	}
	return b, nil
}

// EncodeMessage returns one message of the wire. A message that the wire
// cannot carry is INVALID_ARGUMENT.
func (m *Model) EncodeMessage(msg *kernel.Message, quoted []byte) (model.Encoded, error) {
	return m.endpoint.Encoded(quoted, func(b []byte) ([]byte, int, error) { return m.appendMessage(b, msg, quoted) })
}

// appendMessage also returns where the text belongs that was quoted before; below
// 0: nowhere.
func (m *Model) appendMessage(b []byte, msg *kernel.Message, quoted []byte) (all []byte, at int, err error) {
	at = -1
	switch msg.Role {
	case kernel.RoleUser:
		b = append(b, `{"role":"user","content":`...)
		b = append(transport.AppendString(b, text(msg)), '}')
	case kernel.RoleAssistant:
		b, err = m.appendAssistant(b, msg)
	case kernel.RoleTool:
		if len(msg.Blocks) != 1 || msg.Blocks[0].Kind != kernel.BlockResult || msg.Blocks[0].CallID == "" {
			return nil, at, transport.BadMessage("a tool message is one result with the id of its call")
		}
		b = append(b, `{"role":"tool","tool_call_id":`...)
		b = transport.AppendString(b, wireID(msg.Blocks[0].CallID))
		b = append(b, `,"content":`...)
		b, at = transport.AppendUnquoted(b, msg.Blocks[0].Text, quoted)
		b = append(b, '}')
	default:
		err = transport.BadMessage("a message has an unknown role")
	}
	return b, at, err
}

// Report A35: content is null only together with calls.
func (m *Model) appendAssistant(b []byte, msg *kernel.Message) ([]byte, error) {
	b = append(b, `{"role":"assistant","content":`...)
	called := false
	for i := range msg.Blocks {
		called = called || msg.Blocks[i].Kind == kernel.BlockCall
	}
	if s := text(msg); s != "" || !called {
		b = transport.AppendString(b, s)
	} else {
		b = append(b, "null"...)
	}
	b = m.appendReasoning(b, msg)
	separator := `,"tool_calls":[`
	for i := range msg.Blocks {
		c := msg.Blocks[i].Call
		if msg.Blocks[i].Kind != kernel.BlockCall || c == nil {
			continue
		}
		var err error
		if b, err = appendCall(append(b, separator...), c); err != nil {
			return nil, err
		}
		separator = ","
	}
	if called {
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// maxID is the longest id of a call that the official endpoint takes.
const maxID = 40

func wireID(id string) string {
	return transport.WireID(id, maxID, func(rune) bool { return true })
}

func appendCall(b []byte, c *kernel.Call) ([]byte, error) {
	if c.ID == "" || c.Name == "" {
		return nil, transport.BadMessage("a call of the history has no id or no name")
	}
	arguments := "{}"
	if strings.TrimSpace(c.Arguments) != "" {
		var ok bool
		if arguments, ok = transport.Object(c.Arguments); !ok {
			return nil, transport.BadMessage("the arguments of a call of the history are no JSON object")
		}
	}
	b = append(b, `{"id":`...)
	b = transport.AppendString(b, wireID(c.ID))
	b = append(b, `,"type":"function","function":{"name":`...)
	b = transport.AppendString(b, c.Name)
	b = append(b, `,"arguments":`...)
	b = transport.AppendString(b, arguments)
	return append(b, "}}"...), nil
}

// appendReasoning replays reasoning_content to the server that made it, where
// its profile demands that. Parts of a content array are never replayed.
func (m *Model) appendReasoning(b []byte, msg *kernel.Message) []byte {
	if !m.replayReasoning {
		return b
	}
	for i := range msg.Blocks {
		p := msg.Blocks[i].Private
		if p == nil || p.Provider != m.endpoint.Maker || len(p.Data) == 0 || p.Data[0] != '"' || !transport.Valid(p.Data) {
			continue
		}
		b = append(b, `,"reasoning_content":`...)
		return append(b, p.Data...)
	}
	return b
}

// text joins the text blocks of a message. Blocks of another kind are no text:
// reasoning stays with its maker.
func text(msg *kernel.Message) string {
	if len(msg.Blocks) == 1 && msg.Blocks[0].Kind == kernel.BlockText {
		return msg.Blocks[0].Text
	}
	var s []byte
	for i := range msg.Blocks {
		if msg.Blocks[i].Kind != kernel.BlockText || msg.Blocks[i].Text == "" {
			continue
		}
		if len(s) > 0 {
			s = append(s, "\n\n"...)
		}
		s = append(s, msg.Blocks[i].Text...)
	}
	return string(s)
}
