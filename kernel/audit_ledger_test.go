package kernel

// auditedClaim is a claim that a call began under. Its state is a disposition,
// or that it runs.
type auditedClaim struct {
	call  string
	state string
}

const claimRunning = "running"

func (a *auditor) claim(c *auditedCall, e CallStarted) {
	if e.Effect == "" {
		c.ledger = ""
		return
	}
	if old := a.claims[e.Effect]; old != nil {
		a.check(old.state != claimRunning, "claims %s twice", e.Effect)
	}
	c.ledger = e.Effect
	a.claims[e.Effect] = &auditedClaim{e.Call, claimRunning}
}

// settled checks that only what began is settled, by what may settle it, and
// never against what is known.
func (a *auditor) settled(s Settle) {
	c := a.claims[s.Effect]
	if c == nil {
		a.fault("settles %s, which nothing claimed", s.Effect)
		return
	}
	a.check(c.call == s.Call, "settles %s for %s, claimed by %s", s.Effect, s.Call, c.call)
	a.check(c.state == claimRunning || c.state == string(InDoubt), "settles %s as %s, which is %s", s.Effect, s.Disposition, c.state)
	c.state = string(s.Disposition)
	want := InDoubt
	k := a.calls[s.Call]
	switch e := a.event.(type) {
	case CallReturned:
		if want = e.Result.Disposition; k.doubt && want == DidNotHappen {
			want = InDoubt // an earlier attempt may be there
		}
		a.check(s.Result != nil && s.Result.Digest == e.Result.Digest, "settles %s with another result", s.Effect)
	case Reconciled:
		if want = DidNotHappen; e.Found == Present {
			want = Landed
			a.check(s.Result != nil && *s.Result == *e.Result, "settles %s with another result", s.Effect)
		}
	case Resumed, HostFailed:
		if k.class() == Read {
			want = DidNotHappen
		}
	default:
		a.fault("%s settles a claim", e.Kind())
	}
	a.check(s.Disposition == want, "settles %s as %s, want %s", s.Effect, s.Disposition, want)
}

// ledgerAgrees checks that a claim is running exactly while its call runs:
// what became of it is settled in the same step.
func (a *auditor) ledgerAgrees() {
	for id, c := range a.claims {
		k := a.calls[c.call]
		runs := k.running != 0 && k.ledger == id
		a.check(runs == (c.state == claimRunning), "effect %s is %s, and its call runs: %t", id, c.state, runs)
	}
	if e, ok := a.event.(Reconciled); ok && e.Found != PresenceUnknown {
		c := a.claims[a.calls[e.Call].ledger]
		a.check(c == nil || c.state != string(InDoubt), "the effect of %s is found to be %s, and is in doubt", e.Call, e.Found)
	}
}

// auditedAsk is a question to people.
type auditedAsk struct {
	call    Call
	asking  Asking
	order   AskHuman
	state   askState
	timer   Seq // that ends it; 0: none
	at      int // step of the answer
	granted Time
}

type askState string

const (
	askOpen    askState = "open"
	askYes     askState = "granted"
	askNo      askState = "refused"
	askExpired askState = "expired"
	askClosed  askState = "closed"
	askSpent   askState = "spent"
)

func (q *auditedAsk) over() bool { return q.state != askOpen && q.state != askYes }

// stands reports whether a yes may be used.
func (q *auditedAsk) stands(now Time) bool {
	return q.state == askYes && (q.asking.Grant == 0 || now < q.granted.Add(q.asking.Grant))
}

func (a *auditor) asked(c AskHuman) {
	a.goesOn("a question")
	a.check(c.Digest == CallDigest(c.Call), "asks under another digest") // I7
	if a.repeated {
		return
	}
	k := a.calls[c.Call.ID]
	old := a.asks[k.asked]
	a.check(old == nil || old.over(), "asks about %s twice", c.Call.ID)
	_, decided := a.event.(CallDecided)
	others := old != nil && old.state == askExpired && old.asking.OnExpiry == ExpiryEscalate && !old.order.Escalated && !decided
	a.check(c.Escalated == others, "asks others: %t, want %t", c.Escalated, others)
	a.check(c.Effect == k.class(), "asks about a %s as %s", k.class(), c.Effect)
	q := &auditedAsk{call: c.Call, order: c, state: askOpen}
	if rule := k.decision.Asking; rule != nil {
		q.asking = *rule
	}
	want := Time(0)
	if q.asking.Expires > 0 {
		want = a.now.Add(q.asking.Expires)
		q.timer = c.Cmd + 1
	}
	a.check(c.Expires == want, "asks until %d, want %d", c.Expires, want)
	k.asked, a.asks[c.Cmd] = c.Cmd, q
}

