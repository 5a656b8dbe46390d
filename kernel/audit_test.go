package kernel

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// auditor watches a run from outside and keeps its own books: what a driver
// was told and what it reported. Its checks are the design's invariants. Its
// files: this one, of the run; audit_call_test.go, of calls; audit_ledger_test.go,
// of claims and of questions to people; audit_resume_test.go, of what is out,
// through take-overs and pauses; audit_context_test.go, of preparations, summaries
// and notices; audit_observe_test.go, of observers.
type auditor struct {
	spec    Spec
	faults  []string
	started bool
	event   Event // of this step
	steps   int

	deadline  Time
	paused    bool // people alone are waited for: the deadline moves on with the clock
	now       Time
	cancelled bool
	late      bool // the deadline's timer went off
	timer     Seq  // the deadline's; 0: none is out

	lastCmd   Seq
	open      map[Seq]Command // out, not reported
	aborted   map[Seq]bool    // of these, told to end, and still to report
	again     map[Seq]Command // what a take-over has to put again, in this step
	repeated  bool            // the command at hand is one of these
	takeovers int

	turn, attempt, requests int
	waited                  time.Duration
	lastModel               Seq
	said                    int // messages that have not entered the history

	preparing         int      // the turn whose request was prepared last
	tries             int      // summaries asked for in it
	shrunk            bool     // a smaller request was asked for in the turn
	notices, attached []string // pending, and those that go with the request
	observing         Seq      // the Observe that is out
	shown             string   // the call that was answered, and not shown so far
	closing           bool     // the run's stop is known

	pending  []Call // committed, not answered, in order
	calls    map[string]*auditedCall
	claims   map[string]*auditedClaim
	asks     map[Seq]*auditedAsk
	verdict  Verdict
	finished int
}

func newAuditor(spec Spec) *auditor {
	return &auditor{
		spec: spec, open: map[Seq]Command{}, aborted: map[Seq]bool{}, calls: map[string]*auditedCall{},
		claims: map[string]*auditedClaim{}, asks: map[Seq]*auditedAsk{},
	}
}

func (a *auditor) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

func (a *auditor) check(ok bool, format string, args ...any) {
	if !ok {
		a.fault(format, args...)
	}
}

// step checks one step of a run.
func (a *auditor) step(before State, e Event, after State, commands []Command, err error) {
	if err != nil {
		a.refused(before, e, after, commands, err)
		return
	}
	a.check(a.finished == 0, "%s was accepted after the stop", e.Kind()) // I4
	a.check(e.Kind() != "" && oneLine(DescribeEvent(e)), "event is no line: %q", DescribeEvent(e))
	a.event = e
	a.steps++
	a.clock(e)
	a.report(e)
	a.compacted(commands)
	for _, c := range commands {
		a.check(oneLine(DescribeCommand(c)), "command is no line: %q", DescribeCommand(c))
		a.number(c)
		a.command(c)
	}
	a.nothingForgotten()
	a.ledgerAgrees()
	a.paused = a.waitsForPeople()
	a.state(after)
	a.contextAgrees(&after)
	a.nothingUnseen(&after)
}

func (a *auditor) clock(e Event) {
	if !a.started {
		a.started = true
		a.deadline = e.When().Add(a.spec.Limits.Deadline)
		a.now = e.When()
	}
	since := a.now
	a.now = max(a.now, e.When())
	if a.paused {
		a.deadline = a.deadline.Add(time.Duration(a.now - since))
	}
}

func (a *auditor) refused(before State, e Event, after State, commands []Command, err error) {
	var k *Error
	if !errors.As(err, &k) {
		a.fault("an error of type %T", err)
		return
	}
	switch k.Code {
	case CodeRunStopped, CodeDuplicateReport, CodeUnexpectedEvent, CodeInvalidEvent, CodeConfiguration:
	default:
		a.fault("error %s", k.Code)
	}
	a.check(oneLine(k.Message), "error is no line: %q", k.Message)
	a.check(commands == nil && reflect.DeepEqual(before, after), "a refused %T changed something", e)
	a.check(a.finished == 0 || e == nil || k.Code == CodeRunStopped, "after the stop: %v", err)
}

