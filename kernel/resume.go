package kernel

import "fmt"

// maxInterrupted bounds how often a call is run again after its run was lost:
// it may be what ends the process.
const maxInterrupted = 3

// onResumed goes on with what is outstanding. What had begun elsewhere is lost:
// a request may be sent again within its attempts, and a call goes by its
// effect class. What had not begun begins as it would have.
func (m *machine) onResumed() error {
	m.Resumes++
	if m.DeadlineTimer != 0 {
		m.setDeadline()
	}
	switch m.Phase {
	case PhasePreparing:
		m.putPreparation()
	case PhaseSummarizing:
		m.summarized(&Summarized{Failure: &Failure{Kind: FailLost}})
	case PhaseRequesting:
		m.failed(&Failure{Kind: FailLost})
	case PhaseBackingOff:
		m.emit(SetTimer{Cmd: m.Awaiting, Timer: TimerRetry, At: m.Due, After: m.until(m.Due)})
	case PhaseVerifying:
		m.emit(Verify{Cmd: m.Awaiting, Final: m.Answering && m.Ending.Stop == ""})
	case PhaseActing:
		if m.Observing != 0 {
			m.putObservation()
		}
		m.resumeCalls()
		m.advance()
	case PhaseDraining:
		m.resumeCalls()
		if m.Awaiting != 0 {
			m.settleRequest(nil, &Failure{Kind: FailLost})
		}
		m.drain()
	}
	return nil
}

func (m *machine) resumeCalls() {
	for i := m.Cursor; i < len(m.Batch); i++ {
		if m.Phase == PhaseDraining && !m.Batch[i].begun() {
			continue // given up when the run was told to end
		}
		switch c := m.call(i); c.Stage {
		case StageDeciding:
			m.emit(DecideCall{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call})
		case StageAsking:
			m.putQuestion(c)
		case StageStarting: // nothing had begun
			c.Attempt--
			c.Stage, c.Cmd = StageReady, 0
		case StageRunning:
			m.lost(c)
		case StageRetrying:
			m.emit(SetTimer{Cmd: c.Cmd, Timer: TimerTool, At: c.Due, After: m.until(c.Due)})
		case StageReconciling:
			m.reconcile(c)
		case StageUnresolved:
			m.emit(AwaitResolution{Cmd: c.Cmd, Call: c.Call, Effect: c.Ledger})
		case StageReady, StageAnswered: // as they are; a Ready one is decided on again
		}
	}
}

// lost decides what the loss of a call's run means, by its effect class.
func (m *machine) lost(c *CallState) {
	c.Interrupted++
	c.Cmd = 0
	m.settle(c, c.cutShort(), nil)
	c.tried(InDoubt)
	again := m.Phase == PhaseActing && c.Interrupted < maxInterrupted
	switch {
	case c.Effect == Reconcilable:
		c.Cmd = m.number()
		m.reconcile(c)
	case again && (c.Effect == Read || c.Effect == Idempotent):
		c.Stage = StageReady
	case c.Effect == Read:
		answer(c, LinkHarness, "Interrupted: the process ended while this call ran"+c.times()+"; it reads only, and has changed nothing.")
	default:
		m.unknown(c)
	}
}

// cutShort is what is known of a call that began and never returned.
func (c *CallState) cutShort() Disposition {
	if c.Effect == Read {
		return DidNotHappen
	}
	return InDoubt
}

// times is how often a call was interrupted, where that is more than once.
func (c *CallState) times() string {
	return pick(c.Interrupted > 1, fmt.Sprintf(", %d times", c.Interrupted), "")
}

func (m *machine) reconcile(c *CallState) {
	c.Stage = StageReconciling
	m.emit(Reconcile{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call, Key: c.Key, Effect: c.Ledger})
}

