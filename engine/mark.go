package engine

import (
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

// Mark is a place in a run to go back to, when what was applied since could not
// be journaled.
type Mark struct {
	state    kernel.State
	seq      int64
	history  int
	results  int
	said     []string
	answer   string
	answered int64
	messages int
	tokens   int64
	fault    *kernel.Error
}

// Mark returns the present place.
func (x *Execution) Mark() Mark {
	return Mark{
		state: x.State, seq: x.Seq, history: len(x.History.Messages()), results: len(x.Results),
		said: x.said, answer: x.Answer, answered: x.answered,
		messages: len(x.messages), tokens: x.tokens, fault: x.fault,
	}
}

// Reset takes the run back to m, which is of this run and not later.
func (x *Execution) Reset(m Mark) {
	x.State, x.Seq, x.said, x.Answer, x.answered = m.state, m.seq, m.said, m.answer, m.answered
	x.History = prompt.NewHistory(x.History.Messages()[:m.history])
	x.Results = x.Results[:m.results:m.results]
	x.messages, x.tokens, x.fault = x.messages[:m.messages:m.messages], m.tokens, m.fault
}
