package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// naive follows a run with the second implementation and compares. It looks at
// events and commands, and at the state only for what it compares with.
type naive struct {
	spec   Spec
	faults []string

	ledger   naiveLedger
	reserved naiveAmount
	input    int64
	larger   int // max tokens after a truncation; 0: not truncated in this turn
	spent    naiveSpent
	model    Seq // the request that is out, or was
	out      bool
	summary  Seq // the request for a summary that is out; 0: none

	preparing int  // the turn whose request was prepared last
	tries     int  // its summaries
	shrunk    bool // a smaller request was asked for in it

	observing   Seq // the observation that is out; 0: none
	now         Time
	pause       naivePause
	logs        map[string]naiveLog
	status      map[string]string // of a call: who is waited for, policy or people
	order       []string          // calls of the turn that are not answered
	said        int
	final       bool // an answer was committed, and nothing since
	ending      bool // a cancel, a deadline or a host failure came
	turn, calls int
	fatal       bool
	reply       []Call               // as the provider sent them
	names       map[string]naiveCall // by id
	seen        []string             // observations of the run
	recent      []string             // since the last new one
	verdict     Verdict
}

type naiveCall struct {
	name, arguments string
	digest          string // of its latest result
	effect          string // its latest claim
}

func newNaive(spec Spec) *naive {
	return &naive{spec: spec, ledger: naiveLedger{price: spec.Price}, names: map[string]naiveCall{}, logs: map[string]naiveLog{}, status: map[string]string{}}
}

func (n *naive) check(ok bool, format string, args ...any) {
	if !ok {
		n.faults = append(n.faults, "naive: "+fmt.Sprintf(format, args...))
	}
}

// step compares one accepted event.
func (n *naive) step(before State, e Event, after State, commands []Command) {
	n.now = max(n.now, e.When())
	n.pause.pass(n.now)
	wasEnding := n.ending
	n.ending = n.ending || before.Ending.Stop != ""
	switch e := e.(type) {
	case RunStarted:
		n.now = e.At
		n.pause = naivePause{begin: e.At, limit: n.spec.Limits.Deadline}
	case ContextPrepared:
		n.input = e.InputTokens
		if !n.shrunk {
			n.larger, n.spent.attempts = 0, 0
		}
		n.expectRequest(n.maxTokens(), after, commands)
	case ContextOver:
		n.over(e, after)
	case Summarized:
		n.summarized(e, after)
	case Observed:
		n.observing = 0
	case ModelReplied:
		n.replied(e, before, after, commands)
	case ModelFailed:
		n.failed(e, after, commands)
	case CallReturned:
		n.fatal = n.fatal || e.Result.Status == StatusFatal && before.Phase == PhaseActing
	case UserSaid:
		n.said++
	case Resumed:
		n.resumed(after, commands)
	case Verified:
		n.verdict = e.Verdict
	case TimerFired:
		if e.Cmd == before.DeadlineTimer {
			n.now = max(n.now, n.pause.deadline())
			n.passedOver(after)
			n.ending = n.ending || before.Phase != PhaseVerifying
		} else if before.Phase == PhaseBackingOff {
			n.expectRequest(n.maxTokens(), after, commands)
		}
	case Cancelled:
		n.ending = true
	case HostFailed:
		n.ending = true
		n.ledger.abandon()
		n.out, n.summary = false, 0
	}
	n.note(e)
	n.commands(e, commands)
	if !wasEnding && !n.ending {
		n.judge(before, e, after, commands)
		n.judgeAnswer(before, e, after)
	}
	n.pause.set(after.Phase == PhaseActing && n.waits(), n.now)
	n.check(n.pause.deadline() == after.Deadline && n.pause.open == after.Paused, "the deadline is %s (paused %t), want %s (%t)", after.Deadline, after.Paused, n.pause.deadline(), n.pause.open)
	n.compareBudget(after)
}

// waits reports whether the run waits for people alone: they are asked about
// the call whose turn it is, and nothing is asked of policy.
func (n *naive) waits() bool {
	for _, id := range n.order {
		if n.status[id] == "policy" {
			return false
		}
	}
	return n.observing == 0 && len(n.order) > 0 && n.status[n.order[0]] == "people"
}

func (n *naive) maxTokens() int {
	if n.larger > 0 {
		return n.larger
	}
	return n.spec.MaxTokens
}

// expectRequest says what has to become of the next request.
func (n *naive) expectRequest(maxTokens int, after State, commands []Command) {
	n.reserved = n.ledger.reservation(n.input, maxTokens)
	tokens, cost := n.ledger.fits(n.spec.Limits, n.reserved)
	want := naiveStop(naiveFacts{tokenLimit: tokens, costLimit: cost, deadline: n.late()})
	if want == "" && n.spent.requests >= n.spec.Retry.PerRun {
		want = StopModelError
	}
	got := ending(after)
	n.check(got == want, "before the request: %q, want %q", got, want)
	sent := slices.ContainsFunc(commands, func(c Command) bool { m, ok := c.(CallModel); return ok && m.MaxTokens == maxTokens })
	n.check(sent == (want == ""), "sent %t, but the stop is %q", sent, want)
}

