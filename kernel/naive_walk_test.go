package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
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
	model    Seq // the request that is out

	now, deadline Time
	ending        bool // a cancel, a deadline or a host failure came
	turn, calls   int
	fatal         bool
	reply         []Call               // as the provider sent them
	names         map[string]naiveCall // by id
	batch         int                  // calls of the turn that are not answered
	seen          []string             // observations of the run
	recent        []string             // since the last new one
	verdict       Verdict
}

type naiveCall struct {
	name, arguments string
	digest          string // of its latest result
}

func newNaive(spec Spec) *naive {
	return &naive{spec: spec, ledger: naiveLedger{price: spec.Price}, names: map[string]naiveCall{}}
}

func (n *naive) check(ok bool, format string, args ...any) {
	if !ok {
		n.faults = append(n.faults, "naive: "+fmt.Sprintf(format, args...))
	}
}

// step compares one accepted event.
func (n *naive) step(before State, e Event, after State, commands []Command) {
	since := n.now
	n.now = max(n.now, e.When())
	if before.Paused {
		n.deadline = n.deadline.Add(time.Duration(n.now - since))
	}
	wasEnding := n.ending
	n.ending = n.ending || before.Ending.Stop != ""
	switch e := e.(type) {
	case RunStarted:
		n.now = e.At
		n.deadline = e.At.Add(n.spec.Limits.Deadline)
	case ContextPrepared:
		n.input, n.larger, n.spent.attempts = e.InputTokens, 0, 0
		n.expectRequest(n.spec.MaxTokens, after, commands)
	case ModelReplied:
		n.replied(e, before, after, commands)
	case ModelFailed:
		n.failed(e, after, commands)
	case CallReturned:
		if c, ok := n.names[e.Call]; ok {
			c.digest = e.Result.Digest
			n.names[e.Call] = c
		}
		n.fatal = n.fatal || e.Result.Status == StatusFatal && before.Phase == PhaseActing
	case Verified:
		n.verdict = e.Verdict
	case TimerFired:
		if e.Cmd == before.DeadlineTimer {
			n.now = max(n.now, n.deadline)
			n.ending = n.ending || before.Phase != PhaseVerifying
		} else if before.Phase == PhaseBackingOff {
			n.expectRequest(n.maxTokens(), after, commands)
		}
	case Cancelled:
		n.ending = true
	case HostFailed:
		n.ending = true
		n.ledger.abandon()
	}
	n.commands(commands)
	if !wasEnding && !n.ending {
		n.judge(before, e, after, commands)
	}
	n.compareBudget(after)
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
	want := naiveStop(naiveFacts{tokenLimit: tokens, costLimit: cost, deadline: n.now >= n.deadline})
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
	u := e.Reply.Usage
	if !naivePossible(u) {
		u = nil
	}
	late := e.Cmd != n.model || before.Phase != PhaseRequesting && before.Phase != PhaseDraining
	n.ledger.replied(e.Cmd, u, late)
	if late || n.ending {
		return
	}
	if n.now >= n.deadline {
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

func (n *naive) failed(e ModelFailed, after State, commands []Command) {
	n.ledger.failed(e.Cmd, e.Failure)
	if n.ending {
		return
	}
	plan := naiveRetry(n.spec.Retry, n.spent, e.Failure)
	if plan.again && n.now.Add(plan.wait) >= n.deadline {
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
		n.check(len(commands) == 1 && commands[0] == want, "after %s: %v, want %v", describeFailure(&e.Failure), commands, want)
		n.check(after.Waited == n.spent.waited, "waited %s, want %s", after.Waited, n.spent.waited)
	}
}

// commands keeps the books on what was sent, committed and answered.
func (n *naive) commands(commands []Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case CallModel:
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

func (n *naive) commit(c Commit) {
	switch c.What {
	case CommitReply:
		n.batch = len(c.Calls)
		for i, call := range c.Calls {
			n.names[call.ID] = naiveCall{name: n.reply[i].Name, arguments: naiveCanonical(n.reply[i].Arguments)}
		}
		n.verdict = ""
	case CommitResult:
		n.batch--
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
	verifies := n.spec.Verify == VerifyEachTurn
	_, verified := e.(Verified)
	switch {
	case answered && n.batch == 0 && !verifies && ending(after) != StopDeadline:
	case verified && verifies && !before.Answering && before.Ending.Stop == "":
	default:
		return
	}
	tokens, cost := n.ledger.usedUp(n.spec.Limits)
	want := naiveStop(naiveFacts{
		verified:   verified && n.verdict == VerdictTrue,
		fatal:      n.fatal,
		turnLimit:  n.turn >= n.spec.Limits.Turns,
		tokenLimit: tokens,
		costLimit:  cost,
		deadline:   n.now >= n.deadline,
		repeated:   n.spec.Limits.Repeat > 0 && n.repeats() >= n.spec.Limits.Repeat,
	})
	n.check(ending(after) == want, "after the turn: %q, want %q (repeats %d)", ending(after), want, n.repeats())
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
