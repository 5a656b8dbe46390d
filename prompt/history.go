// Package prompt makes what the model is sent: the canonical history, and the
// instructions in front of it.
package prompt

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// Content is what a Commit refers to, beside the event that caused it.
type Content struct {
	Question string          // of a question
	Message  *kernel.Message // of a reply
	Result   string          // of a result that a tool produced
}

// History is the canonical history of a session: the messages that belong to
// it, and nothing that was attached to a request. It changes by Commit alone.
// The zero value is empty. It is not safe for concurrent use; the messages
// that it returns never change.
type History struct {
	messages []kernel.Message
}

// NewHistory returns a history that begins with messages, which it keeps.
func NewHistory(messages []kernel.Message) *History {
	return &History{messages: messages[:len(messages):len(messages)]}
}

// Messages returns the history so far. The slice is not written to again.
func (h *History) Messages() []kernel.Message {
	return h.messages[:len(h.messages):len(h.messages)]
}

// Commit appends what c orders and returns the new message. A commit that does
// not fit its content is INVALID_EVENT, and appends nothing.
func (h *History) Commit(c kernel.Commit, content Content) (*kernel.Message, error) {
	m, err := h.message(c, content)
	if err != nil {
		return nil, err
	}
	h.messages = append(h.messages, m)
	return &h.messages[len(h.messages)-1], nil
}

func (h *History) message(c kernel.Commit, content Content) (kernel.Message, error) {
	switch c.What {
	case kernel.CommitQuestion:
		return text(kernel.RoleUser, content.Question), nil
	case kernel.CommitFinding:
		return text(kernel.RoleUser, c.Text), nil
	case kernel.CommitReply:
		return reply(c, content.Message)
	case kernel.CommitResult:
		return h.result(c, content.Result), nil
	}
	return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: fmt.Sprintf("commit of %q", c.What)}
}

func text(role kernel.Role, s string) kernel.Message {
	return kernel.Message{Role: role, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: s}}}
}

// reply puts the admitted calls in the place of those that arrived.
func reply(c kernel.Commit, m *kernel.Message) (kernel.Message, error) {
	if m == nil {
		return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a reply without its message"}
	}
	out := kernel.Message{Role: kernel.RoleAssistant, Blocks: make([]kernel.Block, len(m.Blocks))}
	next := 0
	for i, b := range m.Blocks {
		if b.Kind == kernel.BlockCall {
			if next == len(c.Calls) {
				return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a reply with more calls than were admitted"}
			}
			b.Call = &c.Calls[next]
			next++
		}
		out.Blocks[i] = b
	}
	return out, nil
}

func (h *History) result(c kernel.Commit, ran string) kernel.Message {
	b := kernel.Block{Kind: kernel.BlockResult, CallID: c.Call, Text: c.Text, IsError: c.IsError}
	switch {
	case c.Stored != "":
		if old, ok := h.resultOf(c.Stored); ok {
			b.Text, b.IsError = old.Text, old.IsError
		}
	case c.Text == "":
		b.Text = ran
	}
	return kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{b}}
}

// resultOf finds the answer to a call, latest first.
func (h *History) resultOf(call string) (kernel.Block, bool) {
	for i := len(h.messages) - 1; i >= 0; i-- {
		if m := &h.messages[i]; m.Role == kernel.RoleTool && m.Blocks[0].CallID == call {
			return m.Blocks[0], true
		}
	}
	return kernel.Block{}, false
}

// Text joins the text blocks of a message.
func Text(m *kernel.Message) string {
	var s string
	for _, b := range m.Blocks {
		if b.Kind == kernel.BlockText {
			s += b.Text
		}
	}
	return s
}

// Close answers the calls at the end of a history that have no answer, as
// interrupted, so that every endpoint accepts the history again. It returns
// how many there were.
func (h *History) Close() int {
	open := map[string]bool{}
	var order []string
	for i := range h.messages {
		for _, b := range h.messages[i].Blocks {
			switch b.Kind {
			case kernel.BlockCall:
				open[b.Call.ID] = true
				order = append(order, b.Call.ID)
			case kernel.BlockResult:
				delete(open, b.CallID)
			}
		}
	}
	n := 0
	for _, id := range order {
		if !open[id] {
			continue
		}
		n++
		h.messages = append(h.messages, kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{
			Kind: kernel.BlockResult, CallID: id, IsError: true,
			Text: "Interrupted: this call may have taken effect; its outcome is not known.",
		}}})
	}
	return n
}
