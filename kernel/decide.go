package kernel

import (
	"fmt"
	"strings"
)

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
	m.acknowledge()
	m.emit(Commit{What: CommitReply, Calls: calls})
}

// find returns the call that cmd is out for, at that stage.
func (m *machine) find(stage Stage, kind EventKind, cmd Seq) (int, error) {
	for i := m.Cursor; i < len(m.Batch) && cmd != 0; i++ {
		if c := &m.Batch[i]; c.Stage == stage && c.Cmd == cmd {
			return i, nil
		}
	}
	return 0, m.stale(kind, cmd)
}

// findNamed is find for a report that also names the call. The wrong name is
// no duplicate, which a driver drops in silence: the call would wait for ever.
func (m *machine) findNamed(stage Stage, kind EventKind, cmd Seq, id string) (int, error) {
	i, err := m.find(stage, kind, cmd)
	if err == nil && m.Batch[i].Call.ID != id {
		err = invalid(fmt.Sprintf("%s: command %d is not for call %s", kind, cmd, show(id, 80)))
	}
	return i, err
}

func (m *machine) onCallDecided(e CallDecided) error {
	i, err := m.findNamed(StageDeciding, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.validate(); err != nil {
		return err
	}
	c := m.call(i)
	c.Cmd = 0
	c.Decided = m.Resumes
	switch e.Answer {
	case Allow, Ask:
		if m.record(c, &e) {
			m.permit(c, &e)
		}
	case Deny:
		m.refuse(c, LinkPolicy, "denied by policy"+because(e.Reason))
	case Invalid:
		c.Code = e.Code
		m.refuse(c, LinkAdmission, strings.TrimPrefix(because(e.Reason), ": "))
	}
	m.advance()
	return nil
}

// record keeps what the call's tool says of it. What was recorded once counts,
// but for a class that is graver by now: a call of which nothing can be there
// takes it, and gives up the yes that it got as less; one that has begun is not
// run again. It reports whether the call goes on.
func (m *machine) record(c *CallState, e *CallDecided) bool {
	class := e.Effect
	if class == "" {
		class = Once
	}
	switch {
	case c.Effect == "":
		c.Effect, c.Attempts, c.Keyed, c.Key = class, e.Attempts, e.Keyed, e.Key
	case class.gravity() <= c.Effect.gravity():
	case c.Tried == InDoubt || c.Tried != "" && c.Effect == Read:
		m.regraded(c, class)
		return false
	default:
		c.Effect = class
		m.lapse(c)
	}
	return true
}

// gravity orders the classes by what a repeat may do.
func (e EffectClass) gravity() int {
	switch e {
	case Read:
		return 0
	case Idempotent:
		return 1
	case Reconcilable:
		return 2
	case Once:
	}
	return 3
}

// regraded answers a call that began as less than its tool counts as now. What it
// may have done is not known: also as a read, which by now it may not have been.
func (m *machine) regraded(c *CallState, class EffectClass) {
	m.lapse(c)
	m.warn("call " + show(c.Call.ID, 80) + " began as " + string(c.Effect) + ", and its tool is " + string(class) + " by now: it is not run again")
	c.Tried = InDoubt
	m.unknown(c)
}

// refuse answers a call that may not run, or not again.
func (m *machine) refuse(c *CallState, bad Link, why string) {
	m.lapse(c)
	text := c.soFar() + pick(c.Tried == "", "", "; not run again")
	answer(c, bad, text+pick(why == ".", ".", ": "+why))
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
	if a := e.Asking; a != nil && (a.Expires < 0 || a.Grant < 0) {
		return invalid("a span below zero")
	}
	if e.Attempts < 1 {
		return invalid("the attempts of a tool must be positive")
	}
	return validText(e.Key)
}

// permit lets a call go on to its approval, or to its run.
func (m *machine) permit(c *CallState, e *CallDecided) {
	if !m.granted(c) {
		m.lapse(c)
	}
	last := m.Turn >= m.Spec.Limits.Turns && m.Spec.Limits.LastTurn == LastTurnReads
	switch {
	case last && c.Effect != Read:
		m.refuse(c, LinkPolicy, "this was the last turn, and no request is left in which its effect could be seen.")
	case e.Answer == Ask && !m.granted(c):
		c.Reason, c.Asking, c.Escalated = Clip(e.Reason, 2000), e.Asking, false
		m.ask(c)
	default:
		c.Stage = StageReady
	}
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
	for m.Observing == 0 && m.Cursor < len(m.Batch) {
		switch c := &m.Batch[m.Cursor]; c.Stage {
		case StageAnswered:
			m.commitAnswer(c)
		case StageReady:
			if m.Now >= m.Deadline {
				m.end(StopDeadline, "the deadline passed before call "+c.Call.ID)
				return
			}
			if m.ready(m.call(m.Cursor)) {
				return
			}
		default:
			return
		}
	}
	if m.Observing == 0 {
		m.afterBatch()
	}
}

// commitAnswer answers a call that did not run itself.
func (m *machine) commitAnswer(c *CallState) {
	if m.Fatal != "" {
		m.commitSkipped(c)
		m.observe()
		return
	}
	m.emit(Commit{What: CommitResult, Call: c.Call.ID, Text: c.Text, IsError: c.Bad != "", Code: c.Code})
	m.Repeat = m.Repeat.note(observation(c, c.Text))
	switch c.Bad {
	case "":
	case LinkAdmission:
		m.blame(LinkModel, c.Bad)
	case LinkPolicy:
		m.blame(LinkAdmission, c.Bad)
	default:
		m.blame(LinkPolicy, c.Bad)
	}
	m.Cursor++
	m.observe()
}

func (m *machine) onCallReturned(e CallReturned) error {
	i, err := m.findNamed(StageRunning, e.Kind(), e.Cmd, e.Call)
	if err != nil {
		return err
	}
	if err := e.Result.validate(); err != nil {
		return err
	}
	m.Observations++
	m.warn(e.Warnings...)
	c := m.call(i)
	// Of this attempt alone it is known, and not of the call.
	doubtful := c.Tried == InDoubt && e.Result.Disposition == DidNotHappen
	if doubtful {
		e.Result.Disposition = InDoubt
	}
	m.settle(c, e.Result.Disposition, &e.Result)
	if m.Phase == PhaseActing && m.retryTool(c, &e) {
		return nil
	}
	if m.Phase == PhaseActing && e.Result.Disposition == InDoubt && e.Result.Status != StatusFatal && m.await(c) {
		return nil
	}
	words := ""
	if doubtful {
		words = c.soFar() + named(c.Ledger) + "; the latest attempt changed nothing."
	}
	m.commitResult(c, &e.Result, words)
	switch {
	case m.Phase == PhaseDraining:
		m.drain()
	case e.Result.Status == StatusFatal:
		m.Fatal = e.Call
		m.giveUpRest()
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

// commitResult answers a call with what came of its run: by its result, or by
// words that say more than that.
func (m *machine) commitResult(c *CallState, r *ResultFacts, words string) {
	c.Stage = StageAnswered
	c.Cmd = 0
	m.emit(Commit{What: CommitResult, Call: c.Call.ID, Text: words, IsError: r.Status != StatusOK || words != ""})
	if r.Disposition == InDoubt {
		m.warn("call " + show(c.Call.ID, 80) + " may have taken effect; its outcome is not known" + named(c.Ledger))
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
	m.observe()
}

// giveUpRest answers the calls that do not run any more after one that failed
// for good. Where there are observers, each of them is shown before the next is
// answered.
func (m *machine) giveUpRest() {
	if m.Observing == 0 {
		m.skipRest(StopFatal)
		m.afterBatch()
		return
	}
	for i := m.Cursor; i < len(m.Batch); i++ {
		m.skip(m.call(i), StopFatal)
	}
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
