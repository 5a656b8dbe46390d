package kernel

import (
	"slices"
	"testing"
)

// Walks are worth something only if they reach everything: each stop; each
// phase under a cancel, a failure, a deadline, a take-over and a word of the
// user; each stage of a call under a take-over; and each answer of a ledger, a
// lookup, a person.
func TestWalksReachEverything(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(20_000) {
		w := takeWalk(seeded(seed), seed%2 == 0, 150)
		w.failWith(t)
		for _, what := range w.met() {
			met[what]++
		}
	}
	for _, what := range slices.Concat(
		each("stop ", StopVerified, StopFatal, StopTurnLimit, StopToolLimit, StopTokenLimit, StopCostLimit, StopDeadline, StopRepeated, StopAnswered,
			StopClarify, StopTruncated, StopFiltered, StopRefused, StopProtocol, StopModelError, StopContext, StopHostError, StopCancelled),
		inPhases("cancelled"), inPhases("host_failed"), inPhases("deadline"), inPhases("resumed"), inPhases("user_said"),
		each("resumed deciding ", "first", "behind"), each("resumed asking ", "first", "behind"), each("resumed ready ", "behind"),
		each("resumed starting ", "first"), each("resumed retrying ", "first"), each("resumed unresolved ", "first"),
		each("resumed running ", Read, Idempotent, Reconcilable, Once), each("resumed reconciling ", Reconcilable),
		each("resumed in draining, running ", Read, Idempotent, Reconcilable, Once), each("resumed in draining, reconciling ", Reconcilable),
		each("resumed with a yes ", "unspent", "spent"), each("interrupted ", "3 times"),
		each("absent in ", PhaseActing, PhaseDraining), each("present in ", PhaseActing, PhaseDraining), each("lookup unknown in ", PhaseActing, PhaseDraining),
		each("claim refused: ", ClaimStored, ClaimOther, ClaimUnknown, ClaimBusy, ClaimWindow, ClaimBlocked, ClaimApproval),
		each("resolved ", FoundLanded, FoundNoEffect, FoundUnknown, "landed with a result", "and nothing waits"),
		each("question ", CloseExpired, CloseWithdrawn, CloseLapsed, "escalated", "put anew"),
		each("after a yes: ", Allow, Ask, Deny, Invalid),
		each("host_failed while ", StageRunning, StageReconciling, StageUnresolved, StageAsking),
		inPhases("noticed"), each("summarizing under ", "cancelled", "host_failed", "deadline", "resumed", "user_said", "noticed"),
		each("observing under ", "cancelled", "host_failed", "deadline", "resumed", "user_said", "noticed", "approval_decided", "call_decided"),
		each("summary ", "whole", "empty", "failed", "late", "after the deadline"), each("over the window, ", "tries 0", "tries 1", "tries 2"),
		each("too long ", "and shrinks", "and ends"), each("compaction by ", "", "model", "digest"), each("compaction ", "of a smaller request"),
		each("observed ", "before the next call", "before the next turn", "after a fatal", "before the verifier"), each("passed over ", "after a fatal", "at the end"),
		each("notices ", "acknowledged", "in part", "left"),
		each("settled ", Landed, DidNotHappen, InDoubt), each("paused ", "once", "twice"),
		each("the run goes on with what was said, ", "without a verdict", "after a verdict"),
	) {
		if met[what] == 0 {
			t.Errorf("no walk met: %s", what)
		}
	}
	t.Logf("%v", met)
}

func each[S ~string](prefix string, what ...S) []string {
	out := make([]string, len(what))
	for i, w := range what {
		out[i] = prefix + string(w)
	}
	return out
}

func inPhases(what string) []string {
	return each(what+" in ", PhasePreparing, PhaseSummarizing, PhaseRequesting, PhaseBackingOff, PhaseActing, PhaseVerifying, PhaseDraining)
}

