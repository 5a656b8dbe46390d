package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// player feeds the lines of a scenario to the kernel. It fills in what a line
// leaves out: command numbers from the commands that are out, instants from
// its clock.
type player struct {
	state State
	now   Time
	out   []Command // every command so far, of the current run
	last  Event
}

var scenarioStart = Time(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

func newPlayer() *player { return &player{now: scenarioStart} }

// line plays one line, and returns what came of it.
func (p *player) line(line string) ([]string, error) {
	w, err := splitWords(line)
	if err != nil {
		return nil, err
	}
	switch verb := w[0]; {
	case verb == "new":
		*p = *newPlayer()
		return nil, nil
	case verb == "state":
		return []string{"= " + DescribeState(p.state)}, nil
	case verb == "warnings":
		return prefixed("= ", p.state.Warnings), nil
	case verb == "evidence":
		return prefixed("= ", p.state.Evidence), nil
	case verb == "budget":
		return []string{p.budget()}, nil
	case verb == "notices":
		return []string{fmt.Sprintf("= pending %s, attached %s", p.state.Notices, p.state.Attached)}, nil
	case verb == "waiting":
		return []string{p.waiting()}, nil
	case verb == "again":
		return p.step(p.last), nil
	case strings.ContainsRune("+-", rune(verb[0])):
		d, err := time.ParseDuration(verb)
		p.now += Time(d)
		return nil, err
	}
	e, err := p.event(w[0], newArgs(w[1:]))
	if err != nil {
		return nil, err
	}
	return p.step(e), nil
}

func (p *player) budget() string {
	b := &p.state.Budget
	return fmt.Sprintf("= reported %d in %d out, reserved %d, held %d, replies %d of %d with usage",
		b.Usage.Input, b.Usage.Output, b.Reserved.Tokens, b.Held.Tokens, b.Reported, b.Replies)
}

// waiting shows what the run waits for, and how its deadline stands.
func (p *player) waiting() string {
	until := func(t Time) string { return pick(t != 0, " until "+t.Since(scenarioStart).String(), "") }
	w, waits := p.state.Waiting()
	if !waits {
		return "= for nobody, deadline" + until(p.state.Deadline)
	}
	return fmt.Sprintf("= for %s of %s (#%d)%s%s, deadline%s", w.For, w.Call, w.Cmd, named(w.Effect), until(w.Until), until(p.state.Deadline))
}

func (p *player) step(e Event) []string {
	s, commands, err := Step(p.state, e)
	if err != nil {
		return []string{"! " + string(CodeOf(err))}
	}
	p.state, p.last = s, e
	p.out = append(p.out, commands...)
	var lines []string
	for _, c := range commands {
		lines = append(lines, "> "+DescribeCommand(c))
	}
	return lines
}

func prefixed(prefix string, texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = prefix + t
	}
	return out
}

// event makes the event of one line.
func (p *player) event(verb string, a *args) (Event, error) {
	e, err := p.makeEvent(verb, a)
	if err == nil {
		err = a.done()
	}
	return e, err
}

func (p *player) makeEvent(verb string, a *args) (Event, error) {
	switch verb {
	case "started":
		return RunStarted{At: p.now, Spec: a.spec()}, nil
	case "prepared":
		e := ContextPrepared{At: p.now, Cmd: p.cmd(a, "prepare"), Messages: a.integer("messages", 1), Warnings: a.list("warn"), Attached: a.list("notices"), Compacted: a.compaction()}
		e.InputTokens = a.number("", 100)
		return e, nil
	case "context_failed":
		return ContextFailed{At: p.now, Cmd: p.cmd(a, "prepare"), Fault: ContextFault(a.next("")), Detail: a.text("detail")}, nil
	case "over":
		return ContextOver{At: p.now, Cmd: p.cmd(a, "prepare"), InputTokens: a.number("", 500), Detail: a.text("detail")}, nil
	case "summarized":
		return p.summarized(a)
	case "observed":
		id := a.next("")
		return Observed{At: p.now, Cmd: p.cmd(a, "observe "+id), Call: id, Warnings: a.list("warn")}, nil
	case "noticed":
		return Noticed{At: p.now, Notice: a.next(""), By: a.text("by"), Size: a.integer("size", 20)}, nil
	case "replied":
		return p.replied(a)
	case "failed":
		return p.failed(a)
	case "decided":
		return p.decided(a), nil
	case "approved", "refused":
		return p.approval(verb == "approved", a), nil
	case "begun":
		return p.begun(a), nil
	case "claim_refused":
		id := a.next("")
		return ClaimRefused{At: p.now, Cmd: p.cmd(a, "run "+id), Call: id, Why: ClaimWhy(a.next("")), Effect: a.text("effect"), Result: p.found(id, a)}, nil
	case "returned":
		return p.returned(a), nil
	case "reconciled":
		id := a.next("")
		return Reconciled{At: p.now, Cmd: p.cmd(a, "look up "+id), Call: id, Found: Presence(a.next("")), Result: p.found(id, a)}, nil
	case "resolved":
		return p.resolved(a), nil
	case "resumed":
		return Resumed{At: p.now, By: a.text("by")}, nil
	case "said":
		return UserSaid{At: p.now, By: a.text("by"), Signal: a.text("signal"), Size: a.integer("size", 20)}, nil
	case "verified":
		return Verified{At: p.now, Cmd: p.cmd(a, "verify"), Verdict: Verdict(a.next("")), Finding: a.text("finding"), Evidence: a.list("evidence"), Warning: a.text("warning")}, nil
	case "fired":
		return p.fired(a), nil
	case "cancelled":
		return Cancelled{At: p.now, By: a.text("by"), Reason: a.text("reason")}, nil
	case "host_failed":
		return HostFailed{At: p.now, Code: Code(a.next("INTERNAL")), Detail: a.text("detail")}, nil
	}
	return nil, fmt.Errorf("unknown event %q", verb)
}

