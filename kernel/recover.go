package kernel

import (
	"fmt"
	"strconv"
	"time"
)

// The retry arithmetic: 0.25 s, doubled at each attempt up to 2 s, and up to a
// quarter of that as jitter.
const (
	backoffBase = 250 * time.Millisecond
	backoffMax  = 2 * time.Second
	jitterUnits = 10_000
)

// backoff is the wait after a failed attempt, numbered from 0. jitter is the
// share of the largest jitter, in 1/10,000.
func backoff(attempt, jitter int) time.Duration {
	d := backoffMax
	if attempt < 3 {
		d = backoffBase << attempt
	}
	jitter = min(max(jitter, 0), jitterUnits)
	return d + d/4*time.Duration(jitter)/jitterUnits
}

// send charges the next attempt and sends it, or ends the run.
func (m *machine) send() {
	if !m.charge(m.InputTokens, m.MaxTokens, "the deadline passed before the request was sent") {
		return
	}
	if m.Attempt == 0 {
		m.Turn++
	}
	m.Attempt++
	m.Phase = PhaseRequesting
	m.Awaiting = m.number()
	m.emit(CallModel{Cmd: m.Awaiting, Turn: m.Turn, Attempt: m.Attempt, MaxTokens: m.MaxTokens})
}

// charge reserves a request that is about to be sent, and counts it; or ends the
// run. late says what the deadline's passing came before.
func (m *machine) charge(input int64, output int, late string) bool {
	amount := m.Spec.Price.reservation(input, output)
	stop, detail := m.Budget.reserve(amount, &m.Spec.Limits, m.Spec.Price)
	switch {
	case stop != "":
	case m.Now >= m.Deadline:
		stop, detail = StopDeadline, late
	case m.Requests >= m.Spec.Retry.PerRun:
		stop, detail = StopModelError, "request_budget"
	}
	if stop != "" {
		m.Budget.release()
		m.end(stop, detail)
		return false
	}
	m.Requests++
	return true
}

// settleRequest takes the report of the request that is out: what a whole reply
// reports, or why there is none.
func (m *machine) settleRequest(u *Usage, f *Failure) {
	switch {
	case f == nil:
		if u != nil && !u.plausible() {
			m.warn("the provider reported impossible usage; the reservation is charged instead")
		}
		m.Budget.settle(u)
	case f.charges():
		m.Budget.hold(m.Awaiting)
	default:
		m.Budget.release()
	}
	m.Awaiting = 0
	m.Summarizing = false
}

func (m *machine) onModelReplied(e ModelReplied) error {
	if err := e.Reply.validate(); err != nil {
		return err
	}
	if !m.awaitsReport(e.Cmd) {
		if m.Budget.late(e.Cmd, e.Reply.Usage) {
			return nil // a late reply runs nothing, but what it used counts
		}
		return m.stale(e.Kind(), e.Cmd)
	}
	m.settleRequest(e.Reply.Usage, nil)
	switch {
	case m.Phase == PhaseDraining:
		m.drain()
	case m.Now >= m.Deadline:
		m.end(StopDeadline, "the reply came too late; nothing of it ran")
	default:
		m.rule(&e.Reply)
	}
	return nil
}

// rule acts on a reply as admission finds it.
func (m *machine) rule(r *ReplyFacts) {
	switch v := admit(r, m.Turn, m.Spec.Profile, m.IDs); v.kind {
	case rulingFault:
		m.blame(LinkModel, LinkAdmission)
		m.end(StopProtocol, v.detail)
	case rulingTruncated:
		m.expand()
	case rulingWindow:
		m.blame(LinkProvider, LinkModel)
		m.end(StopTruncated, "context_window")
	case rulingFiltered:
		m.blame(LinkProvider, LinkModel)
		m.end(StopFiltered, "")
	case rulingRefused:
		m.blame(LinkProvider, LinkModel)
		m.end(StopRefused, "")
	case rulingAnswer:
		m.answered()
	case rulingCalls:
		m.act(v)
	}
}

