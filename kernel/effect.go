package kernel

// effectRecord is what a run knows of the effect under one business key.
type effectRecord struct {
	Request     key128      `json:"request"` // tool and canonical arguments
	Call        string      `json:"call"`    // whose result is stored
	Disposition Disposition `json:"disposition"`
	IsError     bool        `json:"is_error,omitempty"`
	Observed    key128      `json:"observed"` // as the repeat watch saw it
}

// effectKey is what an effect is known by: a key means something to its own
// tool alone.
func effectKey(c *CallState) key128 { return digest128(c.Call.Name, c.Key) }

// run starts a call whose turn has come, or answers it from what the run knows
// of its key. It reports whether a RunTool went out.
//
// A tool's key stands for one effect in a run: the same request under the same key
// gets the stored result, another request is refused, and an effect in doubt
// is not tried again.
func (m *machine) run(c *CallState) bool {
	if c.Keyed && c.Attempt == 0 && !m.claim(c) {
		return false
	}
	c.Stage = StageStarting
	c.Cmd = m.number()
	c.Attempt++
	m.emit(RunTool{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call, Attempt: c.Attempt, Effect: c.Effect, Key: c.Key})
	return true
}

// claim takes the key of a call, or answers the call.
func (m *machine) claim(c *CallState) bool {
	if c.Key == "" {
		answer(c, LinkPolicy, "Not run: the tool's idempotency key for this call is empty.")
		return false
	}
	r, known := m.Effects.get(effectKey(c))
	switch {
	case known && r.Request != c.Action:
		answer(c, LinkPolicy, "Not run: this idempotency key belongs to a different request.")
		return false
	case known && r.Disposition == InDoubt:
		answer(c, LinkPolicy, "Not run: an earlier call with the same idempotency key may have taken effect; its outcome is not known.")
		return false
	case known && r.Disposition == Landed:
		c.Stage = StageAnswered
		c.Stored = r.Call
		return false
	}
	return true
}

// recordEffect keeps what became of a keyed call.
func (m *machine) recordEffect(c *CallState, r *ResultFacts) {
	if c.Keyed {
		m.Effects = m.Effects.put(effectKey(c), effectRecord{
			Request:     c.Action,
			Call:        c.Call.ID,
			Disposition: r.Disposition,
			IsError:     r.Status != StatusOK,
			Observed:    observation(c, r.Digest),
		})
	}
}

// onCallStarted refuses a start after the deadline, so that the tool does not
// run: the deadline's own timer is about to end the run.
func (m *machine) onCallStarted(e CallStarted) error {
	i, err := m.findNamed(StageStarting, e, e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if m.Now >= m.Deadline {
		return m.stale(e, e.Cmd)
	}
	m.call(i).Stage = StageRunning
	return nil
}

// retryTool waits to try a call again, where attempts are left and a repeat
// does no harm: the tool proved that nothing happened, or its class says so. A
// business key alone does not: an effect of the class once that may have
// happened is never repeated.
func (m *machine) retryTool(c *CallState, e *CallReturned) bool {
	harmless := c.Effect == Read || c.Effect == Idempotent || e.Result.Disposition == DidNotHappen
	if e.Result.Status != StatusRetryable || c.Attempt >= c.Attempts || !harmless {
		return false
	}
	delay := backoff(c.Attempt-1, e.Jitter)
	if m.Now.Add(delay) >= m.Deadline {
		return false
	}
	if c.Tried == "" || c.Tried == DidNotHappen {
		c.Tried = e.Result.Disposition
	}
	c.Stage = StageRetrying
	c.Cmd = m.number()
	m.emit(SetTimer{Cmd: c.Cmd, Timer: TimerTool, At: m.Now.Add(delay), After: delay})
	return true
}
