package kernel

import (
	"slices"
	"strings"
)

// auditedCall is what the auditor knows of one admitted call.
type auditedCall struct {
	decision  CallDecided // the latest
	recorded  CallDecided // the first that let it go on: what it said of the tool counts
	decidedIn int         // take-overs when policy answered
	decidedAt int         // step
	begun     int         // attempts
	running   Seq         // the RunTool of one that has begun, and neither returned nor was lost
	ledger    string      // its latest claim
	lost      int         // attempts that a take-over cut short
	cut       bool        // the latest attempt was, and nobody has said what became of it
	doubt     bool        // something may be there
	landed    bool        // it is
	spentIn   int         // take-overs when a yes was spent on it; -1: none was
	asked     Seq         // the latest question about it
	regraded  bool        // it has begun, and its tool is graver by now than it was then
}

// class is what a repeat of the call would mean.
func (c *auditedCall) class() EffectClass {
	return EffectClass(orElse(string(c.recorded.Effect), string(Once)))
}

func (a *auditor) decided(e CallDecided) {
	c := a.calls[e.Call]
	c.decision, c.decidedIn, c.decidedAt = e, a.takeovers, a.steps
	if c.recorded.Answer == "" && (e.Answer == Allow || e.Answer == Ask) {
		c.recorded, c.spentIn = e, -1
		return
	}
	was, is := c.class(), EffectClass(orElse(string(e.Effect), string(Once)))
	classes := []EffectClass{Read, Idempotent, Reconcilable, Once}
	switch graver := slices.Index(classes, is) > slices.Index(classes, was); {
	case !graver || e.Answer != Allow && e.Answer != Ask:
	case c.doubt || was == Read && c.begun > 0:
		c.regraded, c.doubt = true, true
	default:
		c.recorded.Effect = is
	}
}

// run checks the order to run a call: I1, I2, I3, I6 and I7 all come down to
// it.
func (a *auditor) run(c RunTool) {
	a.check(!a.cancelled && !a.late && a.now < a.deadline, "runs %s after the end", c.Call.ID) // I3
	a.seen("a run")
	k := a.calls[c.Call.ID]
	if k == nil || len(a.pending) == 0 || a.pending[0] != c.Call {
		a.fault("runs %s out of turn", c.Call.ID) // I1, I2
		return
	}
	d := k.recorded
	a.check(c.Effect == k.class(), "runs %s as %s", c.Call.ID, c.Effect)
	a.check(c.Key == d.Key && (!d.Keyed || d.Key != ""), "runs %s under another key, or none", c.Call.ID)
	a.check(k.decision.Answer == Allow || k.decision.Answer == Ask, "runs %s without permission", c.Call.ID)
	a.check(k.decidedIn == a.takeovers, "runs %s by a decision from before a take-over", c.Call.ID)
	a.check(k.running == 0, "runs %s while it runs", c.Call.ID)
	a.check(!k.regraded, "runs %s again, which began as %s and is graver by now", c.Call.ID, k.class())
	a.check(c.Attempt == k.begun+1 && k.begun < d.Attempts+k.lost && k.lost < 3, "attempt %d of %s; %d have begun, %d were lost, %d are allowed", c.Attempt, c.Call.ID, k.begun, k.lost, d.Attempts)
	repeatable := c.Effect == Read || c.Effect == Idempotent
	a.check(repeatable || !k.doubt, "runs %s again although it may have taken effect", c.Call.ID) // I6
	if claim := a.claims[k.ledger]; claim != nil && !repeatable {
		a.check(claim.state == string(DidNotHappen), "runs %s again, whose claim is %s", c.Call.ID, claim.state) // I6
	}
	a.check(!k.landed, "runs %s again, which has landed", c.Call.ID)
	a.permitted(c, k)
	reads := a.spec.Limits.LastTurn == LastTurnReads && a.turn == a.spec.Limits.Turns
	a.check(!reads || c.Effect == Read, "an effect in the last turn")
}

