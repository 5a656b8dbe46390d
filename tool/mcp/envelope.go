//go:build linux || darwin

package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The bounds of one message, in bytes, and what is said of one that is over them.
const (
	maxMessage = 16 << 20 // a message that is read
	maxSkipped = 64 << 20 // one that is passed over to its end

	tooLong   = "it is over 16 MiB"
	tooLongNo = "it is over 64 MiB, and has no end so far"
)

// What stands for an answer over maxMessage, among the codes that the protocol
// leaves to implementations: a result, and an error.
const (
	longResult = -32098
	longError  = -32097
)

// envelope reads what a message is about without keeping it: its id, and whether it
// is a question, a result or an error. It takes JSON as it comes, in pieces, and
// passes over what stands before its first brace.
type envelope struct {
	depth    int
	inText   bool
	escaped  bool
	naming   bool   // what comes in the outer object is a name
	kept     []byte // of the name or value there
	name     string
	id       json.RawMessage
	question bool
	result   bool
}

// maxKept bounds the names and ids that are kept.
const maxKept = 256

func (e *envelope) take(piece []byte) {
	for _, c := range piece {
		switch {
		case e.inText:
			e.text(c)
		case e.depth == 0 && c != '{':
		default:
			e.structure(c)
		}
	}
}

func (e *envelope) keep(c byte) {
	if e.depth == 1 && len(e.kept) < maxKept {
		e.kept = append(e.kept, c)
	}
}

// text takes a character of a string.
func (e *envelope) text(c byte) {
	e.keep(c)
	switch {
	case e.escaped:
		e.escaped = false
	case c == '\\':
		e.escaped = true
	case c == '"':
		e.inText = false
		if e.depth == 1 && e.naming {
			e.named()
		}
	}
}

// structure takes a character outside of strings.
func (e *envelope) structure(c byte) {
	switch c {
	case '"':
		e.inText = true
		e.keep(c)
	case '{', '[':
		if e.depth++; e.depth == 1 {
			e.naming, e.kept = true, nil
		}
	case '}', ']':
		e.valued()
		e.depth--
	case ',':
		e.valued()
	case ':':
		if e.depth == 1 {
			e.naming, e.kept = false, nil
		}
	case ' ', '\t', '\r', '\n':
	default:
		e.keep(c)
	}
}

// named ends a name of the outer object.
func (e *envelope) named() {
	e.name = ""
	_ = json.Unmarshal(e.kept, &e.name) // what is none is not one of ours
	e.question = e.question || e.name == "method"
	e.result = e.result || e.name == "result"
}

// valued ends a value of the outer object.
func (e *envelope) valued() {
	if e.depth != 1 {
		return
	}
	if e.name == "id" && len(e.kept) < maxKept && json.Valid(e.kept) {
		e.id = e.kept
	}
	e.naming, e.name, e.kept = true, "", nil
}

// standIn is the answer, to the request of that id, that says that the one that
// came is too long. nil: it was no answer.
func (e *envelope) standIn(id json.RawMessage) []byte {
	if len(id) == 0 || e.question {
		return nil
	}
	code := longError
	if e.result {
		code = longResult
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, "the answer: "+tooLong)
}

// refusal is the answer to a question that is too long. nil: it was none, or needs none.
func (e *envelope) refusal() jsonrpc.Message {
	if len(e.id) == 0 || !e.question {
		return nil
	}
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, e.id, jsonrpc.CodeInvalidRequest, tooLong)
	message, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return nil // its id is none
	}
	return message
}