// report books what a driver reported.
func (a *auditor) report(e Event) {
	cmd, reports := reportedCommand(e)
	if !mayBeLate(e) && reports {
		a.check(a.open[cmd] != nil, "%s for command %d, which is not out", e.Kind(), cmd)
	}
	out := a.open[cmd]
	if _, start := e.(CallStarted); reports && !start {
		a.forget(cmd)
	}
	switch e := e.(type) {
	case CallDecided:
		a.decided(e)
	case ApprovalDecided:
		a.voted(e)
	case CallStarted:
		a.begin(e)
	case ClaimRefused:
		a.claimRefused(e, out)
	case CallReturned:
		a.returned(e)
	case Reconciled:
		a.reconciled(e)
	case EffectResolved:
		a.resolved(e)
	case Resumed:
		a.resumed()
	case UserSaid:
		a.said++
	case ContextPrepared, ModelFailed, Noticed:
		a.context(e)
	case Observed:
		a.observed(e)
	case Verified:
		a.verdict = e.Verdict
	case TimerFired:
		if a.late = a.late || e.Cmd == a.timer; e.Cmd == a.timer {
			a.timer = 0
		}
	case Cancelled:
		a.cancelled = true
	}
}

// command checks what the kernel orders.
func (a *auditor) command(c Command) {
	a.check(a.finished == 0, "%T follows the stop", c)
	switch c := c.(type) {
	case PrepareContext:
		a.prepare(c)
	case Summarize:
		a.summarize(c)
	case Observe:
		a.observe(c)
	case CallModel:
		a.request(c)
	case Verify:
		a.seen("a verdict")
	case DecideCall:
		a.goesOn("a decision")
		a.check(slices.Contains(a.pending, c.Call), "decides a call that is not pending")
	case AskHuman:
		a.asked(c)
	case CloseApproval:
		a.closed(c)
	case RunTool:
		a.run(c)
	case Settle:
		a.settled(c)
	case Reconcile:
		a.lookup(c)
	case AwaitResolution:
		a.awaits(c)
	case SetTimer:
		a.setTimer(c)
	case Abort:
		a.abort(c)
	case Commit:
		a.commit(c)
	case Finish:
		a.finish(c.Outcome)
	}
}

func (a *auditor) nothingPending(what string) {
	a.check(len(a.pending) == 0, "%s while %d calls are not answered", what, len(a.pending)) // I2
}

// goesOn checks what may happen only in a run that is not ending.
func (a *auditor) goesOn(what string) {
	a.check(!a.cancelled && !a.late, "%s in a run that is ending", what)
}

func (a *auditor) request(c CallModel) {
	a.nothingPending("a request")
	a.goesOn("a request")
	a.oneRequest(c.Cmd)
	a.lastModel = c.Cmd
	if c.Turn == a.turn {
		a.attempt++
	} else {
		a.check(c.Turn == a.turn+1, "turn %d follows %d", c.Turn, a.turn)
		a.turn, a.attempt = c.Turn, 1
	}
	a.requests++
	a.check(c.Attempt == a.attempt, "attempt %d is the %d.", c.Attempt, a.attempt)
	l, r := a.spec.Limits, a.spec.Retry
	a.check(a.turn <= l.Turns && a.attempt <= r.Attempts && a.requests <= r.PerRun, "turn %d attempt %d request %d pass a limit", a.turn, a.attempt, a.requests) // I8
	a.check(c.MaxTokens == a.spec.MaxTokens || c.MaxTokens <= 2*a.spec.MaxTokens && (a.spec.MaxTokensCap == 0 || c.MaxTokens <= a.spec.MaxTokensCap), "max tokens %d", c.MaxTokens)
}

// oneRequest checks what holds for every request that is sent.
func (a *auditor) oneRequest(cmd Seq) {
	a.check(a.now < a.deadline, "a request after the deadline")
	for n, other := range a.open {
		_, model := other.(CallModel)
		_, summary := other.(Summarize)
		a.check(!model && !summary || n == cmd, "two requests at once")
	}
}

