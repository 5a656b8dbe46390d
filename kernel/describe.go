package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DescribeEvent renders an event as one line without a line break. It shows
// what the event knows, hence no content: neither texts nor private reasoning.
func DescribeEvent(e Event) string {
	switch e := e.(type) {
	case RunStarted:
		l := &e.Spec.Limits
		return fmt.Sprintf("run started: turns %d, calls %d, deadline %s, profile %s", l.Turns, l.Calls, l.Deadline, orElse(word(e.Spec.Profile), "strict"))
	case ContextPrepared, ContextFailed, ContextOver, Summarized:
		return describePreparation(e)
	case ModelReplied:
		return describeReply(e)
	case ModelFailed:
		return fmt.Sprintf("turn %d: request failed: %s", e.Turn, describeFailure(&e.Failure))
	case CallDecided:
		return describeDecision(e)
	case ApprovalDecided:
		return fmt.Sprintf("call %s: %s%s%s", show(e.Call, 80), pick(e.Approved, "approved", "refused"), by(e.By), colon(e.Reason))
	case CallStarted:
		return fmt.Sprintf("call %s: started%s", show(e.Call, 80), named(e.Effect))
	case ClaimRefused:
		return fmt.Sprintf("call %s: not begun, the ledger refuses it: %s%s", show(e.Call, 80), word(e.Why), named(e.Effect))
	case CallReturned:
		return describeReturn(e)
	case Verified:
		return describeVerdict(e)
	case TimerFired:
		return describeTimer(e)
	case Resumed:
		return "taken over from the journal" + by(e.By)
	case Reconciled:
		return fmt.Sprintf("call %s: looked up: %s", show(e.Call, 80), word(e.Found))
	case EffectResolved:
		return fmt.Sprintf("call %s: resolved as %s%s%s%s", show(e.Call, 80), word(e.As), named(e.Effect), by(e.By), colon(e.Note))
	case Observed:
		return fmt.Sprintf("call %s: observed%s", show(e.Call, 80), colon(strings.Join(e.Warnings, "; ")))
	case Noticed:
		return fmt.Sprintf("notice %s was taken up%s (%d bytes)", show(e.Notice, 80), by(e.By), e.Size)
	case UserSaid:
		return fmt.Sprintf("the user said more%s (%d bytes)", by(e.By), e.Size)
	case Cancelled:
		return "cancelled" + by(e.By) + colon(e.Reason)
	case HostFailed:
		return fmt.Sprintf("host failed: %s%s", word(e.Code), colon(e.Detail))
	}
	return fmt.Sprintf("unknown event %T", e)
}

func describeReply(e ModelReplied) string {
	var b strings.Builder
	fmt.Fprintf(&b, "turn %d: ", e.Turn)
	switch r := &e.Reply; {
	case len(r.Calls) > 0:
		b.WriteString("calls")
		for i, c := range r.Calls {
			fmt.Fprintf(&b, "%s %s id=%s %s", pick(i > 0, ",", ""), show(c.Name, 80), show(c.ID, 80), show(c.Arguments, 200))
		}
	case r.Stop == StopEnd:
		b.WriteString("answer")
	default:
		b.WriteString("reply")
	}
	fmt.Fprintf(&b, " (stop %s, %d bytes, ", orElse(word(e.Reply.Stop), "absent"), e.Reply.Size)
	if u := e.Reply.Usage; u != nil {
		fmt.Fprintf(&b, "tokens %d in %d out)", u.Input, u.Output)
	} else {
		b.WriteString("usage not reported)")
	}
	if e.Reply.Fault != "" {
		b.WriteString(" fault: " + show(e.Reply.Fault, 200))
	}
	return b.String()
}

func describePreparation(e Event) string {
	switch e := e.(type) {
	case ContextPrepared:
		return fmt.Sprintf("context: messages %d, about %d tokens", e.Messages, e.InputTokens) + describeCompaction(e.Compacted) + describeAttached(e.Attached)
	case ContextFailed:
		return fmt.Sprintf("context failed: %s%s", word(e.Fault), colon(e.Detail))
	case ContextOver:
		return fmt.Sprintf("context over the window: a summary of about %d tokens is needed%s", e.InputTokens, colon(e.Detail))
	case Summarized:
		return describeSummary(e)
	}
	return fmt.Sprintf("unknown event %T", e)
}