// ending is the stop that a state has come to, or is on its way to.
func ending(s State) Stop {
	if s.Outcome != nil {
		return s.Outcome.Stop
	}
	return s.Ending.Stop
}

func (n *naive) replied(e ModelReplied, before, after State, commands []Command) {
	n.reply = e.Reply.Calls
	n.out = n.out && e.Cmd != n.model
	u := e.Reply.Usage
	if !naivePossible(u) {
		u = nil
	}
	late := e.Cmd != n.model || before.Phase != PhaseRequesting && before.Phase != PhaseDraining
	n.ledger.replied(e.Cmd, u, late)
	if late || n.ending {
		return
	}
	if n.late() {
		n.check(ending(after) == StopDeadline, "a reply after the deadline: %q", ending(after))
		n.ending = true
		return
	}
	if e.Reply.Fault == "" && e.Reply.Stop == StopLength {
		n.truncated(after, commands)
	}
	if e.Reply.Fault == "" && e.Reply.Stop == StopWindow {
		n.check(ending(after) == StopTruncated, "out of the window: %q", ending(after))
	}
}

// truncated is inventory row 61: one more request with twice the room.
func (n *naive) truncated(after State, commands []Command) {
	larger := n.spec.MaxTokens * 2
	if limit := n.spec.MaxTokensCap; limit > 0 && larger > limit {
		larger = limit
	}
	r := n.spec.Retry
	if n.larger > 0 || larger == n.spec.MaxTokens || n.spent.attempts == r.Attempts || n.spent.requests == r.PerRun {
		n.check(ending(after) == StopTruncated, "truncated: %q", ending(after))
		return
	}
	n.larger = larger
	n.expectRequest(larger, after, commands)
}

func (n *naive) late() bool { return n.now >= n.pause.deadline() }

// resumed takes a request that was out for lost, and each call that ran.
func (n *naive) resumed(after State, commands []Command) {
	if n.summary != 0 {
		n.summarized(Summarized{Cmd: n.summary, Failure: &Failure{Kind: FailLost}}, after)
	}
	if n.out {
		n.failed(ModelFailed{Cmd: n.model, Failure: Failure{Kind: FailLost}}, after, commands)
	}
	for _, id := range n.order {
		l := n.logs[id]
		if l.running() {
			what := naiveLoss(l.class(), l.count("lost")+1, n.ending, n.late(), n.spec.Unknown == UnknownWait && n.names[id].effect != "")
			n.check(what == doneAbout(id, commands), "the loss of %s, %s: %q, want %q", id, l.class(), doneAbout(id, commands), what)
			l = append(l, naiveFact{what: "lost"})
		}
		n.logs[id] = append(l, naiveFact{what: "takeover"})
	}
}

// doneAbout is what the commands do about a call, the last that counts.
func doneAbout(id string, commands []Command) (what string) {
	for _, c := range commands {
		switch c := c.(type) {
		case DecideCall:
			if c.Call.ID == id {
				what = "decide"
			}
		case Reconcile:
			if c.Call.ID == id {
				what = "look up"
			}
		case AwaitResolution:
			if c.Call.ID == id {
				what = "await"
			}
		case Commit:
			if c.Call == id {
				what = "answer"
			}
		}
	}
	return what
}

// note keeps what an event says of a call.
func (n *naive) note(e Event) {
	keep := func(id string, f naiveFact) {
		n.logs[id] = append(n.logs[id], f)
		n.status[id] = ""
	}
	result := func(id string, r *ResultFacts) {
		if c, ok := n.names[id]; ok && r != nil {
			c.digest = r.Digest
			n.names[id] = c
		}
	}
	switch e := e.(type) {
	case CallDecided:
		f := naiveFact{what: "no"}
		if (e.Answer == Allow || e.Answer == Ask) && n.logs[e.Call].mayBecome(e.Effect) {
			f = naiveFact{what: string(e.Answer), asking: e.Asking, class: e.Effect}
		}
		keep(e.Call, f)
	case ApprovalDecided:
		f := naiveFact{what: "close"}
		if e.Approved {
			f = naiveFact{what: "yes", cmd: e.Cmd, at: naiveGiven(e, n.now)}
		}
		keep(e.Call, f)
	case CallStarted:
		keep(e.Call, naiveFact{what: "begun", at: n.now})
		c := n.names[e.Call]
		c.effect = e.Effect
		n.names[e.Call] = c
	case CallReturned:
		keep(e.Call, naiveFact{what: "over", left: e.Result.Disposition})
		result(e.Call, &e.Result)
	case ClaimRefused:
		keep(e.Call, naiveFact{what: "over"})
		result(e.Call, e.Result)
	case Reconciled:
		if e.Found == Absent {
			keep(e.Call, naiveFact{what: "absent"})
		}
		result(e.Call, e.Result)
	case EffectResolved:
		result(e.Call, e.Result)
	}
}

