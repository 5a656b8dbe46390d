package kernel

// ask asks people about a call.
func (m *machine) ask(c *CallState) {
	c.Stage = StageAsking
	c.Cmd = m.number()
	c.Asked = c.Cmd
	c.Expires, c.Timer = 0, 0
	if c.Asking != nil && c.Asking.Expires > 0 {
		c.Expires = m.Now.Add(c.Asking.Expires)
		c.Timer = m.number()
	}
	m.putQuestion(c)
}

// putQuestion puts the question, again after a take-over.
func (m *machine) putQuestion(c *CallState) {
	q := AskHuman{Cmd: c.Cmd, Call: c.Call, Effect: c.Effect, Reason: c.Reason, Digest: CallDigest(c.Call), Expires: c.Expires, Escalated: c.Escalated}
	if c.Asking != nil {
		q.Approvers = c.Asking.Approvers
	}
	m.emit(q)
	if c.Timer != 0 {
		m.emit(SetTimer{Cmd: c.Timer, Timer: TimerApproval, At: c.Expires, After: m.until(c.Expires)})
	}
}

func (m *machine) onApprovalDecided(e ApprovalDecided) error {
	i, err := m.findNamed(StageAsking, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if e.Digest != CallDigest(m.Batch[i].Call) {
		return invalid("the approval is for other content")
	}
	c := m.call(i)
	m.stopTimer(c)
	c.Cmd = 0
	if e.Approved {
		c.Approved, c.GrantedAt = true, m.Now
		if e.Given != 0 {
			c.GrantedAt = min(e.Given, m.Now)
		}
		m.decideAgain(c)
	} else {
		m.refuse(c, LinkPolicy, "not approved"+because(e.Reason))
	}
	m.advance()
	return nil
}

// granted reports that a person's yes stands, and may be used.
func (m *machine) granted(c *CallState) bool {
	return c.Approved && (c.Asking == nil || c.Asking.Grant == 0 || m.Now < c.GrantedAt.Add(c.Asking.Grant))
}

// expiring finds the call whose question ends with that timer, or -1.
func (m *machine) expiring(timer Seq) int {
	for i := m.Cursor; i < len(m.Batch) && timer != 0; i++ {
		if c := &m.Batch[i]; c.Stage == StageAsking && c.Timer == timer {
			return i
		}
	}
	return -1
}

// expire ends a question that nobody decided in time.
func (m *machine) expire(c *CallState) {
	m.emit(Abort{Cmd: c.Cmd})
	m.emit(CloseApproval{Cmd: c.Cmd, As: CloseExpired})
	c.Cmd, c.Timer = 0, 0
	if c.Asking.OnExpiry == ExpiryEscalate && !c.Escalated {
		c.Escalated = true
		m.ask(c)
		return
	}
	m.refuse(c, LinkPolicy, "nobody decided about this call in time.")
}

// withdraw takes a question back.
func (m *machine) withdraw(c *CallState) {
	m.emit(Abort{Cmd: c.Cmd})
	m.emit(CloseApproval{Cmd: c.Cmd, As: CloseWithdrawn})
	m.stopTimer(c)
	c.Cmd = 0
}

// lapse gives up a yes that was not used.
func (m *machine) lapse(c *CallState) {
	if c.Approved {
		c.Approved = false
		m.emit(CloseApproval{Cmd: c.Asked, As: CloseLapsed})
	}
}

func (m *machine) stopTimer(c *CallState) {
	if c.Timer != 0 {
		m.emit(Abort{Cmd: c.Timer})
		c.Timer = 0
	}
}