func (a *auditor) begin(e CallStarted) {
	c := a.calls[e.Call]
	a.check(a.now < a.deadline && !a.late, "call %s began after the deadline", e.Call)
	a.check(!a.cancelled, "call %s began after a cancel", e.Call)
	a.check(!a.aborted[e.Cmd], "call %s began after its abort", e.Call)
	a.check(c.running == 0, "call %s began twice", e.Call)
	a.check(a.pending[0].ID == e.Call, "call %s began out of turn", e.Call) // I2
	c.running, c.cut = e.Cmd, false
	c.begun++
	a.spend(c, a.open[e.Cmd].(RunTool))
	a.claim(c, e)
}

func (a *auditor) returned(e CallReturned) {
	c := a.calls[e.Call]
	a.check(c.running == e.Cmd, "call %s returned without a start", e.Call)
	c.running = 0
	c.landed = e.Result.Disposition == Landed && c.class() != Read
	c.doubt = c.doubt || c.class() != Read && e.Result.Disposition != DidNotHappen
}

// lookup checks that only the effect of a call that was cut short is asked
// about.
func (a *auditor) lookup(c Reconcile) {
	k := a.calls[c.Call.ID]
	a.check(k.class() == Reconcilable && k.cut, "looks up %s, which is %s and was cut short: %t", c.Call.ID, k.class(), k.cut)
	a.check(c.Effect == k.ledger && c.Key == k.recorded.Key, "looks up another effect than that of %s", c.Call.ID)
}

func (a *auditor) reconciled(e Reconciled) {
	c := a.calls[e.Call]
	if e.Found == Absent {
		c.cut, c.doubt = false, false
	}
}

func (a *auditor) awaits(c AwaitResolution) {
	k := a.calls[c.Call.ID]
	a.goesOn("a wait for a resolution")
	a.check(a.spec.Unknown == UnknownWait, "waits for a resolution unasked")
	claim := a.claims[c.Effect]
	a.check(c.Effect == k.ledger && claim != nil && claim.state == string(InDoubt), "waits for a resolution of %s, which is not in doubt", c.Effect)
}

// resolved books what a waiting call learns. A finding that nothing waits for
// changes nothing.
func (a *auditor) resolved(e EffectResolved) {
	for cmd, c := range a.open {
		if w, waits := c.(AwaitResolution); waits && w.Effect == e.Effect && a.calls[e.Call].ledger == e.Effect {
			a.forget(cmd)
			return
		}
	}
}

// answered checks what is told of a call: that it did not run only when it did
// not begin, a result only when this very event brings it.
func (a *auditor) answered(c Commit) {
	if len(a.pending) == 0 || a.pending[0].ID != c.Call {
		a.fault("answers %s out of order", c.Call) // I2
		return
	}
	a.pending = a.pending[1:]
	a.show(c.Call)
	k := a.calls[c.Call]
	if c.Text == "" {
		a.check(bringsResult(a.event) == c.Call, "call %s is answered by nothing", c.Call)
		r, returned := a.event.(CallReturned)
		a.check(!k.doubt || !returned || r.Result.Disposition != DidNotHappen, "call %s may have taken effect, and only its latest attempt is told of", c.Call)
		a.verdict = ""
		return
	}
	a.check(k.begun == 0 || !strings.HasPrefix(c.Text, "Not run"), "call %s began and is said not to have run", c.Call)
	_, found := a.event.(EffectResolved)
	told := strings.HasPrefix(c.Text, "Interrupted") || found && strings.HasPrefix(c.Text, "It was looked into")
	a.check(!k.cut || told, "call %s was cut short, and is told: %s", c.Call, c.Text)
	_, failed := a.event.(HostFailed)
	a.check(k.running == 0 || failed && strings.HasPrefix(c.Text, "Interrupted"), "call %s still runs, and is answered", c.Call)
	a.forget(k.running)
	k.running = 0
	if k.doubt {
		a.check(!strings.Contains(c.Text, "without effect"), "call %s may have taken effect, and is told: %s", c.Call, c.Text)
	}
}

// bringsResult is the call whose result is the content of an event.
func bringsResult(e Event) string {
	switch e := e.(type) {
	case CallReturned:
		return e.Call
	case ClaimRefused:
		if e.Why == ClaimStored {
			return e.Call
		}
	case Reconciled:
		if e.Found == Present {
			return e.Call
		}
	case EffectResolved:
		if e.Result != nil {
			return e.Call
		}
	}
	return ""
}