func describeCompaction(c *Compaction) string {
	if c == nil {
		return ""
	}
	s := fmt.Sprintf("; made smaller, from %d to %d tokens: ", c.Before, c.After)
	if c.Removed > 0 {
		s += fmt.Sprintf("%d messages into a summary by %s, ", c.Removed, orElse(word(c.Summary), "nobody"))
	}
	return s + fmt.Sprintf("%d results shortened, archive %s", c.Spilled, show(c.Archive, 80))
}

func describeAttached(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "; with notices " + show(strings.Join(ids, ", "), 200)
}

func describeSummary(e Summarized) string {
	if e.Failure != nil {
		return "no summary: " + describeFailure(e.Failure)
	}
	s := fmt.Sprintf("summary of %d bytes, ", e.Size)
	if e.Usage == nil {
		return s + "usage not reported"
	}
	return s + fmt.Sprintf("tokens %d in %d out", e.Usage.Input, e.Usage.Output)
}

func describeTimer(e TimerFired) string {
	switch e.Timer {
	case TimerDeadline:
		return "the run's deadline has passed"
	case TimerRetry:
		return "waited; the request is sent again"
	case TimerTool:
		return "waited; the call is tried again"
	case TimerApproval:
		return "the time to decide is over"
	}
	return fmt.Sprintf("timer %d fired", e.Cmd)
}

func describeFailure(f *Failure) string {
	s := word(f.Kind)
	if f.Status != 0 {
		s += " " + strconv.Itoa(f.Status)
	}
	if f.RetryAfter != nil {
		s += ", retry after " + f.RetryAfter.String()
	}
	return s + colon(f.Detail)
}

func describeDecision(e CallDecided) string {
	s := fmt.Sprintf("call %s: %s", show(e.Call, 80), word(e.Answer))
	if e.Rule != "" {
		s += " by " + show(e.Rule, 120)
	}
	if e.Code != "" {
		s += " " + word(e.Code)
	}
	s += pick(e.Risk != "", ", risk "+word(e.Risk), "") + pick(e.Policy != "", fmt.Sprintf(", policy %.12s", word(e.Policy)), "")
	return s + colon(e.Reason)
}

func describeReturn(e CallReturned) string {
	s := fmt.Sprintf("call %s: returned %s", show(e.Call, 80), word(e.Result.Status))
	if e.Result.Code != "" {
		s += " " + word(e.Result.Code)
	}
	if e.Result.Disposition == InDoubt {
		s += ", effect in doubt"
	}
	return s + fmt.Sprintf(" (%d bytes)", e.Result.Size)
}

func describeVerdict(e Verified) string {
	s := "verified: " + word(e.Verdict)
	if len(e.Evidence) > 0 {
		s += " by " + show(strings.Join(e.Evidence, ", "), 200)
	}
	return s + colon(e.Finding) + colon(e.Warning)
}

// DescribeCommand renders a command as one line without a line break.
func DescribeCommand(c Command) string {
	switch c := c.(type) {
	case PrepareContext:
		return fmt.Sprintf("#%d prepare context for turn %d%s%s", c.Cmd, c.Turn, pick(c.Shrink, ", smaller", ""),
			pick(c.Tries > 0, fmt.Sprintf(", summaries asked for: %d", c.Tries), ""))
	case Summarize:
		return fmt.Sprintf("#%d summarize for turn %d, max tokens %d", c.Cmd, c.Turn, c.MaxTokens)
	case Observe:
		return fmt.Sprintf("#%d observe %s id=%s", c.Cmd, show(c.Call.Name, 80), show(c.Call.ID, 80))
	case CallModel:
		return fmt.Sprintf("#%d call model: turn %d attempt %d, max tokens %d", c.Cmd, c.Turn, c.Attempt, c.MaxTokens)
	case DecideCall:
		return fmt.Sprintf("#%d decide %s id=%s %s", c.Cmd, show(c.Call.Name, 80), show(c.Call.ID, 80), show(c.Call.Arguments, 200))
	case AskHuman:
		return fmt.Sprintf("#%d ask%s about %s id=%s digest=%.12s%s", c.Cmd, pick(c.Escalated, " others", ""), show(c.Call.Name, 80), show(c.Call.ID, 80), word(c.Digest), colon(c.Reason))
	case CloseApproval:
		return fmt.Sprintf("close the question of #%d: %s", c.Cmd, word(c.As))
	case RunTool:
		return fmt.Sprintf("#%d run %s id=%s attempt %d (%s)%s%s", c.Cmd, show(c.Call.Name, 80), show(c.Call.ID, 80), c.Attempt, word(c.Effect),
			pick(c.Key != "", " key="+show(c.Key, 80), ""), pick(c.Approval != 0, fmt.Sprintf(" approved by #%d", c.Approval), ""))
	case Settle:
		return fmt.Sprintf("settle id=%s: %s%s", show(c.Call, 80), word(c.Disposition), named(c.Effect))
	case Reconcile:
		return fmt.Sprintf("#%d look up %s id=%s%s%s", c.Cmd, show(c.Call.Name, 80), show(c.Call.ID, 80), pick(c.Key != "", " key="+show(c.Key, 80), ""), named(c.Effect))
	case AwaitResolution:
		return fmt.Sprintf("#%d await a resolution of id=%s%s", c.Cmd, show(c.Call.ID, 80), named(c.Effect))
	case Verify:
		return fmt.Sprintf("#%d verify%s", c.Cmd, pick(c.Final, " the answer", ""))
	case SetTimer:
		return fmt.Sprintf("#%d set timer %s after %s", c.Cmd, word(c.Timer), c.After)
	case Abort:
		return fmt.Sprintf("abort #%d", c.Cmd)
	case Commit:
		return describeCommit(c)
	case Finish:
		return "finish: " + DescribeOutcome(c.Outcome)
	}
	return fmt.Sprintf("unknown command %T", c)
}