func (p *player) replied(a *args) (Event, error) {
	calls, err := parseCalls(a.text("calls"))
	if err != nil {
		return nil, err
	}
	r := ReplyFacts{Calls: calls, Size: a.integer("size", 100), Fault: a.text("fault"), Usage: a.usage("10/5")}
	text := a.flag("text") || len(calls) == 0 && !a.has("blocks")
	kinds := strings.Split(a.or("blocks", strings.Repeat("call,", len(calls))), ",")
	if text {
		kinds = append([]string{"text"}, kinds...)
	}
	for _, k := range kinds {
		r.Blocks = append(r.Blocks, parseBlocks(k)...)
	}
	r.Blocks = slices.DeleteFunc(r.Blocks, func(b BlockFact) bool { return b.Kind == "" })
	r.Stop = StopReason(a.or("stop", pick(len(calls) > 0, string(StopCalls), string(StopEnd))))
	if r.Stop == "absent" {
		r.Stop = StopAbsent
	}
	return ModelReplied{At: p.now, Cmd: p.cmd(a, "model"), Turn: p.state.Turn, Reply: r}, nil
}

// summarized is a summary of so many bytes, or the failure that the line names.
func (p *player) summarized(a *args) (Event, error) {
	e := Summarized{At: p.now, Cmd: p.cmd(a, "summarize")}
	if kind := a.text("failed"); kind != "" {
		e.Failure = &Failure{Kind: FailureKind(kind), Status: a.integer("status", 0), Usage: a.usage("none")}
		e.Size = a.integer("size", 0)
		return e, nil
	}
	e.Size, e.Usage = a.integer("size", 200), a.usage("400/50")
	return e, nil
}

func (p *player) failed(a *args) (Event, error) {
	f := Failure{Status: a.integer("status", 0), Jitter: a.integer("jitter", 0), Usage: a.usage("none")}
	f.Kind = FailureKind(a.next(string(FailStatus)))
	if s := a.text("retry_after"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return nil, err
		}
		f.RetryAfter = &d
	}
	return ModelFailed{At: p.now, Cmd: p.cmd(a, "model"), Turn: p.state.Turn, Failure: f}, nil
}

func (p *player) decided(a *args) Event {
	id := a.next("")
	e := CallDecided{At: p.now, Cmd: p.cmd(a, "decide "+id), Call: id, Answer: Answer(a.next(""))}
	if e.Answer == Allow || e.Answer == Ask {
		e.Effect = EffectClass(a.next(""))
		e.Attempts = a.integer("attempts", 1)
	}
	if e.Answer == Ask {
		e.Asking = a.asking()
	}
	e.Keyed = a.has("key")
	e.Key = a.text("key")
	e.Code, e.Reason, e.Rule = Code(a.text("code")), a.text("reason"), a.text("rule")
	return e
}

func (p *player) approval(approved bool, a *args) Event {
	id := a.next("")
	e := ApprovalDecided{At: p.now, Cmd: p.cmd(a, "ask "+id), Call: id, Approved: approved, By: a.text("by"), Reason: a.text("reason")}
	for _, c := range p.out {
		if ask, ok := c.(AskHuman); ok && ask.Call.ID == id {
			e.Digest = ask.Digest
		}
	}
	e.Digest = a.or("digest", e.Digest)
	if a.has("given") {
		e.Given = p.now.Add(a.duration("given", 0))
	}
	return e
}

// begun starts a call, under a claim named after it unless it only reads.
func (p *player) begun(a *args) Event {
	id := a.next("")
	e := CallStarted{At: p.now, Cmd: p.cmd(a, "run "+id), Call: id}
	for _, c := range p.out {
		if run, ok := c.(RunTool); ok && run.Cmd == e.Cmd && run.Effect != Read {
			e.Effect = "fx-" + id
		}
	}
	e.Effect = a.or("effect", e.Effect)
	return e
}

