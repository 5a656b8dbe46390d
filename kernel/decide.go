package kernel

import "fmt"

// act takes the calls of an admitted reply.
func (m *machine) act(v ruling) {
	m.IDs = v.ids
	m.Batch = v.batch
	m.ownBatch = true
	m.Cursor = 0
	m.blame(LinkAdmission, "")
	m.commitReply()
	if len(v.batch) > m.Spec.Limits.Calls-m.Calls {
		m.end(StopToolLimit, fmt.Sprintf("%d calls used, %d more asked for, limit %d; none of them ran", m.Calls, len(v.batch), m.Spec.Limits.Calls))
		return
	}
	m.Calls += len(v.batch)
	m.Phase = PhaseActing
	for i := range m.Batch {
		if c := m.call(i); c.Stage == StageDeciding {
			c.Cmd = m.number()
			m.emit(DecideCall{Cmd: c.Cmd, Turn: m.Turn, Call: c.Call})
		}
	}
	m.advance()
}

func (m *machine) commitReply() {
	var calls []Call
	if len(m.Batch) > 0 {
		calls = make([]Call, len(m.Batch))
	}
	for i := range m.Batch {
		calls[i] = m.Batch[i].Call
	}
	m.Judged = false
	m.emit(Commit{What: CommitReply, Calls: calls})
}

// find returns the call that cmd is out for, at that stage.
func (m *machine) find(stage Stage, e Event, cmd Seq) (int, error) {
	for i := m.Cursor; i < len(m.Batch) && cmd != 0; i++ {
		if c := &m.Batch[i]; c.Stage == stage && c.Cmd == cmd {
			return i, nil
		}
	}
	return 0, m.stale(e, cmd)
}

// findNamed is find for a report that also names the call. The wrong name is
// no duplicate, which a driver drops in silence: the call would wait for ever.
func (m *machine) findNamed(stage Stage, e Event, cmd Seq, id string) (int, error) {
	i, err := m.find(stage, e, cmd)
	if err == nil && m.Batch[i].Call.ID != id {
		err = invalid(fmt.Sprintf("%s: command %d is not for call %s", e.Kind(), cmd, show(id, 80)))
	}
	return i, err
}

