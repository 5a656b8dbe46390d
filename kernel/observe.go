package kernel

import "fmt"

// observe shows a call that was answered just now to the observers. While they
// look, nothing else of the turn begins; a run that is ending has no time for
// them.
func (m *machine) observe() {
	if m.Spec.Observe && m.Phase == PhaseActing {
		m.Observing = m.number()
		m.putObservation()
	}
}

// putObservation puts the observation, again after a take-over.
func (m *machine) putObservation() {
	m.emit(Observe{Cmd: m.Observing, Turn: m.Turn, Call: m.Batch[m.Cursor-1].Call})
}

func (m *machine) onObserved(e Observed) error {
	if m.Observing == 0 || e.Cmd != m.Observing {
		return m.stale(e.Kind(), e.Cmd)
	}
	if id := m.Batch[m.Cursor-1].Call.ID; e.Call != id {
		return invalid(fmt.Sprintf("%s: command %d is not for call %s", e.Kind(), e.Cmd, show(e.Call, 80)))
	}
	m.Observing = 0
	m.warn(e.Warnings...)
	m.advance()
	return nil
}

// unobserve tells the observers that nobody waits for them any more.
func (m *machine) unobserve() {
	if m.Observing != 0 {
		m.emit(Abort{Cmd: m.Observing})
		m.Observing = 0
	}
}