func (a *auditor) commit(c Commit) {
	switch c.What {
	case CommitCompaction:
		a.check(a.event.Kind() == KindContextPrepared, "a compaction that nobody prepared")
	case CommitReply:
		a.nothingPending("a reply")
		a.check(!a.cancelled && !a.late && a.now < a.deadline, "a late reply was committed") // I3
		a.pending = slices.Clone(c.Calls)
		for _, call := range c.Calls {
			a.check(a.calls[call.ID] == nil, "call id %q twice", call.ID)
			_, err := canonicalArguments(call.Arguments)
			a.check(err == nil && strings.HasPrefix(strings.TrimSpace(call.Arguments), "{"), "commits arguments %q", call.Arguments)
			a.calls[call.ID] = &auditedCall{}
		}
		a.verdict = ""
		a.acknowledged()
	case CommitResult:
		a.answered(c)
	case CommitSaid:
		a.nothingPending("what the user said")
		a.said--
		a.check(a.said >= 0, "commits more than was said")
	}
}

func (a *auditor) finish(o Outcome) {
	a.nothingPending("the stop")
	a.finished++
	a.check(a.finished == 1, "%d stops", a.finished) // I4
	want := orElse(string(a.verdict), string(Unchecked))
	a.check(string(o.Verified) == want, "verified %s, the latest verdict is %s", o.Verified, want) // I5
	a.check(o.Stop != StopVerified || o.Verified == VerdictTrue, "success with verdict %s", o.Verified)
	a.check(o.Turns == a.turn && o.Requests == a.requests && o.Calls <= a.spec.Limits.Calls, "outcome counts %d turns, %d requests, %d calls", o.Turns, o.Requests, o.Calls)
	a.check(o.ReportedReplies <= o.Replies && o.Replies <= o.Requests, "%d of %d replies reported, %d requests", o.ReportedReplies, o.Replies, o.Requests) // I14
	a.check(!a.cancelled || o.Stop != StopAnswered && o.Stop != StopVerified, "%s after a cancel", o.Stop)
	a.check(a.said == 0, "%d messages of the user are lost", a.said)
	for cmd, q := range a.asks {
		a.check(q.over(), "question %d is %s at the stop", cmd, q.state)
	}
	for id, c := range a.claims {
		a.check(c.state != claimRunning, "effect %s is not settled at the stop", id)
	}
}

// state checks what the State's comment promises.
func (a *auditor) state(s State) {
	l, r := s.Spec.Limits, s.Spec.Retry
	a.check(0 <= s.Turn && s.Turn <= l.Turns, "turn %d", s.Turn)
	a.check(0 <= s.Calls && s.Calls <= l.Calls, "calls %d", s.Calls)
	a.check(s.Attempt <= r.Attempts && s.Requests <= r.PerRun && s.Waited <= r.Wait, "attempt %d requests %d waited %s", s.Attempt, s.Requests, s.Waited)
	a.check(0 <= s.Cursor && s.Cursor <= len(s.Batch), "cursor %d of %d", s.Cursor, len(s.Batch))
	a.check(s.Now == a.now || s.Now == max(a.now, a.deadline) && a.late, "now %d, latest event %d", s.Now, a.now)
	a.now = s.Now
	a.check(s.Deadline == a.deadline, "the deadline is %s, not %s", s.Deadline, a.deadline)
	a.check((s.Outcome != nil) == (s.Phase == PhaseStopped), "outcome in phase %s", s.Phase)
	a.check(s.Resumes == a.takeovers && s.Said == a.said, "%d take-overs, %d said", s.Resumes, s.Said)
	waits := s.Phase == PhasePreparing || s.Phase == PhaseSummarizing || s.Phase == PhaseRequesting || s.Phase == PhaseBackingOff || s.Phase == PhaseVerifying
	a.check(!waits || a.open[s.Awaiting] != nil, "phase %s awaits %d, which is not out", s.Phase, s.Awaiting)
	a.check(s.Phase != PhaseActing || s.Observing != 0 || s.Cursor < len(s.Batch), "acting on nothing")
	a.check(s.Phase != PhaseDraining || a.owed(), "draining with nothing to wait for")
	a.outAgrees(&s)
	a.pauseAgrees(&s)
	a.check(oneLine(DescribeState(s)), "state is no line: %q", DescribeState(s))
}

// oneLine reports whether a screen shows s as one line as it is.
func oneLine(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
}