func (n *naive) failed(e ModelFailed, after State, commands []Command) {
	n.ledger.failed(e.Cmd, e.Failure)
	n.out = false
	if n.ending {
		return
	}
	plan := naiveRetry(n.spec.Retry, n.spent, e.Failure)
	if e.Failure.Kind == FailContext && n.mayShrink() {
		n.shrunk = true
		plan = naivePlan{}
	}
	if plan.again && n.now.Add(plan.wait) >= n.pause.deadline() {
		plan = naivePlan{stop: StopDeadline}
	}
	got := ending(after)
	n.check(got == plan.stop, "after %s: %q, want %+v", describeFailure(&e.Failure), got, plan)
	if plan.detail != "" {
		n.check(after.Ending.Detail == plan.detail, "after %s: %q, want %+v", describeFailure(&e.Failure), after.Ending.Detail, plan)
	}
	if plan.again {
		n.spent.waited += plan.wait
		want := SetTimer{Cmd: after.LastCmd, Timer: TimerRetry, At: n.now.Add(plan.wait), After: plan.wait}
		n.check(len(commands) > 0 && commands[len(commands)-1] == want, "after %s: %v, want %v", describeFailure(&e.Failure), commands, want)
		n.check(after.Waited == n.spent.waited, "waited %s, want %s", after.Waited, n.spent.waited)
	}
}

// commands keeps the books on what was sent, committed and answered.
func (n *naive) commands(e Event, commands []Command) {
	_, again := e.(Resumed)
	for _, c := range commands {
		switch c := c.(type) {
		case DecideCall:
			n.status[c.Call.ID] = "policy"
			may, _ := n.logs[c.Call.ID].mayRun(n.now)
			n.check(!may || again, "policy is asked once more about %s, which may run", c.Call.ID)
		case AskHuman:
			n.status[c.Call.ID] = "people"
			n.check(n.logs[c.Call.ID].yes(n.now) == 0, "people are asked about %s, and have said yes", c.Call.ID)
			if !again {
				n.logs[c.Call.ID] = append(n.logs[c.Call.ID], naiveFact{what: "question"})
			}
		case CloseApproval:
			n.close(c.Cmd)
		case AwaitResolution:
			n.status[c.Call.ID] = "people"
		case RunTool:
			n.status[c.Call.ID] = ""
			may, yes := n.logs[c.Call.ID].mayRun(n.now)
			n.check(may && yes == c.Approval, "%s runs by approval %d; it may: %t, by %d", c.Call.ID, c.Approval, may, yes)
		case Abort:
			if c.Cmd == n.observing {
				n.observing = 0
			}
		case Observe:
			n.observing = c.Cmd
		case PrepareContext:
			if c.Turn != n.preparing {
				n.preparing, n.tries, n.shrunk = c.Turn, 0, false
			}
			n.check(c.Shrink == n.shrunk && c.Tries == n.tries, "prepares %+v, want smaller %t after %d", c, n.shrunk, n.tries)
		case Summarize:
			n.summary = c.Cmd
			n.ledger.reserve(c.Cmd, n.reserved)
			n.spent.requests++
			n.tries++
		case CallModel:
			n.out = true
			n.final = false
			n.ledger.reserve(c.Cmd, n.reserved)
			n.model = c.Cmd
			n.spent.attempts++
			n.spent.requests++
			n.turn = c.Turn
		case Commit:
			n.commit(c)
		}
	}
}

// close gives a yes up.
func (n *naive) close(cmd Seq) {
	for id, l := range n.logs {
		if l.yes(math.MinInt64) == cmd {
			n.logs[id] = append(l, naiveFact{what: "close", cmd: cmd})
		}
	}
}

func (n *naive) commit(c Commit) {
	switch c.What {
	case CommitSaid:
		n.said--
	case CommitReply:
		n.final = len(c.Calls) == 0
		n.order = nil
		for i, call := range c.Calls {
			n.order = append(n.order, call.ID)
			n.names[call.ID] = naiveCall{name: n.reply[i].Name, arguments: naiveCanonical(n.reply[i].Arguments)}
		}
		n.verdict = ""
	case CommitResult:
		n.order = n.order[1:]
		call := n.names[c.Call]
		result := call.digest
		if c.Text != "" {
			result = "text " + c.Text
		}
		n.observe(call.name + " " + call.arguments + " " + result)
	}
}

