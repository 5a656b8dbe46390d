package kernel

import "fmt"

// prepare asks for the request of the next turn.
func (m *machine) prepare() {
	m.Shrunk, m.Tries = false, 0
	m.prepareAgain()
}

// prepareAgain asks for the turn's request, once more where a smaller one is
// needed.
func (m *machine) prepareAgain() {
	m.commitSaid()
	m.Phase = PhasePreparing
	m.Attached = nil
	m.Awaiting = m.number()
	m.putPreparation()
}

// putPreparation puts the preparation, again after a take-over.
func (m *machine) putPreparation() {
	m.emit(PrepareContext{Cmd: m.Awaiting, Turn: m.preparing(), Shrink: m.Shrunk, Tries: m.Tries})
}

// preparing is the turn whose request is prepared. A smaller one is for the turn
// that was counted when the first was sent.
func (m *machine) preparing() int {
	if m.Shrunk {
		return m.Turn
	}
	return m.Turn + 1
}

// onPreparation takes what came of preparing a request.
func (m *machine) onPreparation(e Event) error {
	switch e := e.(type) {
	case ContextPrepared:
		return m.onContextPrepared(e)
	case ContextFailed:
		return m.onContextFailed(e)
	case ContextOver:
		return m.onContextOver(e)
	case Summarized:
		return m.onSummarized(e)
	}
	return invalid(fmt.Sprintf("%T is of no preparation", e))
}

func (m *machine) onContextPrepared(e ContextPrepared) error {
	if m.Phase != PhasePreparing || e.Cmd != m.Awaiting {
		return m.stale(e.Kind(), e.Cmd)
	}
	if e.InputTokens < 0 || e.InputTokens > maxUsage {
		return invalid(fmt.Sprintf("a request of %d tokens", e.InputTokens))
	}
	if err := e.Compacted.validate(m.Tries); err != nil {
		return err
	}
	if err := m.attach(e.Attached); err != nil {
		return err
	}
	m.Awaiting = 0
	m.warn(e.Warnings...)
	m.InputTokens = e.InputTokens
	if !m.Shrunk { // else the turn goes on with what it has used up
		m.MaxTokens = m.Spec.MaxTokens
		m.Attempt = 0
		m.Expanded = false
	}
	if e.Compacted != nil {
		m.emit(Commit{What: CommitCompaction})
	}
	m.send()
	return nil
}

// validate checks a compaction, in whose turn so many summaries were asked for;
// nil is none.
func (c *Compaction) validate(tries int) error {
	if c == nil {
		return nil
	}
	switch c.Summary {
	case "", SummaryDigest:
	case SummaryModel:
		if tries == 0 {
			return invalid("a summary by the model, which was not asked for one")
		}
	default:
		return invalid(fmt.Sprintf("a summary by %.40q", c.Summary))
	}
	switch {
	case !IsName(c.Archive):
		return invalid("a compaction whose archive has no name")
	case c.Removed < 0 || c.Spilled < 0 || c.Removed == 0 && c.Spilled == 0:
		return invalid(fmt.Sprintf("a compaction of %d messages and %d results", c.Removed, c.Spilled))
	case (c.Summary != "") != (c.Removed > 0):
		return invalid("a compaction has a summary where messages were removed, and only there")
	case c.After < 0 || c.After >= c.Before:
		return invalid(fmt.Sprintf("a compaction from %d to %d tokens", c.Before, c.After))
	}
	return nil
}

func (m *machine) onContextFailed(e ContextFailed) error {
	if m.Phase != PhasePreparing || e.Cmd != m.Awaiting {
		return m.stale(e.Kind(), e.Cmd)
	}
	m.Awaiting = 0
	stop := StopContext
	switch e.Fault {
	case ContextClarification:
		stop = StopClarify
	case ContextTooLarge, ContextBroken:
		m.blame(LinkHarness, LinkHarness)
	default:
		return invalid(fmt.Sprintf("context fault %.40q", e.Fault))
	}
	m.end(stop, Clip(e.Detail, 500))
	return nil
}