// met names what a walk has met, each once.
func (w *walk) met() []string {
	var all []string
	pauses := 0
	for i, e := range w.events {
		before, after := &w.states[i], &w.states[i+1]
		all = append(all, metEvent(before, e, after)...)
		all = append(all, metContext(before, e, after)...)
		all = append(all, metObserver(before, e, after)...)
		for _, c := range w.commands[i] {
			all = append(all, metCommand(before, c)...)
		}
		if after.Paused && !before.Paused {
			pauses++
			all = append(all, "paused "+pick(pauses > 1, "twice", "once"))
		}
	}
	if len(w.last().Notices) > 0 && w.last().Outcome != nil {
		all = append(all, "notices left")
	}
	if o := w.last().Outcome; o != nil {
		all = append(all, "stop "+string(o.Stop))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func metEvent(before *State, e Event, after *State) []string {
	phase := string(before.Phase)
	switch e := e.(type) {
	case Resumed:
		return append(metTakeOver(before), "resumed in "+phase)
	case TimerFired:
		return []string{pick(e.Cmd == before.DeadlineTimer, "deadline in "+phase, "")}
	case Cancelled, UserSaid, Noticed:
		return []string{string(e.Kind()) + " in " + phase}
	case HostFailed:
		stage := Stage("")
		if before.Cursor < len(before.Batch) {
			stage = before.Batch[before.Cursor].Stage
		}
		return []string{"host_failed in " + phase, "host_failed while " + string(stage)}
	case Reconciled:
		return []string{pick(e.Found == PresenceUnknown, "lookup unknown", string(e.Found)) + " in " + phase}
	case ClaimRefused:
		return []string{"claim refused: " + string(e.Why)}
	case EffectResolved:
		if before.Cursor < len(before.Batch) && before.Batch[before.Cursor].Stage == StageUnresolved && before.Batch[before.Cursor].Ledger == e.Effect {
			return []string{"resolved " + string(e.As), pick(e.Result != nil, "resolved landed with a result", "")}
		}
		return []string{"resolved and nothing waits"}
	case CallDecided:
		for i := range before.Batch {
			if c := &before.Batch[i]; c.Call.ID == e.Call && c.Approved {
				return []string{"after a yes: " + string(e.Answer)}
			}
		}
	case ModelReplied, Verified:
		if before.Said > 0 && after.Said == 0 && after.Phase == PhasePreparing && before.Ending.Stop == "" && len(before.Batch) == 0 {
			return []string{"the run goes on with what was said, " + pick(before.Answering, "after", "without") + " a verdict"}
		}
	}
	return nil
}

// metTakeOver names the stages of the calls that a take-over found.
func metTakeOver(before *State) (all []string) {
	for i := before.Cursor; i < len(before.Batch); i++ {
		c := &before.Batch[i]
		what := "resumed " + string(c.Stage) + " "
		switch {
		case before.Phase == PhaseDraining:
			all = append(all, "resumed in draining, "+string(c.Stage)+" "+string(c.Effect))
		case c.begun():
			all = append(all, what+string(c.Effect))
		default:
			all = append(all, what+pick(i == before.Cursor, "first", "behind"))
		}
		if c.Approved {
			all = append(all, "resumed with a yes unspent")
		} else if c.Stage == StageRunning && c.Asked != 0 {
			all = append(all, "resumed with a yes spent")
		}
		if c.Stage == StageRunning && c.Interrupted == 2 {
			all = append(all, "interrupted 3 times")
		}
	}
	return all
}

func metCommand(before *State, c Command) []string {
	switch c := c.(type) {
	case Settle:
		return []string{"settled " + string(c.Disposition)}
	case CloseApproval:
		return []string{"question " + string(c.As)}
	case AskHuman:
		for i := range before.Batch {
			if old := &before.Batch[i]; old.Call.ID == c.Call.ID && old.Asked != 0 && old.Asked != c.Cmd && !c.Escalated {
				return []string{"question put anew"}
			}
		}
		return []string{pick(c.Escalated, "question escalated", "")}
	}
	return nil
}
