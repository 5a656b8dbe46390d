package kernel

import "fmt"

// end decides the run's stop. What is out is aborted; the run stops when
// everything that may still have an effect has reported, every call is
// answered and, where there is a verifier, its verdict is in.
func (m *machine) end(stop Stop, detail string) {
	m.Ending = Ending{Stop: stop, Detail: detail}
	m.abort()
	m.drain()
}

// abort ends what is out early. A model request and a started tool still
// report; the rest is forgotten.
func (m *machine) abort() {
	if m.Awaiting != 0 {
		m.emit(Abort{Cmd: m.Awaiting})
		if m.Phase != PhaseRequesting && m.Phase != PhaseSummarizing {
			m.Awaiting = 0
		}
	}
	m.unobserve()
	for i := m.Cursor; i < len(m.Batch); i++ {
		c := &m.Batch[i]
		if c.Cmd == 0 {
			continue
		}
		if c.Stage == StageAsking {
			m.withdraw(m.call(i))
			continue
		}
		m.emit(Abort{Cmd: c.Cmd})
		if !c.begun() {
			m.call(i).Cmd = 0
		}
	}
	m.Phase = PhaseDraining
}

// drain stops the run unless a report is still owed.
func (m *machine) drain() {
	m.Phase = PhaseDraining
	if m.Awaiting != 0 || m.Cursor < len(m.Batch) && m.Batch[m.Cursor].begun() {
		return
	}
	m.skipRest(m.Ending.Stop)
	if m.Spec.Verify != VerifyNever && !m.Judged && !m.Hurry && m.Ending.Stop != StopCancelled {
		m.verify(false)
		return
	}
	m.finish(m.Ending.Stop, m.Ending.Detail)
}

// skipRest answers the calls that will not run any more.
func (m *machine) skipRest(stop Stop) {
	for m.Cursor < len(m.Batch) {
		c := m.call(m.Cursor)
		m.skip(c, stop)
		m.commitSkipped(c)
	}
}

// skip gives a call up.
func (m *machine) skip(c *CallState, stop Stop) {
	switch {
	case c.Stage == StageAsking && c.Cmd != 0:
		m.withdraw(c)
	case c.begun():
		m.settle(c, c.cutShort(), nil)
	case c.Cmd != 0:
		m.emit(Abort{Cmd: c.Cmd})
	}
	m.lapse(c)
	c.Cmd = 0
	if c.Stage != StageAnswered {
		answer(c, "", unfinished(c, stop))
	}
}

func (m *machine) commitSkipped(c *CallState) {
	m.emit(Commit{What: CommitResult, Call: c.Call.ID, Text: c.Text, IsError: true, Code: c.Code})
	m.Cursor++
}

// unfinished says what is known of a call that the run's stop cut short. It
// claims that nothing happened only where nothing was begun, or a tool said so.
func unfinished(c *CallState, stop Stop) string {
	switch {
	case c.Stage == StageUnresolved:
		return interrupted(c)
	case c.begun() && c.Effect == Read:
		return "Interrupted: the host failed while this call ran; it reads only, and has changed nothing."
	case c.begun():
		return "Interrupted: the host failed while this call ran; it may have taken effect."
	case c.Tried == "":
		return "Not run: the run stopped before this call (" + string(stop) + ")."
	}
	return c.soFar() + "; the run stopped before the next attempt (" + string(stop) + ")."
}

// onDeadline believes the timer rather than a clock that stepped back: from now
// on it is at least the deadline.
func (m *machine) onDeadline() {
	m.DeadlineTimer = 0
	m.Now = max(m.Now, m.Deadline)
	switch m.Phase {
	case PhaseVerifying, PhaseDraining: // the answer, or the stop, came in time
	default:
		if m.Observing != 0 && (m.Fatal != "" || m.Cursor == len(m.Batch)) {
			m.passOver()
			return
		}
		m.end(StopDeadline, m.underWay())
	}
}

// passOver goes on without the observers where all else of the turn is done:
// what the turn came to is judged as ever.
func (m *machine) passOver() {
	m.unobserve()
	m.skipRest(StopFatal)
	m.afterBatch()
}

// underWay says what a run is doing, for the one who asks why it was not done.
func (m *machine) underWay() string {
	switch m.Phase {
	case PhasePreparing:
		return "while a request was prepared"
	case PhaseSummarizing:
		return "while the model was asked for a summary"
	case PhaseRequesting:
		return fmt.Sprintf("while the model was asked, turn %d", m.Turn)
	case PhaseBackingOff:
		return fmt.Sprintf("while waiting to ask the model again, turn %d", m.Turn)
	}
	if m.Observing != 0 {
		return "while call " + show(m.Batch[m.Cursor-1].Call.ID, 80) + " was observed"
	}
	if m.Cursor == len(m.Batch) {
		return ""
	}
	c := &m.Batch[m.Cursor]
	id := show(c.Call.ID, 80)
	switch c.Stage {
	case StageDeciding:
		return "while policy was asked about call " + id
	case StageAsking:
		return "while a person was asked about call " + id
	case StageRetrying:
		return "while waiting to try call " + id + " again"
	case StageReconciling:
		return "while it was found out what became of call " + id
	}
	return "while call " + id + " ran"
}

func (m *machine) onCancelled(e Cancelled) error {
	detail := Clip(e.Reason, 500)
	switch m.Phase {
	case PhaseDraining: // the run is already ending; its stop stays
		m.Hurry = true
		return nil
	case PhaseVerifying:
		m.emit(Abort{Cmd: m.Awaiting})
		stop := m.Ending
		if stop.Stop == "" {
			stop = Ending{StopCancelled, detail}
		}
		m.finish(stop.Stop, stop.Detail)
		return nil
	}
	m.end(StopCancelled, detail)
	return nil
}

// onHostFailed stops at once: a host that cannot go on can wait for nothing.
func (m *machine) onHostFailed(e HostFailed) error {
	m.Ending = Ending{StopHostError, Clip(string(e.Code)+colon(e.Detail), 500)}
	m.blame("", LinkHarness)
	if m.awaitsReport(m.Awaiting) || m.Summarizing {
		m.Budget.hold(m.Awaiting)
		m.Summarizing = false
	}
	if m.Phase != PhaseDraining { // then everything was told to end before
		m.abort()
	}
	m.skipRest(StopHostError)
	m.finish(m.Ending.Stop, m.Ending.Detail)
	return nil
}
