package engine

import (
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// sheet is what the messages of a request are made of, in the form that they are
// sent in: what is attached in front, the history, and notices behind it. What
// requests refer to is never written to again.
type sheet struct {
	all    []model.Message // the first is what is attached in front; without a Message: nothing
	tokens int64           // of the history
	front  string          // the text of what is attached in front
	ahead  int64           // its tokens
	back   *model.Message  // nil: no notices
	sent   int64           // the estimate of the request that was prepared last, as it is without correction
	share  int64           // what providers reported of such estimates, in 1/1,000; 0: nothing yet
}

// someMessages is what there is room for at first: those of a short run.
const someMessages = 6

// frozen is the sheet as it stands, which later changes do not reach.
func (s *sheet) frozen() sheet {
	f := *s
	f.all = f.all[:len(f.all):len(f.all)]
	return f
}

// history are the messages of the history.
func (s *sheet) history() []model.Message {
	if len(s.all) == 0 {
		return nil
	}
	return s.all[1:len(s.all):len(s.all)]
}

// request are the messages of a request.
func (s *sheet) request() []model.Message {
	messages := s.history()
	if s.front != "" {
		messages = s.all[:len(s.all):len(s.all)]
	}
	if s.back != nil {
		messages = append(messages, *s.back)
	}
	return messages
}

// add adds a message of the history.
func (s *sheet) add(m model.Message) {
	if len(s.all) == 0 {
		s.all = make([]model.Message, 1, someMessages)
	}
	s.all = append(s.all, m)
	s.tokens += messageTokens(&m)
}

// attach puts a text in front. "" is none.
func (s *sheet) attach(text string, m model.Message) {
	s.front, s.ahead = text, 0
	if text == "" {
		return
	}
	s.ahead = messageTokens(&m)
	s.all = append([]model.Message{m}, s.history()...)
}

// The bounds of the correction, in 1/1,000.
const (
	leastShare = 500
	mostShare  = 4000
)

// learn corrects the estimate by what a provider reported of the last request.
func (s *sheet) learn(u *kernel.Usage) {
	if u == nil || u.Input <= 0 || s.sent <= 0 || u.Input > s.sent*mostShare {
		return
	}
	s.share = min(max(u.Input*1000/s.sent, leastShare), mostShare)
}

// corrected is an estimate as it probably is, and uncorrected the other way
// round, rounded so that what is under the one is under the other.
func (s *sheet) corrected(tokens int64) int64 {
	if s.share == 0 {
		return tokens
	}
	return (tokens*s.share + 999) / 1000
}

func (s *sheet) uncorrected(tokens int64) int64 {
	if s.share == 0 {
		return tokens
	}
	return tokens * 1000 / s.share
}

// kept encodes a message once, when it enters the history. A model that cannot
// encode it gets no further request. One of a run that has stopped is not sent.
func (x *Execution) kept(m *kernel.Message, quoted []byte) {
	if x.State.Outcome == nil {
		x.sheet.add(x.encodedNow(m, quoted))
	}
}

// encoded is a message as the model takes it. wire is its form where it is
// encoded already.
func (x *Execution) encoded(m *kernel.Message, wire model.Encoded) model.Message {
	if wire.Before != nil {
		return model.Message{Message: m, Encoded: wire}
	}
	return x.encodedNow(m, nil)
}

func (x *Execution) encodedNow(m *kernel.Message, quoted []byte) model.Message {
	if x.encode == nil {
		return model.Message{Message: m}
	}
	wire, err := x.encodeMessage(m, quoted)
	if err != nil && x.fault == nil {
		x.fault = &kernel.Error{Code: kernel.CodeInternal, Message: "a message cannot be encoded for the model: " + describe(err)}
	}
	return model.Message{Message: m, Encoded: wire}
}

func (x *Execution) encodeMessage(m *kernel.Message, quoted []byte) (wire model.Encoded, err error) {
	defer x.contain("the model's encoder", &err)
	return x.encode.EncodeMessage(m, quoted)
}

// compacted takes over what stayed of the history and encodes what is new. It
// refers to nothing of what was removed.
func (x *Execution) compacted(_, after []kernel.Message, c *prompt.Compaction) {
	old := x.sheet.history()
	s := sheet{all: make([]model.Message, 1, len(after)+9), sent: x.sheet.sent, share: x.sheet.share, front: x.sheet.front, ahead: x.sheet.ahead, back: x.sheet.back}
	if len(x.sheet.all) > 0 {
		s.all[0] = x.sheet.all[0]
	}
	first := len(after) - c.Rest // what stands before the rest is new, but for the question
	for i := range after {
		from := len(old) - (len(after) - i)
		if i < first {
			from = len(old) - c.Question
		}
		isNew := i < first && (i == 0 || c.Question == 0) || i >= first && spilled(c, len(after)-i)
		var wire model.Encoded
		if !isNew && from >= 0 && from < len(old) {
			wire = old[from].Encoded
		}
		m := x.encoded(&after[i], wire)
		s.all = append(s.all, m)
		s.tokens += messageTokens(&m)
	}
	x.sheet = s
}

func spilled(c *prompt.Compaction, position int) bool {
	return slices.ContainsFunc(c.Spills, func(s prompt.Spill) bool { return s.Position == position })
}

// messageTokens is what a message counts for in the estimate.
func messageTokens(m *model.Message) int64 {
	if m.Encoded.Before != nil {
		return prompt.EstimateTokens(m.Encoded.Before, m.Encoded.Text, m.Encoded.After)
	}
	var n int64
	for i := range m.Blocks {
		b := &m.Blocks[i]
		n += prompt.EstimateTokens(b.Text) + 4
		if b.Call != nil {
			n += prompt.EstimateTokens(b.Call.Name) + prompt.EstimateTokens(b.Call.Arguments)
		}
		if b.Private != nil {
			n += prompt.EstimateTokens(b.Private.Data)
		}
	}
	return n
}
