package engine

import "github.com/holdfast-run/holdfast/kernel"

// Mark is a place in a run to go back to, when what was applied since could not
// be journaled.
type Mark struct {
	state    kernel.State
	seq      int64
	history  historyMark
	results  int
	answer   string
	answered int64
	sheet    sheet
	fault    *kernel.Error
	snap     *snapshot
	narrow   []narrowing
}

// Mark returns the present place.
func (x *Execution) Mark() Mark {
	return Mark{
		state: x.State, seq: x.Seq, history: x.history(), results: len(x.Results),
		answer: x.Answer, answered: x.answered, sheet: x.sheet.frozen(), fault: x.fault,
		snap: x.snap, narrow: x.narrow,
	}
}

// Reset takes the run back to m, which is of this run and not later.
func (x *Execution) Reset(m *Mark) {
	x.State, x.Seq, x.Answer, x.answered = m.state, m.seq, m.answer, m.answered
	x.restore(m.history)
	x.Results = x.Results[:m.results:m.results]
	x.sheet, x.fault = m.sheet, m.fault
	x.snap, x.narrow = m.snap, m.narrow
}
