package kernel

// over says what has to become of a request that is over the window: a summary
// is asked for, twice in a turn at most, and charged as any request.
func (n *naive) over(e ContextOver, after State) {
	if n.tries == 2 {
		n.check(ending(after) == StopContext, "over the window after two summaries: %q", ending(after))
		return
	}
	n.reserved = n.ledger.reservation(e.InputTokens, n.spec.SummaryTokens)
	tokens, cost := n.ledger.fits(n.spec.Limits, n.reserved)
	want := naiveStop(naiveFacts{tokenLimit: tokens, costLimit: cost, deadline: n.late()})
	if want == "" && n.spent.requests >= n.spec.Retry.PerRun {
		want = StopModelError
	}
	n.check(ending(after) == want, "before a summary: %q, want %q", ending(after), want)
	n.check((after.Phase == PhaseSummarizing) == (want == ""), "%s, but the stop is %q", after.Phase, want)
}

// summarized settles a summary. What it came to ends no run, unless time is up.
func (n *naive) summarized(e Summarized, after State) {
	late := e.Cmd != n.summary || n.summary == 0
	switch {
	case e.Failure != nil:
		n.ledger.failed(e.Cmd, *e.Failure)
	case naivePossible(e.Usage):
		n.ledger.replied(e.Cmd, e.Usage, late)
	default:
		n.ledger.replied(e.Cmd, nil, late)
	}
	if late {
		return
	}
	n.summary = 0
	if n.ending {
		return
	}
	want := Stop("")
	if n.late() {
		want = StopDeadline
		n.ending = true
	}
	n.check(ending(after) == want, "after a summary: %q, want %q", ending(after), want)
	n.check(want != "" || after.Phase == PhasePreparing, "after a summary: %s", after.Phase)
}

// mayShrink reports whether a request that is too long may be sent smaller.
func (n *naive) mayShrink() bool {
	r := n.spec.Retry
	return n.spec.Shrink && !n.shrunk && n.spent.attempts < r.Attempts && n.spent.requests < r.PerRun
}

// passedOver says what the deadline means while the last call of a turn is
// observed, or one behind a fatal error: the turn is judged as if the observers
// had looked.
func (n *naive) passedOver(after State) {
	if n.observing == 0 || !n.fatal && len(n.order) > 0 || n.spec.Verify != VerifyNever {
		return
	}
	want := n.stop(false)
	n.check(ending(after) == want, "the deadline in the last observation: %q, want %q", ending(after), want)
}
