package kernel

import "time"

// report is an outcome of a command. wild also makes those that no honest
// driver would send.
func (w *walker) report(c Command, wild bool) Event {
	choose := w.choose
	switch c := c.(type) {
	case PrepareContext:
		return w.preparation(c, wild)
	case Summarize:
		return w.summary(c, wild)
	case Observe:
		return Observed{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Warnings: []string{w.text()}}
	case CallModel:
		return w.modelReport(c)
	case DecideCall:
		return w.decision(c, wild)
	case AskHuman:
		e := ApprovalDecided{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Approved: chance(choose, 60), Digest: c.Digest, Reason: w.text()}
		if chance(choose, 30) {
			e.Given = w.now.Add(oneOf(choose, -time.Second, -time.Hour, time.Minute))
		}
		if wild && chance(choose, 20) {
			e.Digest = w.text()
		}
		return e
	case RunTool:
		if !w.begun[c.Cmd] {
			return w.claim(c, wild)
		}
		return w.toolReport(c)
	case Reconcile:
		return w.lookedUp(c, wild)
	case AwaitResolution:
		return w.finding(w.callID(c.Call.ID), c.Effect)
	case Verify:
		e := Verified{At: w.now, Cmd: c.Cmd, Verdict: oneOf(choose, VerdictNot, VerdictTrue, Unchecked), Finding: w.text(), Evidence: []string{w.text()}, Warning: w.text()}
		if wild && chance(choose, 10) {
			e.Verdict = Verdict(w.text())
		}
		return e
	case SetTimer:
		w.now = max(w.now, c.At)
		if c.Timer == TimerDeadline && c.At > scenarioStart.Add(time.Hour) {
			w.now = scenarioStart.Add(time.Hour) // a timer that goes off early
		}
		return TimerFired{At: w.now, Cmd: c.Cmd}
	case Abort:
		return TimerFired{At: w.now, Cmd: c.Cmd}
	}
	return TimerFired{At: w.now}
}

// callID is mostly the right one.
func (w *walker) callID(id string) string {
	if w.hostile && chance(w.choose, 5) {
		return w.text()
	}
	return id
}

func (w *walker) modelReport(c CallModel) Event {
	choose := w.choose
	if chance(choose, 25) {
		return ModelFailed{At: w.now, Cmd: c.Cmd, Turn: c.Turn, Failure: w.failure()}
	}
	return ModelReplied{At: w.now, Cmd: c.Cmd, Turn: c.Turn, Reply: w.reply()}
}

func (w *walker) failure() Failure {
	choose := w.choose
	f := Failure{
		Kind: oneOf(choose, FailStatus, FailConnection, FailTLS, FailTimeout, FailCut, FailStatus, FailStatus, FailTimeout, FailCut, FailQuota, FailContext, FailContext, FailFilter,
			FailInvalid, FailTooLarge, FailAborted, FailRequest, FailInternal, FailureKind(w.text())),
		Status: oneOf(choose, 529, 429, 500, 502, 503, 504, 400, 401, 0, -1),
		Jitter: oneOf(choose, 0, 10_000, 1, 9_999, -1, 1<<40),
		Usage:  w.usage(),
	}
	if chance(choose, 40) {
		d := oneOf(choose, time.Second, 0, 4*time.Second, -1, 1<<62)
		f.RetryAfter = &d
	}
	return f
}

func (w *walker) usage() *Usage {
	if chance(w.choose, 30) {
		return nil
	}
	u := &Usage{Input: w.count(), Output: w.count()}
	if u.Input > 0 && chance(w.choose, 50) {
		u.CacheRead = u.Input / 3
		u.CacheWrite = u.Input / 4
	}
	if w.hostile && chance(w.choose, 20) {
		u.CacheWrite = w.count()
	}
	return u
}