func (m *machine) onCallDecided(e CallDecided) error {
	i, err := m.findNamed(StageDeciding, e, e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.validate(); err != nil {
		return err
	}
	c := m.call(i)
	c.Cmd = 0
	switch e.Answer {
	case Allow, Ask:
		c.Effect, c.Attempts, c.Keyed, c.Key = e.Effect, e.Attempts, e.Keyed, e.Key
		if c.Effect == "" {
			c.Effect = Once
		}
		m.permit(c, e)
	case Deny:
		answer(c, LinkPolicy, "Not run: denied by policy"+because(e.Reason))
	case Invalid:
		answer(c, LinkAdmission, "Not run"+because(e.Reason))
	}
	m.advance()
	return nil
}

func (e *CallDecided) validate() error {
	switch e.Answer {
	case Deny, Invalid:
		return nil
	case Allow, Ask:
	default:
		return invalid(fmt.Sprintf("answer %.40q", e.Answer))
	}
	switch e.Effect {
	case "", Read, Idempotent, Reconcilable, Once:
	default:
		return invalid(fmt.Sprintf("effect class %.40q", e.Effect))
	}
	if e.Attempts < 1 {
		return invalid("the attempts of a tool must be positive")
	}
	return validText(e.Key)
}

// permit lets a call go on to its approval, or to its run.
func (m *machine) permit(c *CallState, e CallDecided) {
	last := m.Turn >= m.Spec.Limits.Turns && m.Spec.Limits.LastTurn == LastTurnReads
	switch {
	case last && c.Effect != Read:
		answer(c, LinkPolicy, "Not run: this was the last turn, and no request is left in which its effect could be seen.")
	case e.Answer == Ask:
		c.Stage = StageAsking
		c.Cmd = m.number()
		m.emit(AskHuman{Cmd: c.Cmd, Call: c.Call, Reason: Clip(e.Reason, 2000), Digest: CallDigest(c.Call)})
	default:
		c.Stage = StageReady
	}
}

func (m *machine) onApprovalDecided(e ApprovalDecided) error {
	i, err := m.findNamed(StageAsking, e, e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if e.Digest != CallDigest(m.Batch[i].Call) {
		return invalid("the approval is for other content")
	}
	c := m.call(i)
	c.Cmd = 0
	c.Stage = StageReady
	if !e.Approved {
		answer(c, LinkPolicy, "Not run: not approved"+because(e.Reason))
	}
	m.advance()
	return nil
}

// because appends a reason as a clause that ends the sentence.
func because(reason string) string {
	if reason == "" {
		return "."
	}
	return ": " + Clip(reason, 2000)
}

// advance answers and runs the calls of the batch, strictly in order, as far
// as it can.
func (m *machine) advance() {
	for m.Cursor < len(m.Batch) {
		switch c := &m.Batch[m.Cursor]; c.Stage {
		case StageAnswered:
			m.commitAnswer(c)
		case StageReady:
			if m.Now >= m.Deadline {
				m.end(StopDeadline, "the deadline passed before call "+c.Call.ID)
				return
			}
			if m.run(m.call(m.Cursor)) {
				return
			}
		default:
			return
		}
	}
	m.afterBatch()
}

// commitAnswer answers a call that did not run itself.
func (m *machine) commitAnswer(c *CallState) {
	commit := Commit{What: CommitResult, Call: c.Call.ID, Text: c.Text, IsError: true}
	observed := observation(c, c.Text)
	if c.Stored != "" {
		r, _ := m.Effects.get(effectKey(c))
		commit.Stored, commit.IsError = c.Stored, r.IsError
		observed = r.Observed
	}
	m.emit(commit)
	m.Repeat = m.Repeat.note(observed)
	if c.Bad != "" {
		good := LinkModel
		if c.Bad == LinkPolicy {
			good = LinkAdmission
		}
		m.blame(good, c.Bad)
	}
	m.Cursor++
}

func (m *machine) onCallReturned(e CallReturned) error {
	i, err := m.findNamed(StageRunning, e, e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.Result.validate(); err != nil {
		return err
	}
	m.Observations++
	m.warn(e.Warnings...)
	c := m.call(i)
	if m.Phase == PhaseActing && m.retryTool(c, &e) {
		return nil
	}
	m.recordEffect(c, &e.Result)
	m.commitResult(c, &e.Result)
	switch {
	case m.Phase == PhaseDraining:
		m.drain()
	case e.Result.Status == StatusFatal:
		m.Fatal = e.Call
		m.skipRest(StopFatal)
		m.afterBatch()
	default:
		m.advance()
	}
	return nil
}

func (r *ResultFacts) validate() error {
	switch r.Status {
	case StatusOK, StatusError, StatusRetryable, StatusFatal:
	default:
		return invalid(fmt.Sprintf("result status %.40q", r.Status))
	}
	switch r.Disposition {
	case Landed, DidNotHappen, InDoubt:
	default:
		return invalid(fmt.Sprintf("disposition %.40q", r.Disposition))
	}
	return validText(r.Digest)
}

// commitResult answers a call with what came of its run.
func (m *machine) commitResult(c *CallState, r *ResultFacts) {
	c.Stage = StageAnswered
	c.Cmd = 0
	m.emit(Commit{What: CommitResult, Call: c.Call.ID, IsError: r.Status != StatusOK})
	if r.Disposition == InDoubt {
		m.warn("call " + show(c.Call.ID, 80) + " may have taken effect; its outcome is not known")
	}
	m.Repeat = m.Repeat.note(observation(c, r.Digest))
	if r.Status == StatusOK {
		if m.FirstBad == "" {
			m.LastGood = LinkTool
		}
	} else {
		m.blame(LinkPolicy, LinkTool)
	}
	m.Cursor++
}

// afterBatch goes on when every call of the turn is answered.
func (m *machine) afterBatch() {
	m.CallGood, m.CallBad = m.LastGood, m.FirstBad
	if m.Spec.Verify == VerifyEachTurn {
		m.verify(false)
		return
	}
	m.next()
}

// next judges how the run stands, and asks for the next request or ends.
func (m *machine) next() {
	switch stop := m.standing().judge(); stop {
	case "":
		m.Batch = nil
		m.Cursor = 0
		m.ownBatch = false
		m.prepare()
	case StopFatal:
		m.end(stop, "call "+show(m.Fatal, 80))
	case StopDeadline:
		m.end(stop, "between two turns")
	case StopTokenLimit, StopCostLimit:
		m.end(stop, "used up by the replies so far")
	case StopRepeated:
		m.end(stop, fmt.Sprintf("the same action with the same result, %d times", m.Repeat.most()))
	default:
		m.end(stop, "")
	}
}
