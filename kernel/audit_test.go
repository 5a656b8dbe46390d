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
// was told and what it reported. Its checks are the design's invariants.
type auditor struct {
	spec    Spec
	faults  []string
	started bool

	deadline  Time
	paused    bool // people alone are waited for: the deadline moves on with the clock
	now       Time
	cancelled bool
	late      bool // the deadline's timer went off
	timer     Seq  // the deadline's

	lastCmd Seq
	open    map[Seq]Command // out, not reported
	aborted map[Seq]bool

	turn, attempt, requests int
	waited                  time.Duration
	modelOut                bool
	lastModel               Seq

	pending  []Call // committed, not answered, in order
	calls    map[string]*auditedCall
	verdict  Verdict
	finished int
}

// auditedCall is what the auditor knows of one admitted call.
type auditedCall struct {
	decision  CallDecided // the latest
	recorded  CallDecided // the first that let it go on: what it said of the tool counts
	approved  bool // by a person, and not spent
	allowed   bool
	attempts  int  // RunTools
	happened  bool // something may be there
	startedAs Seq
}

func newAuditor(spec Spec) *auditor {
	return &auditor{spec: spec, open: map[Seq]Command{}, aborted: map[Seq]bool{}, calls: map[string]*auditedCall{}}
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
	a.event(e)
	for _, c := range commands {
		a.check(oneLine(DescribeCommand(c)), "command is no line: %q", DescribeCommand(c))
		a.number(c)
		a.command(c)
	}
	a.paused = a.waitsForPeople()
	a.state(after)
}