func (w *walker) reply() ReplyFacts {
	choose := w.choose
	r := ReplyFacts{Stop: StopEnd, Usage: w.usage(), Size: 100}
	for range choose.pick(4) {
		r.Calls = append(r.Calls, w.call())
		r.Blocks = append(r.Blocks, BlockFact{Kind: BlockCall})
	}
	if len(r.Calls) > 0 {
		r.Stop = StopCalls
	}
	if len(r.Calls) == 0 || chance(choose, 30) {
		r.Blocks = append(r.Blocks, BlockFact{Kind: BlockText, Blank: chance(choose, 5)})
	}
	if chance(choose, 10) {
		r.Stop = oneOf(choose, StopLength, StopWindow, StopFilter, StopRefusal, StopAbsent, StopEnd, StopCalls, StopReason("other:x"), StopReason("other:"+w.text()))
	}
	if w.hostile && chance(choose, 10) {
		r.Blocks = append(r.Blocks, BlockFact{Kind: oneOf(choose, BlockThinking, BlockReason, BlockKind("other:"+w.text()), BlockCall)})
	}
	if w.hostile && chance(choose, 5) {
		r.Fault = w.text()
	}
	return r
}

func (w *walker) call() Call {
	choose := w.choose
	w.ids++
	c := Call{ID: "c" + string(rune('a'+w.ids%26)) + time.Duration(w.ids).String(), Name: oneOf(choose, "read", "pay"), Arguments: oneOf(choose, `{"n":1}`, `{}`, ``, `{"n":2}`)}
	if !w.hostile {
		return c
	}
	if chance(choose, 10) {
		c.ID = oneOf(choose, "", "same", "call_1_1", "call_2_2", w.text())
	}
	if chance(choose, 10) {
		c.Name = oneOf(choose, "", "bad name", w.text())
	}
	if chance(choose, 20) {
		c.Arguments = oneOf(choose, "{", `{"a":1,"a":2}`, "[1]", `{"a":1}x`, `{"a":"\ud83d"}`, w.text())
	}
	return c
}

func (w *walker) decision(c DecideCall, wild bool) Event {
	choose := w.choose
	e := CallDecided{
		At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID),
		Answer: oneOf(choose, Allow, Allow, Ask, Deny, Invalid), Code: CodeInvalidArgument, Reason: w.text(), Rule: w.text(),
		Effect: oneOf(choose, Read, Once, Idempotent, Reconcilable, ""), Attempts: 1 + choose.pick(3),
	}
	if chance(choose, 40) {
		e.Keyed, e.Key = true, oneOf(choose, "k1", "k2", c.Call.Arguments)
	}
	if e.Answer == Ask && chance(choose, 70) {
		e.Asking = &Asking{
			Expires: oneOf(choose, time.Hour, 0, 2*time.Second), OnExpiry: oneOf(choose, ExpiryRefuse, ExpiryEscalate, ""),
			Grant: oneOf(choose, 0, time.Hour, 3*time.Second), Approvers: Approvers{NotAsker: true, Quorum: choose.pick(3)},
		}
	}
	if wild && chance(choose, 10) {
		e.Answer, e.Effect, e.Attempts, e.Key = Answer(w.text()), EffectClass(w.text()), choose.pick(3)-1, w.text()
	}
	return e
}

func (w *walker) toolReport(c RunTool) Event {
	choose := w.choose
	r := ResultFacts{
		Status:      oneOf(choose, StatusOK, StatusOK, StatusOK, StatusOK, StatusError, StatusRetryable, StatusRetryable, StatusRetryable, StatusFatal),
		Disposition: oneOf(choose, Landed, DidNotHappen, InDoubt),
		Digest:      oneOf(choose, "d1", "d1", "d1", "d2"),
	}
	if w.hostile && chance(choose, 5) {
		r.Status, r.Disposition, r.Digest = Status(w.text()), Disposition(w.text()), w.text()
	}
	return CallReturned{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Result: r, Jitter: oneOf(choose, 0, 10_000, -7), Warnings: []string{w.text()}}
}
