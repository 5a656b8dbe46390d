// Package prompt makes what the model is sent: the canonical history, and the
// instructions in front of it.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// Content is what a Commit refers to, beside the event that caused it.
type Content struct {
	Question string          // of a question
	Said     string          // the oldest that the user said and that did not enter yet
	Message  *kernel.Message // of a reply; its blocks are not changed any more
	Result   string          // of a result that a tool produced, now or before
	// Compaction is of a compaction.
	Compaction *Compaction
}

// History is the canonical history of a session: the messages that belong to
// it, and nothing that was attached to a request. It changes by Commit alone.
// The zero value is empty. It is not safe for concurrent use; the messages
// that it returns never change.
type History struct {
	messages []kernel.Message
	partial  bool // it lacks what its session held before: see Partial
}

// NewHistory returns a history that begins with messages, which it keeps.
func NewHistory(messages []kernel.Message) *History {
	return &History{messages: messages[:len(messages):len(messages)]}
}

// With returns a history like h that holds messages, which it keeps.
func (h *History) With(messages []kernel.Message) *History {
	return &History{messages: messages[:len(messages):len(messages)], partial: h.partial}
}

// Messages returns the history so far. The slice is not written to again.
func (h *History) Messages() []kernel.Message {
	return h.messages[:len(h.messages):len(h.messages)]
}

// Commit does what c orders: it appends a message, or takes older ones out (see
// Compaction). A commit that does not fit its content is INVALID_EVENT, and
// changes nothing.
func (h *History) Commit(c kernel.Commit, content Content) (*kernel.Message, error) {
	if c.What == kernel.CommitCompaction {
		return nil, h.compact(content.Compaction)
	}
	m, err := h.message(c, content)
	if err != nil {
		return nil, err
	}
	if cap(h.messages) == 0 {
		h.messages = make([]kernel.Message, 0, 4) // a question, a call, its result and the answer
	}
	h.messages = append(h.messages, m)
	return &h.messages[len(h.messages)-1], nil
}

func (h *History) message(c kernel.Commit, content Content) (kernel.Message, error) {
	switch c.What {
	case kernel.CommitQuestion:
		return userText(content.Question), nil
	case kernel.CommitSaid:
		return userText(content.Said), nil
	case kernel.CommitFinding:
		return userText(c.Text), nil
	case kernel.CommitReply:
		return reply(c, content.Message)
	case kernel.CommitResult:
		return result(c, content.Result), nil
	}
	return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: fmt.Sprintf("commit of %q", c.What)}
}

func userText(s string) kernel.Message {
	return kernel.Message{Role: kernel.RoleUser, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: s}}}
}

// reply puts the admitted calls in the place of those that arrived.
func reply(c kernel.Commit, m *kernel.Message) (kernel.Message, error) {
	if m == nil {
		return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a reply without its message"}
	}
	blocks := m.Blocks
	if len(c.Calls) > 0 {
		blocks = slices.Clone(blocks)
	}
	next := 0
	for i := range blocks {
		if blocks[i].Kind != kernel.BlockCall {
			continue
		}
		if next == len(c.Calls) {
			return kernel.Message{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a reply with more calls than were admitted"}
		}
		blocks[i].Call = &c.Calls[next]
		next++
	}
	return kernel.Message{Role: kernel.RoleAssistant, Blocks: blocks}, nil
}

func result(c kernel.Commit, came string) kernel.Message {
	b := kernel.Block{Kind: kernel.BlockResult, CallID: c.Call, Text: c.Text, IsError: c.IsError}
	if c.Text == "" {
		b.Text = came
	}
	return kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{b}}
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

// Close answers the calls of the last reply that have no answer, as
// interrupted, so that every endpoint accepts the history again. It returns
// how many there were. Earlier replies were answered before the next request.
func (h *History) Close() int {
	last := len(h.messages) - 1
	for last >= 0 && h.messages[last].Role != kernel.RoleAssistant {
		last--
	}
	if last < 0 {
		return 0
	}
	answered := map[string]bool{}
	for _, m := range h.messages[last+1:] {
		if m.Role == kernel.RoleTool {
			answered[m.Blocks[0].CallID] = true
		}
	}
	n := 0
	for _, b := range h.messages[last].Blocks {
		if b.Kind != kernel.BlockCall || answered[b.Call.ID] {
			continue
		}
		n++
		h.messages = append(h.messages, kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{{
			Kind: kernel.BlockResult, CallID: b.Call.ID, IsError: true,
			Text: "Interrupted: this call may have taken effect; its outcome is not known.",
		}}})
	}
	return n
}

// Qualify returns copies of the messages of one run under call ids that are
// unique in the whole session: ids are unique within a run, but the next run
// may meet the same ones again, and a wire refuses a history that repeats them.
// The same run gives the same ids.
func Qualify(messages []kernel.Message, run string) []kernel.Message {
	sum := sha256.Sum256([]byte(run))
	suffix := "_" + hex.EncodeToString(sum[:4])
	out := make([]kernel.Message, len(messages))
	for i, m := range messages {
		out[i] = kernel.Message{Role: m.Role, Blocks: make([]kernel.Block, len(m.Blocks))}
		for j, b := range m.Blocks {
			if b.Call != nil {
				c := *b.Call
				c.ID += suffix
				b.Call = &c
			}
			if b.CallID != "" {
				b.CallID += suffix
			}
			out[i].Blocks[j] = b
		}
	}
	return out
}
