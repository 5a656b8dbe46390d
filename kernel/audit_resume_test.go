package kernel

import (
	"maps"
	"reflect"
)

// number checks that command numbers only grow, but for what a take-over puts
// again, and books what is out.
func (a *auditor) number(c Command) {
	a.repeated = false
	n, reports := commandKey(c)
	if reports == "" {
		return
	}
	if old := a.again[n]; old != nil {
		a.repeated = true
		delete(a.again, n)
		a.check(reflect.DeepEqual(withoutSpan(old), withoutSpan(c)), "after a take-over, command %d is %v, and was %v", n, c, old)
	} else {
		a.check(n == a.lastCmd+1, "command %d follows %d", n, a.lastCmd)
		a.lastCmd = n
	}
	a.open[n] = c
}

// withoutSpan leaves out what a timer has left, which shrinks.
func withoutSpan(c Command) Command {
	if t, ok := c.(SetTimer); ok {
		t.After = 0
		return t
	}
	return c
}

func (a *auditor) forget(cmd Seq) {
	delete(a.open, cmd)
	delete(a.aborted, cmd)
}

// abort books an early end. What has an effect outside, or costs, still
// reports.
func (a *auditor) abort(c Abort) {
	a.check(a.open[c.Cmd] != nil && !a.aborted[c.Cmd], "aborts %d, which is not out", c.Cmd)
	if a.reports(c.Cmd) {
		a.aborted[c.Cmd] = true
		return
	}
	if c.Cmd == a.timer {
		a.timer = 0
	}
	if c.Cmd == a.observing {
		a.observing = 0
	}
	a.forget(c.Cmd)
}

// reports says whether a command that is out reports even when it is aborted.
func (a *auditor) reports(cmd Seq) bool {
	switch c := a.open[cmd].(type) {
	case CallModel, Summarize, Reconcile:
		return true
	case RunTool:
		return a.calls[c.Call.ID].running == cmd
	}
	return false
}

// owed reports whether a report is still awaited from something outside.
func (a *auditor) owed() bool {
	for cmd := range a.open {
		if a.reports(cmd) {
			return true
		}
	}
	return false
}

// resumed books what a take-over means: what was out is lost. What had begun
// has to be told or taken further, and the rest put again.
func (a *auditor) resumed() {
	a.takeovers++
	a.again = map[Seq]Command{}
	for cmd, c := range maps.Clone(a.open) {
		switch c := c.(type) {
		case CallModel, Summarize:
		case RunTool:
			if k := a.calls[c.Call.ID]; k.running == cmd {
				k.running, k.cut, k.doubt = 0, true, k.doubt || k.class() != Read
				k.lost++
			}
		default:
			a.again[cmd] = c
		}
		a.forget(cmd)
	}
	a.timer, a.observing = 0, 0
}

// nothingForgotten checks that a take-over has put again all that was out.
func (a *auditor) nothingForgotten() {
	for _, c := range a.again {
		a.fault("after a take-over, %s is forgotten", DescribeCommand(c))
	}
	a.again = nil
}

// outAgrees checks that the calls of the state wait for what is out, and that
// whatever is out is waited for.
func (a *auditor) outAgrees(s *State) {
	wanted := map[Seq]bool{s.Awaiting: true, s.DeadlineTimer: true, s.Observing: true}
	for i := range s.Batch {
		c := &s.Batch[i]
		wanted[c.Cmd], wanted[c.Timer] = true, true
		id := c.Call.ID
		if i < s.Cursor {
			a.check(c.Stage == StageAnswered && c.Cmd == 0, "call %s behind the cursor is %s", id, c.Stage)
			continue
		}
		a.check(c.Cmd == 0 || a.open[c.Cmd] != nil, "call %s waits for command %d, which is not out", id, c.Cmd)
		waits := c.Stage != StageReady && c.Stage != StageAnswered
		a.check(waits == (c.Cmd != 0) || s.Phase == PhaseDraining, "call %s is %s, and waits for command %d", id, c.Stage, c.Cmd)
		first := i == s.Cursor
		a.check(first || !c.begun() && c.Stage != StageStarting && c.Stage != StageUnresolved && c.Stage != StageRetrying, "call %s is %s out of turn", id, c.Stage)
		a.check(!first || s.Observing != 0 || c.Stage != StageReady && c.Stage != StageAnswered, "call %s is %s, and nothing is done", id, c.Stage)
	}
	for cmd, c := range a.open {
		a.check(wanted[cmd] || s.Phase == PhaseStopped, "%s is out, and not wanted", DescribeCommand(c))
	}
}

// waitsForPeople reports whether nothing is out but questions to people, and
// the timers that end them.
func (a *auditor) waitsForPeople() bool {
	asked := false
	for cmd, c := range a.open {
		timer, isTimer := c.(SetTimer)
		_, asks := c.(AskHuman)
		_, awaits := c.(AwaitResolution)
		switch {
		case asks, awaits:
			asked = true
		case cmd == a.timer, isTimer && timer.Timer == TimerApproval:
		default:
			return false
		}
	}
	return asked && a.finished == 0
}

// pauseAgrees checks that the state says so, and until when; and that the
// deadline's timer is out exactly when time goes on.
func (a *auditor) pauseAgrees(s *State) {
	w, waits := s.Waiting()
	a.check(waits == a.paused && s.Paused == a.paused, "waits for people: %t, paused %t, want %t", waits, s.Paused, a.paused)
	until := Time(0)
	for _, c := range a.open {
		if t, ok := c.(SetTimer); ok && t.Timer == TimerApproval && (until == 0 || t.At < until) {
			until = t.At
		}
	}
	if waits {
		a.check(w.Until == until, "waits until %d, want %d", w.Until, until)
		first := a.open[w.Cmd]
		_, asks := first.(AskHuman)
		a.check(first != nil && asks == (w.For == WaitApproval) && w.Call == a.pending[0].ID, "waits for %+v, which is not out", w)
	}
	goes := !a.paused && a.finished == 0 && s.Ending.Stop == ""
	a.check(!a.paused || a.timer == 0, "the deadline's timer is out in a pause")
	a.check(!goes || a.timer != 0 || a.late, "the deadline's timer is not out")
}
