package kernel

import (
	"fmt"
	"unicode/utf8"
)

// Step takes a run from one state to the next: see the package's doc for what
// it promises. Its errors are *Error with code RUN_STOPPED, DUPLICATE_REPORT,
// UNEXPECTED_EVENT, INVALID_EVENT or CONFIGURATION (a bad Spec); the state it
// then returns is s itself.
func Step(s State, e Event) (State, []Command, error) {
	next := s
	commands, err := Advance(&next, nil, e)
	if err != nil {
		return s, nil, err
	}
	return next, commands, nil
}

// Advance is Step in place, for a driver that steps often. It appends the
// commands to those before, whose room may have held earlier ones. With an error
// s is of no use any more, and before is returned as it is: a driver that goes on
// after errors keeps a copy of s, which stays good.
func Advance(s *State, before []Command, e Event) (commands []Command, err error) {
	commands = before
	m := machine{State: s, out: &commands}
	if err := m.step(e); err != nil {
		return before, err
	}
	return commands, nil
}

// machine is a step in progress: the state that is becoming, and the commands
// it causes.
type machine struct {
	*State
	out      *[]Command
	ownBatch bool // Batch was copied in this step
}

func (m *machine) step(e Event) error {
	if e == nil {
		return invalid("no event")
	}
	if m.Phase == PhaseStopped {
		return &Error{Code: CodeRunStopped, Message: "the run has stopped; nothing follows"}
	}
	if _, starts := e.(RunStarted); starts != (m.Phase == PhaseNew) {
		return unexpected(e.Kind(), m.Phase)
	}
	m.Now = max(m.Now, e.When())
	m.skipPause()
	if err := m.take(e); err != nil {
		return err
	}
	m.pause()
	return nil
}

func (m *machine) take(e Event) error {
	switch e := e.(type) {
	case RunStarted:
		return m.onRunStarted(e)
	case ContextPrepared, ContextFailed, ContextOver, Summarized:
		return m.onPreparation(e)
	case ModelReplied:
		return m.onModelReplied(e)
	case ModelFailed:
		return m.onModelFailed(e)
	case CallDecided:
		return m.onCallDecided(e)
	case ApprovalDecided:
		return m.onApprovalDecided(e)
	case CallStarted:
		return m.onCallStarted(e)
	case ClaimRefused:
		return m.onClaimRefused(e)
	case CallReturned:
		return m.onCallReturned(e)
	case Observed:
		return m.onObserved(e)
	case Noticed:
		return m.onNoticed(e)
	case Reconciled:
		return m.onReconciled(e)
	case EffectResolved:
		return m.onEffectResolved(e)
	case UserSaid:
		m.Said++
		return nil
	case Resumed:
		return m.onResumed()
	case Verified:
		return m.onVerified(e)
	case TimerFired:
		return m.onTimerFired(e)
	case Cancelled:
		return m.onCancelled(e)
	case HostFailed:
		return m.onHostFailed(e)
	}
	return invalid(fmt.Sprintf("%T is no event", e))
}

func (m *machine) onRunStarted(e RunStarted) error {
	if err := e.Spec.Validate(); err != nil {
		return err
	}
	m.Spec = e.Spec
	m.Started = e.At
	m.Now = e.At
	m.Deadline = e.At.Add(e.Spec.Limits.Deadline)
	m.LastGood = LinkHarness
	m.emit(Commit{What: CommitQuestion})
	m.DeadlineTimer = m.number()
	m.emit(SetTimer{Cmd: m.DeadlineTimer, Timer: TimerDeadline, At: m.Deadline, After: e.Spec.Limits.Deadline})
	m.prepare()
	return nil
}

func (m *machine) onTimerFired(e TimerFired) error {
	switch {
	case e.Cmd == m.DeadlineTimer && e.Cmd != 0:
		m.onDeadline()
		return nil
	case m.Phase == PhaseBackingOff && e.Cmd == m.Awaiting:
		m.Awaiting = 0
		m.send()
		return nil
	}
	if i := m.expiring(e.Cmd); i >= 0 {
		m.expire(m.call(i))
		m.advance()
		return nil
	}
	i, err := m.find(StageRetrying, e.Kind(), e.Cmd)
	if err != nil {
		return err
	}
	c := m.call(i)
	c.Stage = StageReady
	c.Cmd = 0
	m.advance()
	return nil
}

// number takes the next command number.
func (m *machine) number() Seq {
	m.LastCmd++
	return m.LastCmd
}

func (m *machine) emit(c Command) {
	if *m.out == nil {
		*m.out = make([]Command, 0, 4) // most steps need no more
	}
	*m.out = append(*m.out, c)
}

// call returns a call of the batch for writing.
func (m *machine) call(i int) *CallState {
	if !m.ownBatch {
		m.Batch = append([]CallState(nil), m.Batch...)
		m.ownBatch = true
	}
	return &m.Batch[i]
}

// stale refuses a report that nothing waits for.
func (m *machine) stale(kind EventKind, cmd Seq) error {
	if cmd >= 1 && cmd <= m.LastCmd {
		return &Error{Code: CodeDuplicateReport, Message: fmt.Sprintf("%s: command %d was already reported, or is no longer wanted", kind, cmd)}
	}
	return unexpected(kind, m.Phase)
}

func unexpected(kind EventKind, p Phase) error {
	if p == PhaseNew {
		p = "new"
	}
	return &Error{Code: CodeUnexpectedEvent, Message: fmt.Sprintf("%s is not allowed in phase %s", kind, p)}
}

// validText refuses texts that decide something and are no UTF-8: the codec
// cannot keep them. Texts that are only shown are repaired instead.
func validText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return invalid("a text that is not valid UTF-8")
		}
	}
	return nil
}

func invalid(what string) error { return &Error{Code: CodeInvalidEvent, Message: what} }
