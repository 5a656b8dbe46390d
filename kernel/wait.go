package kernel

import "time"

// WaitFor says what a run waits for.
type WaitFor string

// What a run can wait for; what it does by itself is no waiting.
const (
	WaitApproval   WaitFor = "approval"
	WaitResolution WaitFor = "resolution"
)

// Wait is what a run waits for: the first of it, in the order of its calls.
type Wait struct {
	For    WaitFor
	Call   string
	Cmd    Seq    // the AskHuman or the AwaitResolution
	Effect string // resolution: the one in the ledger
	// Until is when the run goes on all the same; 0: never.
	Until Time
}

// Waiting reports that a run waits for people, and for nothing else: nobody
// needs to drive it until they have decided or Until has come.
func (s *State) Waiting() (Wait, bool) {
	if s.Phase != PhaseActing || s.Observing != 0 || s.Cursor >= len(s.Batch) {
		return Wait{}, false
	}
	first := &s.Batch[s.Cursor]
	w := Wait{Call: first.Call.ID, Cmd: first.Cmd}
	switch first.Stage {
	case StageAsking:
		w.For = WaitApproval
	case StageUnresolved:
		w.For, w.Effect = WaitResolution, first.Ledger
	default:
		return Wait{}, false
	}
	for i := s.Cursor; i < len(s.Batch); i++ {
		switch c := &s.Batch[i]; {
		case c.Stage == StageDeciding:
			return Wait{}, false
		case c.Stage == StageAsking && c.Timer != 0 && (w.Until == 0 || c.Expires < w.Until):
			w.Until = c.Expires
		}
	}
	return w, true
}

// skipPause moves the deadline on by the time that the run has waited for
// people: that time is theirs.
func (m *machine) skipPause() {
	if m.Paused {
		m.Deadline = m.Deadline.Add(m.Now.Since(m.PausedAt))
		m.PausedAt = m.Now
	}
}

// pause lets the run's time stand still while it waits for people alone, and
// go on when it does not.
func (m *machine) pause() {
	_, waits := m.Waiting()
	switch {
	case waits && !m.Paused:
		m.Paused, m.PausedAt = true, m.Now
		if m.DeadlineTimer != 0 {
			m.emit(Abort{Cmd: m.DeadlineTimer})
			m.DeadlineTimer = 0
		}
	case !waits && m.Paused:
		m.Paused, m.PausedAt = false, 0
		if m.Phase != PhaseStopped && m.Ending.Stop == "" {
			m.DeadlineTimer = m.number()
			m.setDeadline()
		}
	}
}

func (m *machine) setDeadline() {
	m.emit(SetTimer{Cmd: m.DeadlineTimer, Timer: TimerDeadline, At: m.Deadline, After: m.until(m.Deadline)})
}

// until is the time that is left until t; none when t has passed.
func (m *machine) until(t Time) time.Duration { return max(0, t.Since(m.Now)) }