func describeCommit(c Commit) string {
	s := "commit " + word(c.What)
	for _, call := range c.Calls {
		s += fmt.Sprintf(" %s id=%s %s", show(call.Name, 80), show(call.ID, 80), show(call.Arguments, 200))
	}
	if c.Call != "" {
		s += " id=" + show(c.Call, 80)
	}
	if c.IsError {
		s += " error"
	}
	return s + colon(c.Text)
}

// DescribeOutcome renders an outcome as one line without a line break.
func DescribeOutcome(o Outcome) string {
	s := "stop " + word(o.Stop)
	if o.Detail != "" {
		s += " (" + show(o.Detail, 200) + ")"
	}
	s += fmt.Sprintf(", verified %s, turns %d, calls %d, requests %d, tokens %d in %d out from %d of %d replies",
		orElse(word(o.Verified), "unchecked"), o.Turns, o.Calls, o.Requests, o.Usage.Input, o.Usage.Output, o.ReportedReplies, o.Replies)
	if o.HeldTokens > 0 {
		s += fmt.Sprintf(", %d tokens held", o.HeldTokens)
	}
	return s + pick(o.LastGood != "", ", last good "+word(o.LastGood), "") + pick(o.FirstBad != "", ", first bad "+word(o.FirstBad), "")
}

// DescribeState renders a state on one line without a line break.
func DescribeState(s State) string {
	out := fmt.Sprintf("%s: turn %d, calls %d, requests %d, waited %s", orElse(word(s.Phase), "new"), s.Turn, s.Calls, s.Requests, s.Waited)
	if s.Awaiting != 0 {
		out += fmt.Sprintf(", awaiting #%d", s.Awaiting)
	}
	for i := range s.Batch {
		c := &s.Batch[i]
		out += fmt.Sprintf("; %s %s", show(c.Call.ID, 80), word(c.Stage))
	}
	if s.Observing != 0 {
		out += fmt.Sprintf("; observing #%d", s.Observing)
	}
	if len(s.Notices) > 0 {
		out += fmt.Sprintf("; notices pending %d, attached %d", len(s.Notices), len(s.Attached))
	}
	if s.Paused {
		out += "; time stands still"
	}
	if s.Ending.Stop != "" {
		out += "; ending " + word(s.Ending.Stop)
	}
	return out
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func orElse(s, other string) string { return pick(s != "", s, other) }

func colon(s string) string { return pick(s != "", ": "+show(s, 300), "") }

func by(s string) string { return pick(s != "", " by "+show(s, 80), "") }

// word shows a value of a closed set, which an event may not keep to.
func word[S ~string](s S) string { return show(string(s), 40) }

// Clip makes s valid UTF-8 of at most n bytes, cut on a rune boundary and
// marked where it was cut. n is at least 4.
func Clip(s string, n int) string {
	s = repair(s)
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// repair replaces each byte that is no UTF-8 as the codec does, so that a run
// reads the same when it is replayed.
func repair(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func repairAll(texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = repair(out[i])
	}
	return out
}

// show clips s for a screen: what could move the cursor, hide text or reverse
// it is escaped.
func show(s string, n int) string {
	s = Clip(s, n)
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// String renders an instant in RFC 3339, UTC.
func (t Time) String() string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }
