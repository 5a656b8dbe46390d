package kernel

import "slices"

// mayBeLate reports whether an event counts even when nothing waits for it any
// more, by the usage that it reports.
func mayBeLate(e Event) bool {
	switch e.(type) {
	case ModelReplied, Summarized:
		return true
	}
	return false
}

// context books what an event says of the request and of what goes with it.
func (a *auditor) context(e Event) {
	switch e := e.(type) {
	case ContextPrepared:
		for _, id := range e.Attached {
			a.check(slices.Contains(a.notices, id), "notice %q goes with a request, and is not pending", id)
		}
		a.attached = e.Attached
	case Noticed:
		a.check(!slices.Contains(a.notices, e.Notice) && len(a.notices) < MaxNotices, "notice %q is taken up", e.Notice)
		a.notices = append(slices.Clip(a.notices), e.Notice)
	}
}

// prepare checks an order to prepare a request: for the next turn, or a smaller
// one for this turn after the provider refused it, once.
func (a *auditor) prepare(c PrepareContext) {
	a.nothingPending("a preparation")
	a.goesOn("a preparation")
	a.seen("a preparation")
	a.check(a.said == 0 || a.repeated, "a preparation before what the user said is there")
	if c.Turn != a.preparing {
		a.preparing, a.shrunk, a.tries = c.Turn, false, 0
	}
	if f, failed := a.event.(ModelFailed); failed {
		a.check(f.Failure.Kind == FailContext && a.spec.Shrink && !a.shrunk, "a smaller request after %s (already: %t)", f.Failure.Kind, a.shrunk)
		a.shrunk = true
	}
	a.check(c.Shrink == a.shrunk, "a preparation, smaller %t, want %t", c.Shrink, a.shrunk)
	a.check(c.Shrink && c.Turn == a.turn || !c.Shrink && c.Turn == a.turn+1, "prepares turn %d after turn %d, smaller %t", c.Turn, a.turn, c.Shrink)
	a.check(c.Tries == a.tries && c.Tries <= 2, "a preparation after %d summaries, want %d", c.Tries, a.tries)
	a.attached = nil
}

// summarize checks a request for a summary: it is one that is counted and
// charged, and of no turn.
func (a *auditor) summarize(c Summarize) {
	a.nothingPending("a summary")
	a.goesOn("a summary")
	a.oneRequest(c.Cmd)
	a.check(a.event.Kind() == KindContextOver, "a summary after %s", a.event.Kind())
	a.check(a.spec.SummaryTokens > 0 && c.MaxTokens == a.spec.SummaryTokens, "a summary of %d tokens, the limit is %d", c.MaxTokens, a.spec.SummaryTokens)
	a.requests++
	a.tries++
	a.check(a.tries <= 2 && a.requests <= a.spec.Retry.PerRun, "summary %d of a turn, request %d", a.tries, a.requests) // I8
}

// compacted checks that a smaller history is committed first, and only where it
// was prepared.
func (a *auditor) compacted(commands []Command) {
	e, prepared := a.event.(ContextPrepared)
	for i, c := range commands {
		commit, ok := c.(Commit)
		compacts := ok && commit.What == CommitCompaction
		a.check(compacts == (i == 0 && prepared && e.Compacted != nil), "command %d commits a compaction: %t", i, compacts)
	}
	a.check(!prepared || e.Compacted == nil || len(commands) > 0, "a compaction is lost")
}

// acknowledged lets go of what went with the request whose reply is committed.
func (a *auditor) acknowledged() {
	_, replied := a.event.(ModelReplied)
	a.check(replied, "a reply is committed by %s", a.event.Kind())
	a.notices = slices.DeleteFunc(slices.Clone(a.notices), func(id string) bool { return slices.Contains(a.attached, id) })
	a.attached = nil
}

// contextAgrees checks that the state has the same notices pending and out.
func (a *auditor) contextAgrees(s *State) {
	a.check(slices.Equal(s.Notices, a.notices), "notices %q are pending, want %q", s.Notices, a.notices)
	a.check(slices.Equal(s.Attached, a.attached), "notices %q go with the request, want %q", s.Attached, a.attached)
	a.check(s.Tries <= maxSummaries, "%d tries", s.Tries)
	_, summary := a.open[s.Awaiting].(Summarize)
	a.check(s.Summarizing == summary, "a summary is out: %t, the state says %t", summary, s.Summarizing)
}
