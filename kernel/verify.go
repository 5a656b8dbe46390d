package kernel

import "fmt"

// answered takes a final answer: what the model says of its own success
// decides nothing.
func (m *machine) answered() {
	m.Batch = nil
	m.Cursor = 0
	m.blame(m.CallGood, m.CallBad)
	if m.LastGood == "" {
		m.LastGood = LinkAdmission
	}
	m.Answering = true
	m.commitReply()
	switch {
	case m.Spec.Verify != VerifyNever:
		m.verify(true)
	case m.heard():
		m.next()
	default:
		m.finish(StopAnswered, "")
	}
}

// verify asks for a verdict on what is stored so far.
func (m *machine) verify(final bool) {
	m.Phase = PhaseVerifying
	m.Awaiting = m.number()
	m.emit(Verify{Cmd: m.Awaiting, Final: final})
}

func (m *machine) onVerified(e Verified) error {
	if m.Phase != PhaseVerifying || e.Cmd != m.Awaiting {
		return m.stale(e.Kind(), e.Cmd)
	}
	switch e.Verdict {
	case VerdictTrue, VerdictNot, Unchecked:
	default:
		return invalid(fmt.Sprintf("verdict %.40q", e.Verdict))
	}
	if e.Verdict == VerdictTrue && len(e.Evidence) == 0 {
		return invalid("a verdict of true without evidence")
	}
	m.Awaiting = 0
	m.warn(e.Warning)
	m.Judged = true
	m.Verdict = e.Verdict
	m.Evidence = repairAll(e.Evidence)
	m.Finding = Clip(e.Finding, 2000)
	switch {
	case m.Ending.Stop != "":
		m.finish(m.Ending.Stop, m.Ending.Detail)
	case !m.Answering:
		m.next()
	case e.Verdict == VerdictTrue:
		m.finish(StopVerified, "")
	case m.Spec.Continue && e.Verdict == VerdictNot:
		m.sendBack()
	case m.heard():
		m.next()
	default:
		m.finish(StopAnswered, "")
	}
	return nil
}

// sendBack tells the model what was found, if a turn is left to act on it.
// Otherwise the answer stands as it is, and the budget is why it does.
func (m *machine) sendBack() {
	if stop := m.standing().judge(); stop != "" {
		m.finish(stop, "")
		return
	}
	m.Answering = false
	m.emit(Commit{What: CommitFinding, Text: "The answer was checked and is not verified" + because(m.Finding)})
	m.next()
}

// heard reports that whoever asked has said more before the answer was given:
// the run goes on with that, if a turn is left for it.
func (m *machine) heard() bool {
	if m.Said == 0 || m.standing().judge() != "" {
		return false
	}
	m.Answering = false
	return true
}

// commitSaid lets what the user said enter the history.
func (m *machine) commitSaid() {
	for ; m.Said > 0; m.Said-- {
		m.emit(Commit{What: CommitSaid})
	}
}

// finish ends the run. Every call was answered before.
func (m *machine) finish(stop Stop, detail string) {
	verdict := m.Verdict
	if !m.Judged {
		verdict, m.Evidence, m.Finding = Unchecked, nil, ""
	}
	m.commitSaid()
	m.Phase = PhaseStopped
	m.Awaiting = 0
	m.Batch, m.Cursor = nil, 0
	m.Outcome = &Outcome{
		Stop:            stop,
		Detail:          detail,
		Verified:        verdict,
		Evidence:        m.Evidence,
		Finding:         m.Finding,
		Answered:        m.Answering,
		Turns:           m.Turn,
		Calls:           m.Calls,
		Requests:        m.Requests,
		Usage:           m.Budget.Usage,
		Replies:         m.Budget.Replies,
		ReportedReplies: m.Budget.Reported,
		HeldTokens:      m.Budget.Held.Tokens,
		CostMicros:      addSat(m.Spec.Price.of(m.Budget.Usage), m.Budget.Held.Micros),
		Warnings:        m.Warnings,
		LastGood:        m.LastGood,
		FirstBad:        m.FirstBad,
	}
	m.emit(Finish{Outcome: *m.Outcome})
}