func (a *auditor) voted(e ApprovalDecided) {
	q := a.asks[e.Cmd]
	a.check(q.state == askOpen, "an answer to a question that is %s", q.state)
	a.check(e.Digest == CallDigest(q.call) && e.Call == q.call.ID, "an answer to another question") // I7
	q.at, q.granted = a.steps, a.now
	if e.Given != 0 && e.Given < a.now {
		q.granted = e.Given
	}
	if q.state = askNo; e.Approved {
		q.state = askYes
	}
}

// closed checks that a question is closed once, for the reason that holds.
func (a *auditor) closed(c CloseApproval) {
	q := a.asks[c.Cmd]
	want := askOpen
	if c.As == CloseLapsed {
		want = askYes
	}
	if q == nil || q.state != want {
		a.fault("closes question %d as %s", c.Cmd, c.As)
		return
	}
	q.state = askClosed
	fired, isTimer := a.event.(TimerFired)
	expired := isTimer && fired.Cmd == q.timer && q.timer != 0
	a.check((c.As == CloseExpired) == expired, "closes question %d as %s", c.Cmd, c.As)
	if expired {
		q.state = askExpired
	}
}

// permitted checks that people have said yes where policy asks, to this very
// call, that their yes still holds, and that policy was asked after it (I7).
func (a *auditor) permitted(c RunTool, k *auditedCall) {
	q := a.asks[k.asked]
	if q != nil {
		a.check(q.state != askOpen, "runs %s while people are asked", c.Call.ID)
		a.check(!q.stands(a.now) || c.Approval == k.asked, "runs %s, and leaves its yes", c.Call.ID)
	}
	if c.Approval != 0 {
		a.check(q != nil && c.Approval == k.asked && q.call == c.Call && q.stands(a.now), "runs %s by approval %d", c.Call.ID, c.Approval)
		a.check(q != nil && q.at < k.decidedAt, "runs %s by a decision from before its yes", c.Call.ID)
		return
	}
	a.check(k.decision.Answer == Allow || k.begun > 0 && k.spentIn == a.takeovers, "runs %s, which nobody approved", c.Call.ID)
}

// spend uses a yes with the start of its call, once.
func (a *auditor) spend(k *auditedCall, c RunTool) {
	if c.Approval == 0 {
		return
	}
	q := a.asks[c.Approval]
	a.check(q.state == askYes, "spends approval %d, which is %s", c.Approval, q.state)
	q.state, k.spentIn = askSpent, a.takeovers
}

func (a *auditor) claimRefused(e ClaimRefused, out Command) {
	if run, ok := out.(RunTool); ok && e.Why == ClaimApproval && run.Approval != 0 {
		a.asks[run.Approval].state = askClosed // somebody else did
	}
}

// setTimer checks when a timer goes off.
func (a *auditor) setTimer(c SetTimer) {
	a.check(c.At == a.now.Add(c.After) || c.At <= a.now && c.After == 0, "a timer at %d is not %s after %d", c.At, c.After, a.now)
	switch c.Timer {
	case TimerDeadline:
		a.timer = c.Cmd
		a.check(c.At == a.deadline, "the deadline is %s, not %s", c.At, a.deadline)
		return
	case TimerApproval:
		for _, q := range a.asks {
			if q.timer == c.Cmd {
				a.check(c.At == q.order.Expires, "a question ends at %s, not %s", c.At, q.order.Expires)
				return
			}
		}
		a.fault("timer %d ends no question", c.Cmd)
		return
	case TimerRetry:
		if !a.repeated {
			a.waited += c.After
		}
		a.check(a.waited <= a.spec.Retry.Wait, "waits %s in all", a.waited)
	}
	a.goesOn("a wait")
	a.check(c.At < a.deadline, "waits past the deadline")
}
