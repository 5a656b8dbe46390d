package kernel

import "slices"

// preparation is what becomes of a request: it is there, perhaps from a smaller
// history and with notices; or a summary is needed; or it fails.
func (w *walker) preparation(c PrepareContext, wild bool) Event {
	choose := w.choose
	if chance(choose, 2) {
		e := ContextFailed{At: w.now, Cmd: c.Cmd, Fault: oneOf(choose, ContextTooLarge, ContextClarification, ContextBroken), Detail: w.text()}
		if wild && chance(choose, 10) {
			e.Fault = ContextFault(w.text())
		}
		return e
	}
	if w.spec.SummaryTokens > 0 && chance(choose, pickInt(c.Tries > 0, 50, 25)) || wild && chance(choose, 2) {
		return ContextOver{At: w.now, Cmd: c.Cmd, InputTokens: w.count(), Detail: w.text()}
	}
	e := ContextPrepared{At: w.now, Cmd: c.Cmd, InputTokens: w.count(), Warnings: []string{w.text()}}
	for _, id := range w.notices {
		if chance(choose, 80) {
			e.Attached = append(e.Attached, id)
		}
	}
	if wild && chance(choose, 3) {
		e.Attached = append(e.Attached, oneOf(choose, "n1", w.text()))
	}
	if c.Tries > 0 || chance(choose, 15) {
		e.Compacted = w.compaction(c.Tries, wild)
	}
	return e
}

func (w *walker) compaction(tries int, wild bool) *Compaction {
	choose := w.choose
	c := &Compaction{Archive: "a", Removed: choose.pick(3), Spilled: choose.pick(3), Before: 100, After: 50}
	if c.Removed > 0 {
		c.Summary = SummaryDigest
		if tries > 0 {
			c.Summary = oneOf(choose, SummaryDigest, SummaryModel)
		}
	} else if c.Spilled == 0 {
		c.Spilled = 1
	}
	if wild && chance(choose, 20) {
		c.Archive, c.After, c.Summary = w.text(), w.count(), oneOf(choose, SummaryModel, SummaryBy(w.text()))
	}
	return c
}

// summary is what becomes of a request for one.
func (w *walker) summary(c Summarize, wild bool) Event {
	choose := w.choose
	e := Summarized{At: w.now, Cmd: c.Cmd}
	if chance(choose, 40) {
		f := w.failure()
		e.Failure = &f
	} else {
		e.Usage, e.Size = w.usage(), choose.pick(3)
	}
	if wild && chance(choose, 5) {
		e.Size = int(w.count())
	}
	return e
}

// committed takes note of a reply: whoever wrote it has seen what went with the
// request.
func (w *walker) committed(c Commit) {
	if c.What == CommitReply {
		w.notices = slices.DeleteFunc(slices.Clone(w.notices), func(id string) bool { return slices.Contains(w.attached, id) })
	}
}
