package anthropic

import (
	"strconv"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// body returns the pieces of a request: the head, the turns and the tail with
// the output limit, which recovery may raise without a change to the rest.
func (m *Model) body(req *model.Request) ([][]byte, error) {
	head := req.Head
	if head == nil {
		var err error
		if head, err = m.EncodeHead(req.System, req.Tools); err != nil {
			return nil, err
		}
	}
	// A message has at most its three pieces and the glue before them; the head
	// and the tail are there in any case.
	t := turns{
		model:     m,
		pieces:    make([][]byte, 0, 4*len(req.Messages)+2),
		user:      []byte(`]},{"role":"user","content":[`),
		assistant: []byte(`]},{"role":"assistant","content":[`),
	}
	t.pieces = append(t.pieces, head)
	for rest := req.Messages; len(rest) > 0; {
		n := turn(rest)
		if err := t.add(rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	limit := req.MaxTokens
	if limit <= 0 {
		limit = m.endpoint.Info.MaxTokens
	}
	tail := []byte{}
	if t.open != "" {
		tail = append(tail, "]}"...)
	}
	tail = strconv.AppendInt(append(tail, `],"max_tokens":`...), int64(limit), 10)
	return append(t.pieces, append(tail, '}')), nil
}

// turn returns how many messages at the start of ms are one turn of the wire.
func turn(ms []model.Message) int {
	n := 1
	for n < len(ms) && side(&ms[n]) == side(&ms[0]) {
		n++
	}
	return n
}

// side is the wire's role of a message: results are a user's.
func side(m *model.Message) kernel.Role {
	if m.Role == kernel.RoleAssistant {
		return kernel.RoleAssistant
	}
	return kernel.RoleUser
}

// turns joins messages to turns.
type turns struct {
	model  *Model
	pieces [][]byte
	open   kernel.Role // of the turn that is not yet ended; empty: none
	// The end of a turn and the beginning of the next, by whose it is. All glue
	// is cut from these two, so that it costs no allocation a message.
	user, assistant []byte
}

// add appends messages of one side. All results of a turn come first: the wire
// refuses text before them.
func (t *turns) add(ms []model.Message) error {
	for _, results := range []bool{true, false} {
		for i := range ms {
			if (ms[i].Role == kernel.RoleTool) != results {
				continue
			}
			if err := t.message(&ms[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *turns) message(m *model.Message) error {
	e := m.Encoded
	if e.Before == nil {
		var err error
		if e, err = t.model.EncodeMessage(m.Message, nil); err != nil {
			return err
		}
	}
	if len(e.Before) == 0 {
		return nil
	}
	t.pieces = append(t.pieces, t.glue(side(m)), e.Before)
	if e.Text != nil {
		t.pieces = append(t.pieces, e.Text, e.After)
	}
	return nil
}

// glue returns what stands between the blocks so far and those of role.
func (t *turns) glue(role kernel.Role) []byte {
	const end, comma = len("]}"), len("]},")
	was := t.open
	t.open = role
	edge := t.user
	if role == kernel.RoleAssistant {
		edge = t.assistant
	}
	switch was {
	case role:
		return edge[end:comma]
	case "":
		return edge[comma:]
	}
	return edge
}
