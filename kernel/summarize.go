package kernel

import "fmt"

// maxSummaries bounds the summaries that are asked for in one turn.
const maxSummaries = 2

func (m *machine) onContextOver(e ContextOver) error {
	if m.Phase != PhasePreparing || e.Cmd != m.Awaiting {
		return m.stale(e.Kind(), e.Cmd)
	}
	switch {
	case m.Spec.SummaryTokens == 0:
		return invalid("a summary is needed in a run whose model writes none")
	case e.InputTokens < 0 || e.InputTokens > maxUsage:
		return invalid(fmt.Sprintf("a summary of %d tokens", e.InputTokens))
	}
	m.Awaiting = 0
	if m.Tries >= maxSummaries {
		m.blame(LinkHarness, LinkHarness)
		m.end(StopContext, Clip(fmt.Sprintf("still over the window after %d summaries were asked for%s", m.Tries, colon(e.Detail)), 500))
		return nil
	}
	m.summarize(e.InputTokens)
	return nil
}

// summarize charges the request for a summary and sends it, or ends the run. It
// is a request as any other, but of no turn, and it is not sent again.
func (m *machine) summarize(input int64) {
	if !m.charge(input, m.Spec.SummaryTokens, "the deadline passed before a summary was asked for") {
		return
	}
	m.Tries++
	m.Phase = PhaseSummarizing
	m.Summarizing = true
	m.Awaiting = m.number()
	m.emit(Summarize{Cmd: m.Awaiting, Turn: m.preparing(), MaxTokens: m.Spec.SummaryTokens})
}

func (m *machine) onSummarized(e Summarized) error {
	if err := e.validate(); err != nil {
		return err
	}
	if !m.Summarizing || e.Cmd != m.Awaiting || e.Cmd == 0 {
		if e.Failure == nil && m.Budget.late(e.Cmd, e.Usage) {
			return nil // a late summary is none, but what it used counts
		}
		return m.stale(e.Kind(), e.Cmd)
	}
	m.summarized(&e)
	return nil
}

func (e *Summarized) validate() error {
	switch {
	case e.Failure != nil && (e.Usage != nil || e.Size != 0):
		return invalid("a summary that failed, and arrived whole")
	case e.Size < 0:
		return invalid(fmt.Sprintf("a summary of %d bytes", e.Size))
	}
	return nil
}

// summarized settles the request for a summary. Whatever came of it, the turn's
// request is prepared again: without a summary of use that may still succeed by
// other means.
func (m *machine) summarized(e *Summarized) {
	m.settleRequest(e.Usage, e.Failure)
	switch {
	case m.Phase == PhaseDraining:
		m.drain()
		return
	case m.Now >= m.Deadline:
		m.end(StopDeadline, "the summary came too late")
		return
	case e.Failure != nil:
		m.blameFailure(e.Failure)
		m.warn("the model was asked for a summary, in vain" + colon(e.Failure.cause()))
	case e.Size == 0:
		m.blame(LinkProvider, LinkModel)
		m.warn("the model was asked for a summary, and wrote none")
	}
	m.prepareAgain()
}