func (m *machine) onReconciled(e Reconciled) error {
	i, err := m.findNamed(StageReconciling, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.validate(); err != nil {
		return err
	}
	c := m.call(i)
	switch e.Found {
	case Present:
		m.settle(c, Landed, e.Result)
		m.commitResult(c, e.Result, "")
	case Absent:
		m.settle(c, DidNotHappen, nil)
		m.absent(c)
	case PresenceUnknown:
		m.unknown(c)
	}
	if m.Phase == PhaseDraining {
		m.drain()
	} else {
		m.advance()
	}
	return nil
}

func (e *Reconciled) validate() error {
	switch e.Found {
	case Present, Absent, PresenceUnknown:
	default:
		return invalid(fmt.Sprintf("a lookup that found %.40q", e.Found))
	}
	if (e.Found == Present) != (e.Result != nil) {
		return invalid("a lookup has a result where the effect is there, and only there")
	}
	return e.Result.validateFound()
}

// validateFound checks the result of an effect that is there; nil is none.
func (r *ResultFacts) validateFound() error {
	if r == nil {
		return nil
	}
	if r.Disposition != Landed {
		return invalid(fmt.Sprintf("the result of an effect that is there, and %.40q", r.Disposition))
	}
	return r.validate()
}

// absent takes a call whose interrupted effect is known not to be there.
func (m *machine) absent(c *CallState) {
	c.Cmd = 0
	c.Tried = DidNotHappen
	if c.Interrupted < maxInterrupted {
		c.Stage = StageReady
	} else {
		answer(c, LinkHarness, "Interrupted: the process ended while this call ran"+c.times()+"; it had no effect.")
	}
}

// unknown takes a call of which nobody can tell whether it took effect.
func (m *machine) unknown(c *CallState) {
	if m.Phase == PhaseActing && m.await(c) {
		return
	}
	c.Cmd = 0
	m.warn("call " + show(c.Call.ID, 80) + " was interrupted and may have taken effect; its outcome is not known" + named(c.Ledger))
	answer(c, LinkHarness, interrupted(c))
}

// interrupted is what the model is told: neither that the call was refused, nor
// that it failed.
func interrupted(c *CallState) string {
	return "Interrupted, may have taken effect: nobody can tell yet what became of this call" + named(c.Ledger) + ". It was not run again; do not ask for it again before that is known."
}

// await lets a call wait for a resolution, where the run is told to.
func (m *machine) await(c *CallState) bool {
	if m.Spec.Unknown != UnknownWait || c.Ledger == "" {
		return false
	}
	c.Stage = StageUnresolved
	c.Cmd = m.number()
	c.Tried = InDoubt
	m.emit(AwaitResolution{Cmd: c.Cmd, Call: c.Call, Effect: c.Ledger})
	return true
}

func (m *machine) onEffectResolved(e EffectResolved) error {
	if err := e.validate(); err != nil {
		return err
	}
	for i := m.Cursor; i < len(m.Batch); i++ {
		c := &m.Batch[i]
		if c.Stage != StageUnresolved || c.Ledger != e.Effect || c.Cmd == 0 {
			continue
		}
		if c.Call.ID != e.Call {
			return invalid("the effect is that of another call")
		}
		m.resolve(m.call(i), &e)
		m.advance()
		return nil
	}
	return nil // the fact stands; nothing waits for it
}

func (e *EffectResolved) validate() error {
	switch e.As {
	case FoundLanded, FoundNoEffect, FoundUnknown:
	default:
		return invalid(fmt.Sprintf("a finding of %.40q", e.As))
	}
	if e.Effect == "" {
		return invalid("a finding on no effect")
	}
	if e.Result != nil && e.As != FoundLanded {
		return invalid("a result of an effect that is not there")
	}
	if err := e.Result.validateFound(); err != nil {
		return err
	}
	return validText(e.Effect, e.Call)
}

// resolve answers a call that waited. It is never run again by that: whoever
// wants it asks for it anew.
func (m *machine) resolve(c *CallState, e *EffectResolved) {
	c.Cmd = 0
	note := because(e.Note)
	switch {
	case e.As == FoundLanded && e.Result != nil:
		m.commitResult(c, e.Result, "")
	case e.As == FoundLanded:
		answer(c, "", "It was looked into, and took effect; what it returned is not known"+note)
	case e.As == FoundNoEffect:
		answer(c, LinkHarness, "It was looked into, and had no effect"+note)
	default:
		m.warn("call " + show(c.Call.ID, 80) + " may have taken effect; its outcome could not be found out" + named(c.Ledger))
		answer(c, LinkHarness, "It was looked into, and it is still not known whether it took effect"+note)
	}
}