// observe counts an action: after one that is new, counting starts again.
func (n *naive) observe(what string) {
	if !slices.Contains(n.seen, what) {
		n.recent = nil
	}
	n.seen = append(n.seen, what)
	n.recent = append(n.recent, what)
}

func (n *naive) repeats() int {
	most := 0
	for _, a := range n.recent {
		count := 0
		for _, b := range n.recent {
			if a == b {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// judge compares the stop priorities where a turn's calls are all answered.
func (n *naive) judge(before State, e Event, after State, commands []Command) {
	if reply, ok := e.(ModelReplied); ok && after.Ending.Stop == StopToolLimit {
		n.check(len(reply.Reply.Calls) > n.spec.Limits.Calls-n.calls, "tool limit with %d of %d calls used", n.calls, n.spec.Limits.Calls)
		n.ending = true
		return
	}
	if before.Phase == PhaseRequesting && after.Phase != PhaseRequesting {
		for _, c := range commands {
			if commit, ok := c.(Commit); ok && commit.What == CommitReply {
				n.calls += len(commit.Calls)
				n.check(n.calls <= n.spec.Limits.Calls, "%d calls of %d", n.calls, n.spec.Limits.Calls)
			}
		}
	}
	answered := slices.ContainsFunc(commands, func(c Command) bool { commit, ok := c.(Commit); return ok && commit.What == CommitResult })
	if _, observed := e.(Observed); observed || n.observing != 0 {
		answered = observed && n.observing == 0
	}
	verifies := n.spec.Verify == VerifyEachTurn
	_, verified := e.(Verified)
	switch {
	case answered && len(n.order) == 0 && !verifies && ending(after) != StopDeadline:
	case verified && verifies && !before.Answering && before.Ending.Stop == "":
	default:
		return
	}
	want := n.stop(verified && n.verdict == VerdictTrue)
	n.check(ending(after) == want, "after the turn: %q, want %q (repeats %d)", ending(after), want, n.repeats())
}

// judgeAnswer compares what becomes of a final answer: the end, unless it is to
// be mended or whoever asked has said more, and a turn is left for that.
func (n *naive) judgeAnswer(before State, e Event, after State) {
	v, verified := e.(Verified)
	_, replied := e.(ModelReplied)
	switch {
	case verified && before.Answering:
	case replied && n.final && n.spec.Verify == VerifyNever:
	default:
		return
	}
	want := StopAnswered
	mend := verified && n.spec.Continue && v.Verdict == VerdictNot
	switch stop := n.stop(false); {
	case verified && v.Verdict == VerdictTrue:
		want = StopVerified
	case mend:
		want = stop
	case before.Said > 0 && stop == "":
		want = ""
	}
	n.check(ending(after) == want, "after the answer: %q, want %q", ending(after), want)
	n.check(want != "" || after.Phase == PhasePreparing && n.said == 0, "after the answer: %s, %d said", after.Phase, n.said)
}

// stop is what ends the run between two turns.
func (n *naive) stop(verified bool) Stop {
	tokens, cost := n.ledger.usedUp(n.spec.Limits)
	return naiveStop(naiveFacts{
		verified:   verified,
		fatal:      n.fatal,
		turnLimit:  n.turn >= n.spec.Limits.Turns,
		tokenLimit: tokens,
		costLimit:  cost,
		deadline:   n.late(),
		repeated:   n.spec.Limits.Repeat > 0 && n.repeats() >= n.spec.Limits.Repeat,
	})
}

func (n *naive) compareBudget(after State) {
	b := &after.Budget
	n.same("tokens charged", b.charged(n.spec.Price).Tokens, n.ledger.charged().tokens)
	n.same("micros charged", b.charged(n.spec.Price).Micros, n.ledger.charged().cost)
	n.same("tokens held", b.Held.Tokens, n.ledger.held())
	input, output := n.ledger.total()
	n.same("input", b.Usage.Input, input)
	n.same("output", b.Usage.Output, output)
	all, reported := n.ledger.replies()
	n.check(b.Replies == all && b.Reported == reported, "%d of %d replies, want %d of %d", b.Reported, b.Replies, reported, all)
}

// same compares with a number that the kernel holds in 64 bits and saturates.
func (n *naive) same(what string, got int64, want *big.Int) {
	if !want.IsInt64() {
		n.check(got == math.MaxInt64, "%s %d, want %s", what, got, want)
		return
	}
	n.check(got == want.Int64(), "%s %d, want %s", what, got, want)
}

func naivePossible(u *Usage) bool {
	if u == nil {
		return false
	}
	for _, v := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
		if v < 0 || v > 1<<32 {
			return false
		}
	}
	return u.CacheRead+u.CacheWrite <= u.Input
}

// naiveCanonical is the canonical form by another road: decode, and encode what
// was decoded.
func naiveCanonical(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}\n"
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return text
	}
	return b.String()
}