// found is the result that somebody found of a call, where the line has one.
func (p *player) found(id string, a *args) *ResultFacts {
	if !a.has("result") {
		return nil
	}
	return &ResultFacts{
		Status: Status(a.text("result")), Disposition: Disposition(a.or("disposition", string(Landed))),
		Digest: a.or("digest", "digest of "+id), Size: a.integer("size", 10),
	}
}

func (p *player) resolved(a *args) Event {
	id := a.next("")
	return EffectResolved{
		At: p.now, Call: id, As: Finding(a.next("")), Effect: a.or("effect", "fx-"+id),
		By: a.text("by"), Note: a.text("note"), Evidence: a.text("evidence"), Result: p.found(id, a),
	}
}

func (p *player) returned(a *args) Event {
	id := a.next("")
	e := CallReturned{At: p.now, Cmd: p.cmd(a, "run "+id), Call: id, Jitter: a.integer("jitter", 0), Warnings: a.list("warn")}
	e.Result.Status = Status(a.next(""))
	e.Result.Disposition = Disposition(a.next(string(Landed)))
	e.Result.Digest = a.or("digest", "digest of "+id)
	e.Result.Code = Code(a.text("code"))
	e.Result.Size = a.integer("size", 10)
	return e
}

// fired lets a timer go off, by default at its instant.
func (p *player) fired(a *args) Event {
	e := TimerFired{Cmd: p.cmd(a, "timer "+a.next("retry"))}
	for _, c := range p.out {
		if timer, ok := c.(SetTimer); ok && timer.Cmd == e.Cmd {
			p.now = max(p.now, timer.At)
		}
	}
	if a.flag("early") {
		p.now = scenarioStart
	}
	e.At = p.now
	return e
}

// cmd is the number of the latest command of a kind, unless the line has one.
func (p *player) cmd(a *args, want string) Seq {
	if a.has("cmd") {
		return Seq(a.integer("cmd", 0))
	}
	for _, c := range slices.Backward(p.out) {
		if cmd, is := commandKey(c); is == want {
			return cmd
		}
	}
	return 0
}

// commandKey names a command that awaits a report by what the report says.
func commandKey(c Command) (Seq, string) {
	switch c := c.(type) {
	case PrepareContext:
		return c.Cmd, "prepare"
	case Summarize:
		return c.Cmd, "summarize"
	case Observe:
		return c.Cmd, "observe " + c.Call.ID
	case CallModel:
		return c.Cmd, "model"
	case DecideCall:
		return c.Cmd, "decide " + c.Call.ID
	case AskHuman:
		return c.Cmd, "ask " + c.Call.ID
	case RunTool:
		return c.Cmd, "run " + c.Call.ID
	case Reconcile:
		return c.Cmd, "look up " + c.Call.ID
	case AwaitResolution:
		return c.Cmd, "await " + c.Call.ID
	case Verify:
		return c.Cmd, "verify"
	case SetTimer:
		return c.Cmd, "timer " + string(c.Timer)
	}
	return 0, ""
}

// parseCalls reads "ID NAME ARGUMENTS ; …". "_" is the empty text, "x*201" is
// 201 times x, and quotes work as in Go.
func parseCalls(s string) ([]Call, error) {
	if s == "" {
		return nil, nil
	}
	var calls []Call
	for part := range strings.SplitSeq(s, " ; ") {
		w, err := splitWords(part)
		if err != nil {
			return nil, err
		}
		if len(w) < 2 {
			return nil, fmt.Errorf("a call needs an id and a name: %q", part)
		}
		c := Call{ID: literal(w[0]), Name: literal(w[1])}
		if len(w) > 2 {
			c.Arguments = literal(strings.Join(w[2:], " "))
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// parseBlocks reads "text", "thinking:signed", "text:blank" or "text*33".
func parseBlocks(s string) []BlockFact {
	s, times, many := strings.Cut(s, "*")
	n := 1
	if many {
		n, _ = strconv.Atoi(times)
	}
	kind, mark, _ := strings.Cut(s, ":")
	if kind == "_" {
		return nil
	}
	if kind == "other" {
		kind, mark = s, ""
	}
	b := BlockFact{Kind: BlockKind(kind), Size: 10, Blank: mark == "blank", Signed: mark == "signed"}
	return slices.Repeat([]BlockFact{b}, n)
}

func literal(s string) string {
	if s == "_" {
		return ""
	}
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	if unit, times, ok := strings.Cut(s, "*"); ok {
		if n, err := strconv.Atoi(times); err == nil {
			return strings.Repeat(unit, n)
		}
	}
	return s
}
