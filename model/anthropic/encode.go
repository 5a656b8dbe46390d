package anthropic

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// empty stands for text that the wire would refuse because it is blank.
const empty = "(empty)"

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
		b = append(b, `,"stream":true`...)
	}
	if strings.TrimSpace(system) != "" {
		b = append(b, `,"system":`...)
		b = transport.AppendString(b, system)
	}
	for i, t := range tools {
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = transport.AppendString(b, t.Name)
		b = append(b, `,"description":`...)
		b = transport.AppendString(b, t.Description)
		b = append(b, `,"input_schema":`...)
		schema, ok := transport.Object(string(t.Schema))
		if !ok {
			return nil, transport.BadMessage(fmt.Sprintf("the schema of tool %q is no JSON object", t.Name))
		}
		b = append(b, schema...)
		b = append(b, '}')
	}
	if len(tools) > 0 {
		b = append(b, ']')
	}
	return append(b, `,"messages":[`...), nil
}

// EncodeMessage returns the content blocks of one message, joined by commas
// and without the turn around them: consecutive messages of one side are one
// turn of this wire. A message that has nothing to say to this provider, such
// as another one's reasoning alone, has no bytes. A message that the wire
// cannot carry is INVALID_ARGUMENT.
func (m *Model) EncodeMessage(msg *kernel.Message, quoted []byte) (model.Encoded, error) {
	return m.endpoint.Encoded(quoted, func(b []byte) ([]byte, int, error) { return m.appendMessage(b, msg, quoted) })
}

// appendMessage also returns where the text belongs that was quoted before; below
// 0: nowhere.
func (m *Model) appendMessage(b []byte, msg *kernel.Message, quoted []byte) (all []byte, at int, err error) {
	at = -1
	switch msg.Role {
	case kernel.RoleUser, kernel.RoleAssistant:
		for i := range msg.Blocks {
			if b, err = m.appendBlock(b, msg.Role, &msg.Blocks[i]); err != nil {
				return nil, at, err
			}
		}
		if len(b) == 0 && msg.Role == kernel.RoleUser {
			b = appendText(b, empty)
		}
	case kernel.RoleTool:
		if len(msg.Blocks) != 1 || msg.Blocks[0].Kind != kernel.BlockResult || msg.Blocks[0].CallID == "" {
			return nil, at, transport.BadMessage("a tool message is one result with the id of its call")
		}
		b, at = appendResult(b, &msg.Blocks[0], quoted)
	default:
		err = transport.BadMessage("a message has an unknown role")
	}
	return b, at, err
}

// appendBlock appends one block, after a comma when it is not the first.
func (m *Model) appendBlock(b []byte, role kernel.Role, block *kernel.Block) ([]byte, error) {
	switch {
	case block.Kind == kernel.BlockText && strings.TrimSpace(block.Text) != "":
		return appendText(separate(b), block.Text), nil
	case block.Kind == kernel.BlockCall && role == kernel.RoleAssistant && block.Call != nil:
		return appendCall(separate(b), block.Call)
	case block.Private != nil && block.Private.Provider == m.endpoint.Maker && role == kernel.RoleAssistant:
		if !transport.Valid(block.Private.Data) {
			return nil, transport.BadMessage("private reasoning of the history is no JSON")
		}
		return append(separate(b), block.Private.Data...), nil
	}
	return b, nil
}

func separate(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return append(b, ',')
}

func appendText(b []byte, text string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(transport.AppendString(b, text), '}')
}

func appendCall(b []byte, c *kernel.Call) ([]byte, error) {
	if c.ID == "" || c.Name == "" {
		return nil, transport.BadMessage("a call of the history has no id or no name")
	}
	input := "{}"
	if strings.TrimSpace(c.Arguments) != "" {
		var ok bool
		if input, ok = transport.Object(c.Arguments); !ok {
			return nil, transport.BadMessage("the arguments of a call of the history are no JSON object")
		}
	}
	b = append(b, `{"type":"tool_use","id":`...)
	b = transport.AppendString(b, wireID(c.ID))
	b = append(b, `,"name":`...)
	b = transport.AppendString(b, c.Name)
	b = append(b, `,"input":`...)
	b = append(b, input...)
	return append(b, '}'), nil
}

func appendResult(b []byte, r *kernel.Block, quoted []byte) (all []byte, at int) {
	text := r.Text
	if strings.TrimSpace(text) == "" {
		text, quoted = empty, nil
	}
	b = append(b, `{"type":"tool_result","tool_use_id":`...)
	b = transport.AppendString(b, wireID(r.CallID))
	b = append(b, `,"content":`...)
	b, at = transport.AppendUnquoted(b, text, quoted)
	if r.IsError {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}'), at
}

// maxID is the longest id of a call: this wire sets no limit, and the narrowest
// host that speaks it takes 64 characters.
const maxID = 64

func wireID(id string) string { return transport.WireID(id, maxID, legalInID) }

func legalInID(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