// expand sends a truncated request once more with twice the output.
func (m *machine) expand() {
	m.blame(LinkProvider, LinkModel)
	larger := m.MaxTokens * 2
	if limit := m.Spec.MaxTokensCap; limit > 0 {
		larger = min(larger, limit)
	}
	switch {
	case m.Expanded:
		m.end(StopTruncated, "output_still_truncated")
	case larger <= m.MaxTokens:
		m.end(StopTruncated, "max_tokens_cap")
	case m.Attempt >= m.Spec.Retry.Attempts || m.Requests >= m.Spec.Retry.PerRun:
		m.end(StopTruncated, "request_budget")
	default:
		m.Expanded = true
		m.MaxTokens = larger
		m.send()
	}
}

func (m *machine) onModelFailed(e ModelFailed) error {
	if !m.awaitsReport(e.Cmd) {
		return m.stale(e.Kind(), e.Cmd)
	}
	m.failed(&e.Failure)
	return nil
}

// failed takes a request that brought no whole reply.
func (m *machine) failed(f *Failure) {
	m.settleRequest(nil, f)
	if m.Phase == PhaseDraining {
		m.drain()
		return
	}
	m.retry(f)
}

// awaitsReport reports whether cmd is the turn's request that is out.
func (m *machine) awaitsReport(cmd Seq) bool {
	return m.Awaiting == cmd && cmd != 0 && !m.Summarizing && (m.Phase == PhaseRequesting || m.Phase == PhaseDraining)
}

// charges reports whether the provider may have used tokens.
func (f *Failure) charges() bool {
	switch f.Kind {
	case FailConnection, FailTLS, FailStatus, FailQuota, FailContext, FailRequest:
		return f.Usage != nil
	}
	return true
}

// transient reports whether the same request may succeed soon.
func (f *Failure) transient() bool {
	switch f.Kind {
	case FailConnection, FailTimeout, FailCut, FailLost:
		return true
	case FailStatus:
		switch f.Status {
		case 429, 500, 502, 503, 504, 529:
			return true
		}
	}
	return false
}

// cause names a failure that is not retried.
func (f *Failure) cause() string {
	if f.Kind == FailStatus {
		return "request_error:" + strconv.Itoa(f.Status)
	}
	return Clip(string(f.Kind), 40)
}

func (m *machine) retry(f *Failure) {
	m.blameFailure(f)
	switch {
	case f.Kind == FailContext:
		m.tooLong(f)
		return
	case f.Kind == FailFilter:
		m.end(StopFiltered, "")
		return
	case !f.transient():
		m.end(StopModelError, f.cause())
		return
	}
	if m.Attempt >= m.Spec.Retry.Attempts || m.Requests >= m.Spec.Retry.PerRun {
		m.end(StopModelError, "request_budget")
		return
	}
	delay := backoff(m.Attempt-1, f.Jitter)
	if f.RetryAfter != nil && *f.RetryAfter >= 0 {
		delay = *f.RetryAfter
	}
	if delay > m.Spec.Retry.Wait-m.Waited {
		m.end(StopModelError, "wait_budget")
		return
	}
	if m.Now.Add(delay) >= m.Deadline {
		m.end(StopDeadline, fmt.Sprintf("after %s, waiting %s would pass the deadline", f.cause(), delay))
		return
	}
	m.Waited += delay
	m.Phase = PhaseBackingOff
	m.Awaiting = m.number()
	m.Due = m.Now.Add(delay)
	m.emit(SetTimer{Cmd: m.Awaiting, Timer: TimerRetry, At: m.Due, After: delay})
}

// tooLong asks for a smaller request, once a turn and within the attempts.
func (m *machine) tooLong(f *Failure) {
	if !m.Spec.Shrink || m.Shrunk || m.Attempt >= m.Spec.Retry.Attempts || m.Requests >= m.Spec.Retry.PerRun {
		m.end(StopContext, f.cause())
		return
	}
	m.Shrunk = true
	m.prepareAgain()
}

func (m *machine) blameFailure(f *Failure) {
	switch f.Kind {
	case FailConnection, FailTLS, FailTimeout, FailCut, FailAborted:
		m.blame(LinkHarness, LinkNetwork)
	case FailRequest, FailInternal, FailLost:
		m.blame("", LinkHarness)
	default:
		m.blame(LinkNetwork, LinkProvider)
	}
}

// blame records the last link that worked and the first that did not.
func (m *machine) blame(good, bad Link) {
	m.LastGood = good
	m.FirstBad = bad
}
