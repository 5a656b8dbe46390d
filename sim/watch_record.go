package sim

import (
	"fmt"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// takeRecord takes a run one record further.
func (w *watch) takeRecord(p *process, r *shadow, e *journal.Entry, i int, begun time.Time) {
	rec := &e.Records[i]
	w.records++
	r.seq++
	if r.seq > maxRecords {
		w.failf("liveness", "%s goes on for ever: %d records", r.plan.id, r.seq)
	}
	if rec.Seq != r.seq {
		w.failf("records", "%s: record %d where %d belongs", r.plan.id, rec.Seq, r.seq)
	}
	if r.replay.State.Outcome != nil {
		w.failf("I4", "%s: record %d (%s) behind the stop", r.plan.id, rec.Seq, rec.Kind)
		return
	}
	r.hash = journal.Link(r.hash, r.plan.id, rec)
	before, said := r.replay.State, r.replay.History.Messages()
	event, content, err := r.replay.Next(rec)
	if err != nil {
		w.failf("replay", "%s: record %d (%s) cannot follow: %v", r.plan.id, rec.Seq, rec.Kind, err)
		return
	}
	if w.opts.Timeline {
		w.tracef(p, "%s %3d  %s", r.plan.id, rec.Seq, kernel.DescribeEvent(event))
	}
	r.account.take(event, &before, &r.replay.State)
	r.uncertain = r.uncertain || lost(event, &before)
	w.takeBeside(r, event, &before, len(said))
	w.takeEvent(r, e, event, content, rec.Seq, begun, &before)
}

func (w *watch) takeEvent(r *shadow, e *journal.Entry, event kernel.Event, content engine.Content, seq int64, begun time.Time, before *kernel.State) {
	w.seen[string(event.Kind())]++
	switch ev := event.(type) {
	case kernel.ClaimRefused:
		w.seen["claim refused: "+string(ev.Why)]++
	case kernel.TimerFired:
		w.seen["timer "+string(ev.Timer)]++
	case kernel.Resumed:
		w.seen["taken over "+string(before.Phase)]++
		r.resumed = seq
		r.disturbed = r.disturbed || r.head.State == journal.Running
	case kernel.Cancelled:
		r.cancelled = true
	case kernel.CallDecided:
		w.takeDecision(r, &ev, seq)
	case kernel.ApprovalDecided:
		w.takeApproval(r, &ev, seq)
	case kernel.CallStarted:
		w.takeStart(r, e, &ev, seq, begun)
	case kernel.CallReturned:
		r.tries[ev.Call] = r.tries[ev.Call].returned(ev.Result.Disposition)
		w.takeReturn(r, &ev, content)
	case kernel.Reconciled:
		if ev.Found == kernel.Absent {
			r.tries[ev.Call] = tries{begun: true}
		}
	case kernel.UserSaid:
		w.once(r, ev.Signal, "what was said")
	case kernel.EffectResolved:
		w.once(r, fmt.Sprintf("%s %s %s", ev.Effect, ev.As, ev.Note), "a resolution")
	}
}

// lost reports whether an event says that something is lost which nobody can
// make up for.
func lost(event kernel.Event, before *kernel.State) bool {
	switch e := event.(type) {
	case kernel.Resumed:
		for i := before.Cursor; i < len(before.Batch); i++ {
			c := &before.Batch[i]
			if c.Stage == kernel.StageRunning && (c.Effect == kernel.Once || c.Interrupted >= 2) {
				return true
			}
		}
	case kernel.Reconciled:
		return e.Found == kernel.PresenceUnknown
	case kernel.HostFailed:
		return true
	}
	return false
}

// once looks that a signal becomes one event.
func (w *watch) once(r *shadow, signal, what string) {
	if r.signals[signal] {
		w.failf("signals", "%s takes %s (%s) up twice", r.plan.id, what, signal)
	}
	r.signals[signal] = true
}

func (w *watch) takeDecision(r *shadow, e *kernel.CallDecided, seq int64) {
	v := r.decided[e.Call]
	if v == nil {
		v = &verdict{}
		r.decided[e.Call] = v
	}
	v.record, v.answer, v.spent = seq, e.Answer, false
	if e.Rule == "" { // policy was not asked
		return
	}
	v.count++
	if e.Answer == kernel.Allow || e.Answer == kernel.Ask {
		w.record(r, e)
	}
	if v.count > r.consulted[e.Call] || r.said[e.Call] != e.Answer {
		w.failf("I7", "call %s of %s was decided %d times (%s), and policy asked %d times (%s)", e.Call, r.plan.id, v.count, e.Answer, r.consulted[e.Call], r.said[e.Call])
	}
}

func (w *watch) takeApproval(r *shadow, e *kernel.ApprovalDecided, seq int64) {
	w.once(r, "decision on "+e.Approval, "a decision")
	q := w.questions[e.Approval]
	if q == nil {
		w.failf("I7", "%s takes a decision on %s up, which was not asked", r.plan.id, e.Approval)
		return
	}
	if yes := q.state == journal.ApprovalApproved || q.state == journal.ApprovalSpent || q.state == journal.ApprovalLapsed; e.Approved && !yes {
		w.failf("I7", "%s takes a yes on %s up, which is %s", r.plan.id, e.Approval, q.state)
	}
	if v := r.decided[e.Call]; v != nil && e.Approved {
		v.granted, v.at = seq, e.At
	}
}

func (w *watch) takeStart(r *shadow, e *journal.Entry, ev *kernel.CallStarted, seq int64, begun time.Time) {
	plan := r.plan.call(ev.Call)
	if plan == nil {
		w.failf("I1", "%s starts call %s, which was not admitted", r.plan.id, ev.Call)
		return
	}
	read := w.classOf(plan, ev.Call) == kernel.Read
	if claimed := e.Claim != nil && e.Claim.ID == ev.Effect && e.Claim.Call == ev.Call; claimed == read {
		w.failf("I6", "%s starts call %s of %s, claimed: %t", r.plan.id, ev.Call, plan.tool, claimed)
	}
	if q, v := w.questions[e.Spent], r.decided[ev.Call]; q != nil && v != nil && q.Call == ev.Call {
		v.spent = true
	}
	if e.Claim != nil && e.Claim.Class != w.classOf(plan, ev.Call) {
		w.failf("I6", "%s claims call %s as %s, and it was recorded as %s", r.plan.id, ev.Call, e.Claim.Class, w.classOf(plan, ev.Call))
	}
	if w.classOf(plan, ev.Call) != plan.traits().class {
		w.seen["started under another class"]++
	}
	if r.tries[ev.Call].over {
		w.failf("I6", "%s starts call %s again, which began as less than its tool is by now", r.plan.id, ev.Call)
	}
	r.tries[ev.Call] = r.tries[ev.Call].started()
	w.checkStart(r, ev, seq)
	w.checkDeadline(r, "starts call "+ev.Call, begun)
}

// checkDeadline looks whether the run may still do something.
func (w *watch) checkDeadline(r *shadow, what string, now time.Time) {
	end := r.replay.State.Started.Add(r.plan.limits.Deadline + r.paused)
	if !w.jumps && !now.Before(time.Unix(0, int64(end))) {
		w.failf("I8", "%s %s at %s, and its time was over at %s", r.plan.id, what, now, time.Unix(0, int64(end)).UTC())
	}
}

// takeReturn compares a result with what the tool has returned.
func (w *watch) takeReturn(r *shadow, e *kernel.CallReturned, content engine.Content) {
	plan := r.plan.call(e.Call)
	if plan == nil || content.Result == nil || e.Result.Status != kernel.StatusOK {
		return
	}
	if !w.world.returned[r.plan.id+"/"+e.Call+" "+content.Result.Text] {
		w.failf("results", "%s records %q of call %s, which the tool has not returned", r.plan.id, content.Result.Text, e.Call)
	}
}