// waitsForPeople reports whether nothing is out but questions to people, and
// the timers that end them.
func (a *auditor) waitsForPeople() bool {
	asked := false
	for cmd, c := range a.open {
		timer, isTimer := c.(SetTimer)
		_, asks := c.(AskHuman)
		switch {
		case a.aborted[cmd]:
		case asks:
			asked = true
		case isTimer && (timer.Timer == TimerApproval || timer.Timer == TimerDeadline):
		default:
			return false
		}
	}
	return asked && a.finished == 0
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

// event books what a driver reported.
func (a *auditor) event(e Event) {
	cmd, reports := reportedCommand(e)
	if _, late := e.(ModelReplied); reports && !late {
		a.check(a.open[cmd] != nil, "%s for command %d, which is not out", e.Kind(), cmd)
	}
	if _, start := e.(CallStarted); reports && !start {
		delete(a.open, cmd)
	}
	switch e := e.(type) {
	case ModelReplied, ModelFailed:
		if reports && cmd == a.lastModel {
			a.modelOut = false
		}
	case CallDecided:
		c := a.calls[e.Call]
		c.decision = e
		if c.recorded.Answer == "" && (e.Answer == Allow || e.Answer == Ask) {
			c.recorded = e
		}
		c.allowed = e.Answer == Allow || e.Answer == Ask && c.approved
	case ApprovalDecided:
		c := a.calls[e.Call]
		a.check(c.decision.Answer == Ask, "an approval that was not asked for")
		c.allowed, c.approved = false, e.Approved // until policy has been asked again
	case CallStarted:
		a.begin(e)
	case CallReturned:
		a.returned(e)
	case Verified:
		a.verdict = e.Verdict
	case TimerFired:
		a.late = a.late || e.Cmd == a.timer
	case Cancelled:
		a.cancelled = true
	}
}

func (a *auditor) begin(e CallStarted) {
	c := a.calls[e.Call]
	a.check(a.now < a.deadline && !a.late, "call %s began after the deadline", e.Call)
	a.check(!a.cancelled, "call %s began after a cancel", e.Call)
	a.check(!a.aborted[e.Cmd], "call %s began after its abort", e.Call)
	a.check(c.startedAs != e.Cmd, "call %s began twice", e.Call)
	c.startedAs = e.Cmd
	c.approved = false // spent
}

func (a *auditor) returned(e CallReturned) {
	c := a.calls[e.Call]
	a.check(c.startedAs == e.Cmd, "call %s returned without a start", e.Call)
	c.happened = c.happened || e.Result.Disposition != DidNotHappen
}

// number checks that command numbers only grow, and books what is out.
func (a *auditor) number(c Command) {
	n, reports := commandKey(c)
	if reports == "" {
		return
	}
	a.check(n == a.lastCmd+1, "command %d follows %d", n, a.lastCmd)
	a.lastCmd = n
	a.open[n] = c
}

// command checks what the kernel orders.
func (a *auditor) command(c Command) {
	a.check(a.finished == 0, "%T follows the stop", c)
	switch c := c.(type) {
	case PrepareContext:
		a.nothingPending("a preparation")
		a.goesOn("a preparation")
		a.check(c.Turn == a.turn+1, "prepares turn %d after turn %d", c.Turn, a.turn)
	case CallModel:
		a.request(c)
	case DecideCall:
		a.goesOn("a decision")
		a.check(slices.Contains(a.pending, c.Call), "decides a call that is not pending")
	case AskHuman:
		a.check(c.Digest == CallDigest(c.Call), "asks under another digest")
		a.check(!a.cancelled && !a.late, "asks after the end")
	case RunTool:
		a.run(c)
	case SetTimer:
		a.setTimer(c)
	case Abort:
		a.check(a.open[c.Cmd] != nil && !a.aborted[c.Cmd], "aborts %d, which is not out", c.Cmd)
		a.aborted[c.Cmd] = true
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
	a.check(a.now < a.deadline, "a request after the deadline")
	a.check(!a.modelOut, "two requests at once")
	a.modelOut, a.lastModel = true, c.Cmd
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

func (a *auditor) run(c RunTool) {
	a.check(!a.cancelled && !a.late && a.now < a.deadline, "runs %s after the end", c.Call.ID) // I3
	k := a.calls[c.Call.ID]
	if k == nil || len(a.pending) == 0 || a.pending[0] != c.Call {
		a.fault("runs %s out of turn", c.Call.ID) // I1, I2
		return
	}
	d := k.recorded
	a.check(c.Effect == d.Effect || d.Effect == "" && c.Effect == Once, "runs %s as %s", c.Call.ID, c.Effect)
	a.check(c.Key == d.Key, "runs %s under another key", c.Call.ID)
	a.check(k.allowed, "runs %s without permission", c.Call.ID)
	k.attempts++
	a.check(c.Attempt == k.attempts && k.attempts <= d.Attempts, "attempt %d of %s, the %d. of %d", c.Attempt, c.Call.ID, k.attempts, d.Attempts)
	repeatable := c.Effect == Read || c.Effect == Idempotent
	a.check(repeatable || !k.happened, "runs %s again although it may have taken effect", c.Call.ID) // I6
	a.check(!d.Keyed || d.Key != "", "runs %s under an empty key", c.Call.ID)
	reads := a.spec.Limits.LastTurn == LastTurnReads && a.turn == a.spec.Limits.Turns
	a.check(!reads || c.Effect == Read, "an effect in the last turn")
}

func (a *auditor) setTimer(c SetTimer) {
	a.check(c.At == a.now.Add(c.After), "a timer at %d is not %s after %d", c.At, c.After, a.now)
	switch c.Timer {
	case TimerDeadline:
		a.timer = c.Cmd
		a.check(c.At == a.deadline, "the deadline is %s, not %s", c.At, a.deadline)
		return
	case TimerRetry:
		a.waited += c.After
		a.check(a.waited <= a.spec.Retry.Wait, "waits %s in all", a.waited)
	}
	a.goesOn("a wait")
	a.check(c.At < a.deadline, "waits past the deadline")
}

func (a *auditor) commit(c Commit) {
	switch c.What {
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
	case CommitResult:
		if len(a.pending) == 0 || a.pending[0].ID != c.Call {
			a.fault("answers %s out of order", c.Call) // I2
			return
		}
		a.pending = a.pending[1:]
		k := a.calls[c.Call]
		own := k.startedAs != 0 && c.Text == ""
		a.check(own || c.Text != "", "call %s is answered by nothing", c.Call)
		a.check(k.startedAs == 0 || !strings.HasPrefix(c.Text, "Not run"), "call %s began and is said not to have run", c.Call)
		if own {
			a.verdict = ""
		}
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
	a.check((s.Outcome != nil) == (s.Phase == PhaseStopped), "outcome in phase %s", s.Phase)
	waits := s.Phase == PhasePreparing || s.Phase == PhaseRequesting || s.Phase == PhaseBackingOff || s.Phase == PhaseVerifying
	a.check(!waits || a.open[s.Awaiting] != nil, "phase %s awaits %d, which is not out", s.Phase, s.Awaiting)
	a.check(s.Phase != PhaseActing || s.Cursor < len(s.Batch), "acting on nothing")
	if s.Phase == PhaseDraining {
		a.check(a.modelOut || s.Batch[s.Cursor].Stage == StageRunning, "draining with nothing to wait for")
	}
	for i := range s.Cursor {
		a.check(s.Batch[i].Stage == StageAnswered && s.Batch[i].Cmd == 0, "call %s behind the cursor is %s", s.Batch[i].Call.ID, s.Batch[i].Stage)
	}
	a.check(oneLine(DescribeState(s)), "state is no line: %q", DescribeState(s))
}

// oneLine reports whether a screen shows s as one line as it is.
func oneLine(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
}
