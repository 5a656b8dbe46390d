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
	lacks := func(m model.Message) bool { return m.Wire.Bytes == nil }
	if !slices.ContainsFunc(messages, lacks) {
		return messages, nil
	}
	all := slices.Clone(messages)
	for i := range all {
		if all[i].Wire.Bytes != nil {
			continue
		}
		var err error
		if all[i].Wire, err = m.EncodeMessage(all[i].Message, nil); err != nil {
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

// Next returns the head, then what is before each message and the message
// itself, then the tail. Behind the place of the head each message has four.
func (b *body) Next(place int) ([]byte, int) {
	if place == 0 {
		return b.head, 1
	}
	i, part := (place-1)/4, (place-1)%4
	if i == len(b.messages) {
		return b.tail, transport.End
	}
	w := &b.messages[i].Wire
	switch {
	case part == 0 && i == 0 && bytes.HasSuffix(b.head, []byte{'['}): // no system message
		return nil, place + 1
	case part == 0:
		return b.tail[1:2], place + 1 // a comma
	case w.Text == nil:
		return w.Bytes, place + 3
	case part == 1:
		return w.Bytes[:w.At], place + 1
	case part == 2:
		return w.Text, place + 1
	}
	return w.Bytes[w.At:], place + 1
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
func (m *Model) EncodeMessage(msg *kernel.Message, quoted []byte) (model.Wire, error) {
	return m.endpoint.Encoded(func(b []byte) (model.Wire, error) { return m.appendMessage(b, msg, quoted) })
}

func (m *Model) appendMessage(b []byte, msg *kernel.Message, quoted []byte) (w model.Wire, err error) {
	switch msg.Role {
	case kernel.RoleUser:
		b = append(b, `{"role":"user","content":`...)
		w.Bytes = append(transport.AppendString(b, text(msg)), '}')
	case kernel.RoleAssistant:
		w.Bytes, err = m.appendAssistant(b, msg)
	case kernel.RoleTool:
		if len(msg.Blocks) != 1 || msg.Blocks[0].Kind != kernel.BlockResult || msg.Blocks[0].CallID == "" {
			return w, transport.BadMessage("a tool message is one result with the id of its call")
		}
		b = append(b, `{"role":"tool","tool_call_id":`...)
		b = transport.AppendString(b, wireID(msg.Blocks[0].CallID))
		w = transport.WithText(append(b, `,"content":`...), msg.Blocks[0].Text, quoted)
		w.Bytes = append(w.Bytes, '}')
	default:
		err = transport.BadMessage("a message has an unknown role")
	}
	return w, err
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
