package kernel

import (
	"slices"
	"strconv"
)

// maxWishes bounds what comes from outside to a fair walk: each may send it
// round once more.
const maxWishes = 8

// delicate reports whether something has begun outside whose loss means
// something.
func (w *walker) delicate() bool {
	return len(w.begun) > 0 && slices.ContainsFunc(w.out, func(c Command) bool {
		n, _ := commandKey(c)
		return w.begun[n]
	}) || slices.ContainsFunc(w.out, func(c Command) bool { _, ok := c.(Reconcile); return ok })
}

// wish is what may come from outside at any time, and ends no run.
func (w *walker) wish() Event {
	switch w.choose.pick(7) {
	case 2:
		w.noticed++
		id := "n" + strconv.Itoa(w.noticed)
		if w.hostile && chance(w.choose, 20) {
			id = oneOf(w.choose, "n1", w.text())
		}
		return Noticed{At: w.now, Notice: id, By: w.text(), Size: w.choose.pick(100)}
	case 0:
		return UserSaid{At: w.now, By: w.text(), Size: w.choose.pick(100)}
	case 1:
		if e := w.resolution(); e != nil {
			return e
		}
	}
	return Resumed{At: w.now, By: w.text()}
}

// resolution is a finding about some effect of the run; nil when it has none.
func (w *walker) resolution() Event {
	for _, e := range slices.Backward(w.past) {
		if s, ok := e.(CallStarted); ok && s.Effect != "" && chance(w.choose, 50) {
			return w.finding(s.Call, s.Effect)
		}
	}
	return nil
}

// wished takes note of what came from outside. A take-over is by another
// process: it has nothing but what it is ordered from now on.
func (w *walker) wished(e Event) {
	switch e := e.(type) {
	case Resumed:
		w.wishes++
		w.out = nil
		clear(w.begun)
	case UserSaid:
		w.wishes++
	case Noticed:
		w.wishes++
		w.notices = append(w.notices, e.Notice)
	case ContextPrepared:
		w.attached = e.Attached
	case EffectResolved:
		w.wishes++
		if w.ledger[e.Effect] == InDoubt && e.As != FoundUnknown {
			w.ledger[e.Effect] = Disposition(pick(e.As == FoundLanded, string(Landed), string(DidNotHappen)))
		}
		w.out = slices.DeleteFunc(w.out, func(c Command) bool {
			a, is := c.(AwaitResolution)
			return is && a.Effect == e.Effect && a.Call.ID == e.Call
		})
	}
}

// claim is the ledger's answer to a run: what it has of the effect decides, and
// now and then something that this walk does not see.
func (w *walker) claim(c RunTool, wild bool) Event {
	choose := w.choose
	refused := ClaimRefused{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Effect: "fx-other"}
	id := ""
	if c.Effect != Read || wild && chance(choose, 5) {
		id = "fx-" + c.Call.Name + " " + orElse(c.Key, c.Call.ID)
	}
	switch known := w.ledger[id]; {
	case id != "" && known == Landed:
		refused.Why, refused.Effect, refused.Result = ClaimStored, id, w.found(wild)
		return refused
	case id != "" && known == InDoubt && c.Effect != Idempotent:
		refused.Why, refused.Effect = ClaimUnknown, id
		return refused
	case chance(choose, 8):
		refused.Why = oneOf(choose, ClaimBusy, ClaimOther, ClaimUnknown, ClaimWindow, ClaimBlocked, ClaimApproval, ClaimStored)
		if refused.Why == ClaimStored || wild && chance(choose, 10) {
			refused.Result = w.found(wild)
		}
		return refused
	case wild && chance(choose, 3):
		refused.Why = ClaimWhy(w.text())
		return refused
	}
	return CallStarted{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Effect: id}
}

// found is the result of an effect that is there.
func (w *walker) found(wild bool) *ResultFacts {
	r := &ResultFacts{Status: oneOf(w.choose, StatusOK, StatusError, StatusRetryable, StatusFatal), Disposition: Landed, Digest: oneOf(w.choose, "d1", "d2"), Size: 7}
	if wild && chance(w.choose, 10) {
		r.Status, r.Disposition, r.Digest = Status(w.text()), oneOf(w.choose, InDoubt, DidNotHappen, Landed), w.text()
	}
	return r
}

func (w *walker) lookedUp(c Reconcile, wild bool) Event {
	e := Reconciled{At: w.now, Cmd: c.Cmd, Call: w.callID(c.Call.ID), Found: oneOf(w.choose, Absent, Present, PresenceUnknown)}
	if e.Found == Present || wild && chance(w.choose, 10) {
		e.Result = w.found(wild)
	}
	if wild && chance(w.choose, 5) {
		e.Found = Presence(w.text())
	}
	return e
}

// finding is what somebody found out about an effect.
func (w *walker) finding(call, effect string) Event {
	e := EffectResolved{At: w.now, Call: call, Effect: effect, As: oneOf(w.choose, FoundLanded, FoundNoEffect, FoundUnknown), By: w.text(), Note: w.text()}
	if e.As == FoundLanded && chance(w.choose, 60) || w.hostile && chance(w.choose, 5) {
		e.Result = w.found(w.hostile)
	}
	if w.hostile && chance(w.choose, 15) {
		e.As, e.Effect = oneOf(w.choose, e.As, Finding(w.text())), w.text()
	}
	return e
}
