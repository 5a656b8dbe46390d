package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// Compaction says what takes the place of older messages: a summary, and
// results of which the middle is left out. What it removes stays in the journal
// that recorded it, and is found there by its archive id. Positions count from
// the end of the history as it was, the last message being 1, so that a run that
// is read without its session's earlier runs finds its own part all the same.
type Compaction struct {
	Archive string `json:"archive"` // RUN.CMD: names what it removed
	// Removed is how many messages from the front the summary replaces, and Rest
	// how many follow them. Removed is 0 where results alone are shortened.
	Removed int    `json:"removed,omitempty"`
	Rest    int    `json:"rest"`
	Summary string `json:"summary,omitempty"` // the text of the user message in their place
	// Question is the position of the one among the removed that stays as it is,
	// right behind the summary. 0: none.
	Question int     `json:"question,omitempty"`
	Spills   []Spill `json:"spills,omitempty"`
}

// Spill is a result of which only head and tail stay.
type Spill struct {
	Position int    `json:"position"`
	Call     string `json:"call"` // whose result it is
	Text     string `json:"text"` // in the place of the whole one
}

// Partial returns an empty history that lacks what its session held before.
func Partial() *History { return &History{partial: true} }

// compact carries a compaction out: all of it, or nothing with INVALID_EVENT.
// What lies before a partial history is not looked at.
func (h *History) compact(c *Compaction) error {
	if c == nil {
		return misfit("without its content")
	}
	out, err := h.removed(c)
	if err != nil {
		return err
	}
	for _, s := range c.Spills {
		if err := h.spill(out, s, c.Rest); err != nil {
			return err
		}
	}
	if len(out) == 0 && !h.partial {
		return misfit("that leaves nothing")
	}
	if !h.partial && !beginsWithUser(out) {
		return misfit("after which the history does not begin with a user's text")
	}
	h.messages = out
	return nil
}

func misfit(format string, args ...any) error {
	return &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a compaction " + fmt.Sprintf(format, args...)}
}

func beginsWithUser(messages []kernel.Message) bool {
	return messages[0].Role == kernel.RoleUser && strings.TrimSpace(Text(&messages[0])) != ""
}

// removed returns the history as it is without what goes, in memory of its own.
func (h *History) removed(c *Compaction) ([]kernel.Message, error) {
	n := len(h.messages)
	cut := n - c.Rest
	switch {
	case c.Removed < 0 || c.Rest < 0 || c.Removed == 0 && (c.Summary != "" || c.Question != 0):
		return nil, misfit("that is none")
	case !h.partial && c.Removed+c.Rest != n, h.partial && c.Removed+c.Rest < n:
		return nil, misfit("of %d messages, where there are %d", c.Removed+c.Rest, n)
	case c.Removed == 0 || cut <= 0:
		return slices.Clone(h.messages), nil // it goes on before them
	case strings.TrimSpace(c.Summary) == "":
		return nil, misfit("without a summary")
	}
	if err := whole(h.messages, cut); err != nil && !h.partial {
		return nil, err
	}
	out := append(make([]kernel.Message, 0, c.Rest+2+8), userText(c.Summary))
	if q := n - c.Question; c.Question != 0 {
		if q < 0 || q >= cut || h.messages[q].Role != kernel.RoleUser {
			return nil, misfit("that keeps what is no question")
		}
		out = append(out, h.messages[q])
	}
	return append(out, h.messages[cut:]...), nil
}

// whole reports a cut that would part a call from its result.
func whole(messages []kernel.Message, cut int) error {
	if open := openCalls(messages[:cut]); open > 0 {
		return misfit("that parts %d calls from their results", open)
	}
	return nil
}

// openCalls is how many calls of the last reply have no result.
func openCalls(messages []kernel.Message) int {
	results := 0
	for i := len(messages) - 1; i >= 0; i-- {
		switch messages[i].Role {
		case kernel.RoleTool:
			results++
		case kernel.RoleAssistant:
			return max(0, callsOf(&messages[i])-results)
		}
	}
	return 0
}

func callsOf(m *kernel.Message) (n int) {
	for i := range m.Blocks {
		if m.Blocks[i].Call != nil {
			n++
		}
	}
	return n
}

// spill shortens one of the last messages, rest of which were there before.
func (h *History) spill(out []kernel.Message, s Spill, rest int) error {
	i := len(out) - s.Position
	if h.partial && i < 0 && s.Position <= rest {
		return nil // of an earlier run
	}
	if s.Position < 1 || s.Position > rest || i < 0 || out[i].Role != kernel.RoleTool || out[i].Blocks[0].CallID != s.Call || s.Text == "" {
		return misfit("that shortens what is no result of call %.80q", s.Call)
	}
	b := out[i].Blocks[0]
	b.Text = s.Text
	out[i] = kernel.Message{Role: kernel.RoleTool, Blocks: []kernel.Block{b}}
	return nil
}
