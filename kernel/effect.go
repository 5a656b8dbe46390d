package kernel

// ready takes a call whose turn has come: it runs, or is decided on once more
// where the last decision does not count any more. It reports whether something
// went out for it.
func (m *machine) ready(c *CallState) bool {
	switch {
	case c.Decided != m.Resumes:
		m.decideAgain(c)
		return true
	case c.Keyed && c.Key == "":
		m.refuse(c, LinkPolicy, "the tool's idempotency key for this call is empty.")
		return false
	case c.Approved && !m.granted(c):
		m.decideAgain(c) // which asks again
		return true
	}
	m.run(c)
	return true
}

// decideAgain asks policy once more: what it said before a take-over, or before
// a person took time to decide, is old.
func (m *machine) decideAgain(c *CallState) {
	c.Stage = StageDeciding
	c.Cmd = m.number()
	m.emit(DecideCall{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call})
}

// run starts a call. The ledger has the last word: it gives the claim, or
// refuses it.
func (m *machine) run(c *CallState) {
	c.Stage = StageStarting
	c.Cmd = m.number()
	c.Attempt++
	r := RunTool{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call, Attempt: c.Attempt, Effect: c.Effect, Key: c.Key}
	if c.Approved {
		r.Approval = c.Asked
	}
	m.emit(r)
}

// onCallStarted refuses a start after the deadline, so that the tool does not
// run: the deadline's own timer is about to end the run.
func (m *machine) onCallStarted(e CallStarted) error {
	i, err := m.findNamed(StageStarting, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := validText(e.Effect); err != nil {
		return err
	}
	if m.Now >= m.Deadline {
		return m.stale(e.Kind(), e.Cmd)
	}
	c := m.call(i)
	c.Stage = StageRunning
	c.Ledger = e.Effect
	c.Approved = false // spent
	return nil
}

// onClaimRefused answers a call that the ledger does not let begin.
func (m *machine) onClaimRefused(e ClaimRefused) error {
	i, err := m.findNamed(StageStarting, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.validate(); err != nil {
		return err
	}
	c := m.call(i)
	c.Cmd = 0
	if e.Why == ClaimApproval {
		c.Approved = false // there is nothing to give up
	}
	m.lapse(c)
	if e.Why == ClaimStored {
		m.commitResult(c, e.Result, "")
	} else {
		m.refuse(c, LinkPolicy, e.Why.words()+named(e.Effect)+".")
	}
	m.advance()
	return nil
}

func (e *ClaimRefused) validate() error {
	if e.Why.words() == "" {
		return invalid("a claim refused for no known reason")
	}
	if (e.Why == ClaimStored) != (e.Result != nil) {
		return invalid("a refused claim has a result where that is stored, and only there")
	}
	if err := e.Result.validateFound(); err != nil {
		return err
	}
	return validText(e.Effect)
}

// words complete "Not run: … (effect ID).".
func (w ClaimWhy) words() string {
	switch w {
	case ClaimStored:
		return "it took effect before"
	case ClaimOther:
		return "this idempotency key belongs to a different request"
	case ClaimUnknown:
		return "the same request may have taken effect before, and its outcome is not known; it waits for someone to find out, and asking again does not help"
	case ClaimBusy:
		return "the same request is under way, or was cut short and is not yet looked into; asking again does not help"
	case ClaimWindow:
		return "the same request took effect a short while ago; it is not repeated so soon"
	case ClaimBlocked:
		return "the outcome of an earlier call of this tool is unknown, and has to be found out first"
	case ClaimApproval:
		return "its approval is not there to be used"
	}
	return ""
}

// named is the effect in brackets, where there is one.
func named(effect string) string {
	if effect == "" {
		return ""
	}
	return " (effect " + show(effect, 80) + ")"
}

// settle gives the ledger what became of a call's claim.
func (m *machine) settle(c *CallState, d Disposition, r *ResultFacts) {
	if c.Ledger == "" {
		return
	}
	s := Settle{Effect: c.Ledger, Call: c.Call.ID, Disposition: d}
	if r != nil {
		facts := *r // were r kept, each event with a result would be allocated, claim or not
		s.Result = &facts
	}
	m.emit(s)
}

// retryTool waits to try a call again, where attempts are left and a repeat
// does no harm: the tool proved that nothing happened, or its class says so. A
// business key alone does not: an effect of the class once that may have
// happened is never repeated. One that landed has happened, whatever its class.
func (m *machine) retryTool(c *CallState, e *CallReturned) bool {
	d := e.Result.Disposition
	harmless := c.Effect == Read || d == DidNotHappen || c.Effect == Idempotent && d == InDoubt
	if e.Result.Status != StatusRetryable || c.Attempt >= c.Attempts || !harmless {
		return false
	}
	delay := backoff(c.Attempt-1, e.Jitter)
	if m.Now.Add(delay) >= m.Deadline {
		return false
	}
	c.tried(d)
	c.Stage = StageRetrying
	c.Cmd = m.number()
	c.Due = m.Now.Add(delay)
	m.emit(SetTimer{Cmd: c.Cmd, Timer: TimerTool, At: c.Due, After: delay})
	return true
}

// tried keeps the gravest of what attempts left behind that brought no answer.
// An attempt to read leaves nothing behind.
func (c *CallState) tried(d Disposition) {
	switch {
	case c.Effect == Read:
		c.Tried = DidNotHappen
	case c.Tried != InDoubt:
		c.Tried = d
	}
}

// soFar begins the sentence about a call that brought no answer.
func (c *CallState) soFar() string {
	if c.Tried == "" {
		return "Not run"
	}
	return pick(c.Interrupted > 0, "Interrupted", "Failed") +
		pick(c.Tried == DidNotHappen, " without effect", ", and may have taken effect")
}
