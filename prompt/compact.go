package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// Held is a history that is to become smaller.
type Held struct {
	Messages []kernel.Message
	Tokens   []int64 // the estimate of each
	Fixed    int64   // of what is sent beside them
	// Question is the index of the present question, which stays as it is. -1:
	// there is none.
	Question int
	Archive  string // the id of what is removed
}

// Smaller is a compaction and what it comes to, in tokens as estimated.
type Smaller struct {
	Compaction
	Before, After int64
}

// The bounds of what compaction does, in bytes and tokens.
const (
	oversized  = 2048 // a longer result may be shortened
	spillHead  = 700
	spillTail  = 300
	summaryMin = 256  // tokens of a summary, whatever the room
	summaryMax = 4096 // and at most
)

// Compact makes the history small enough for a limit by rule: results that the
// model has seen lose their middle, the largest first; where that is not enough,
// a digest takes the place of the oldest whole turns. It goes somewhat below
// the limit, so that the next turns fit too. nil: it is small enough, or nothing
// would become smaller.
// What it returns may still be over the limit.
//
// A call is never parted from its result, the present question stays word for
// word, and so does whatever the model has not seen yet.
func (h *Held) Compact(limit int64) *Smaller {
	if h.total() <= limit {
		return nil
	}
	if s := h.Shorten(limit); s != nil && s.After <= limit {
		return s
	}
	removed := h.Turns(limit)
	if removed == 0 {
		return h.Shorten(limit)
	}
	s := h.replace(limit, removed, func(room int64) string { return h.digest(removed, room) })
	if s == nil {
		return h.Shorten(limit)
	}
	return s
}

// Summarized replaces the first removed messages by a summary that was made of
// them, and shortens results where that is not enough. nil: the text is blank,
// or the history would not become smaller.
func (h *Held) Summarized(limit int64, removed int, text string) *Smaller {
	body := clean(text)
	if body == "" || removed < 1 || removed > len(h.Messages) || !h.cuttable(removed) {
		return nil
	}
	return h.replace(limit, removed, func(int64) string { return h.summary(removed, body) })
}

// Shorten leaves the middle of seen results out, the largest first, until the
// history is somewhat under the limit. nil: there is none that could be
// shortened.
func (h *Held) Shorten(limit int64) *Smaller {
	s := &Smaller{Compaction: Compaction{Archive: h.Archive, Rest: len(h.Messages)}, Before: h.total()}
	s.After = s.Before
	h.shorten(s, 0, limit)
	if len(s.Spills) == 0 {
		return nil
	}
	return s
}

// Turns is how many messages from the front, whole turns all of them, have to
// go so that the history with a summary in their place is under the limit, or
// as many as may go. 0: none may.
func (h *Held) Turns(limit int64) int {
	kept, best := h.total(), 0
	target := limit - limit/4
	for i := range h.unseen() {
		if i != h.Question {
			kept -= h.Tokens[i]
		}
		if !h.cuttable(i+1) || h.nothing(i+1) {
			continue
		}
		best = i + 1
		if kept+summaryRoom(limit) <= target {
			break
		}
	}
	return best
}

func summaryRoom(limit int64) int64 { return min(max(limit/4, summaryMin), summaryMax) }

// nothing reports whether the first n messages are a summary and the question
// alone: a summary of them would be no gain.
func (h *Held) nothing(n int) bool {
	for i := range n {
		if _, _, is := earlier(&h.Messages[i]); i != h.Question && !is {
			return false
		}
	}
	return true
}

func (h *Held) total() int64 {
	n := h.Fixed
	for _, t := range h.Tokens {
		n += t
	}
	return n
}

// unseen is the index of the first message that the model has not seen, or that
// belongs to one.
func (h *Held) unseen() int { return Unseen(h.Messages) }

// Unseen is the index from which on messages were in no request that was
// answered: what follows the last reply, and that reply too where it has calls.
func Unseen(messages []kernel.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == kernel.RoleAssistant {
			if callsOf(&messages[i]) > 0 {
				return i
			}
			return i + 1
		}
	}
	return 0
}

// cuttable reports whether the first n messages are whole turns.
func (h *Held) cuttable(n int) bool {
	if n < 1 || n > h.unseen() || whole(h.Messages, n) != nil {
		return false
	}
	last := n - 1
	return h.Messages[last].Role != kernel.RoleUser || last == h.Question
}

// replace puts a summary in the place of the first messages, and shortens what
// remains where that is needed.
func (h *Held) replace(limit int64, removed int, summary func(room int64) string) *Smaller {
	s := &Smaller{Compaction: Compaction{Archive: h.Archive, Removed: removed, Rest: len(h.Messages) - removed}, Before: h.total()}
	kept := s.Before
	for i := range removed {
		if i != h.Question {
			kept -= h.Tokens[i]
		}
	}
	if h.Question >= 0 && h.Question < removed {
		s.Question = len(h.Messages) - h.Question
	}
	s.Summary = summary(min(max(limit-kept, summaryMin), summaryRoom(limit)))
	s.After = kept + textTokens(s.Summary)
	h.shorten(s, removed, limit)
	if s.After >= s.Before {
		return nil
	}
	return s
}

// shorten adds spills of the messages from index from on, where s is over the
// limit, until it is somewhat under it.
func (h *Held) shorten(s *Smaller, from int, limit int64) {
	if s.After <= limit {
		return
	}
	for _, i := range h.largest(from) {
		b := &h.Messages[i].Blocks[0]
		short := Spilled(b.Text, h.Archive)
		if saved := textTokens(b.Text) - textTokens(short); saved > 0 {
			s.Spills = append(s.Spills, Spill{Position: len(h.Messages) - i, Call: b.CallID, Text: short})
			s.After -= saved
		}
		if s.After <= limit-limit/8 {
			break
		}
	}
	slices.SortFunc(s.Spills, func(a, b Spill) int { return cmp.Compare(b.Position, a.Position) })
}

// largest are the indexes of the results that may be shortened, the largest
// first.
func (h *Held) largest(from int) []int {
	var found []int
	for i := from; i < h.unseen(); i++ {
		if m := &h.Messages[i]; m.Role == kernel.RoleTool && len(m.Blocks[0].Text) > oversized {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int {
		return cmp.Compare(len(h.Messages[b].Blocks[0].Text), len(h.Messages[a].Blocks[0].Text))
	})
	return found
}

// textTokens is the estimate of a text in a message that is not encoded yet:
// as it will be on the wire, with what stands around it.
func textTokens(s string) int64 {
	const around = 24
	return EstimateTokens(kernel.AppendString(nil, s)) + around
}

// Spilled is what stays of a result's text that is shortened: its head and its
// tail, how much is left out, and where that is.
func Spilled(s, archive string) string {
	head, tail := Head(s, spillHead), Tail(s, spillTail)
	return fmt.Sprintf("%s\n[… %d of %d bytes are left out here; the whole result is in archive %s …]\n%s",
		head, len(s)-len(head)-len(tail), len(s), archive, tail)
}

// Head is the start of s, at most n bytes of whole characters.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Tail is the end of s, at most n bytes of whole characters.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
