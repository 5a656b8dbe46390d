package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/prompt"
)

// beside is what goes beside a run, kept a second time.
type beside struct {
	pending, attached []string // notices that wait, and those that go with the request
	at, again         int      // the step whose reply is in the history
	given             []kernel.Usage
}

// takeBeside takes notices, summaries and observations one record further. The
// history had so many messages before.
func (w *watch) takeBeside(r *shadow, event kernel.Event, before *kernel.State, messages int) {
	switch e := event.(type) {
	case kernel.RunStarted:
		r.at = -1
	case kernel.Noticed:
		if w.read[e.Notice] || slices.Contains(r.pending, e.Notice) {
			w.failf("notices", "%s takes notice %s up, which was read or is pending", r.plan.id, e.Notice)
		}
		r.pending = append(r.pending, e.Notice)
	case kernel.ContextPrepared:
		r.attached = e.Attached
		if e.Compacted != nil {
			w.seen["compaction by "+string(e.Compacted.Summary)]++
		}
	case kernel.ModelReplied:
		w.takeReply(r, messages)
	case kernel.Summarized:
		w.takeSummary(r, &e)
	case kernel.Observed:
		if !w.looked[r.plan.id+"/"+e.Call] {
			w.failf("I11", "%s records that call %s was observed, and nobody has looked", r.plan.id, e.Call)
		}
	case kernel.Resumed:
		if before.Observing != 0 {
			w.seen["taken over observing"]++
		}
	}
}

// takeReply lets go of the notices that went with a request whose reply is in
// the history now.
func (w *watch) takeReply(r *shadow, messages int) {
	for _, m := range r.replay.History.Messages()[messages:] {
		if m.Role != kernel.RoleAssistant {
			continue
		}
		if _, err := fmt.Sscanf(prompt.Text(&m), "step %d again %d", &r.at, &r.again); err != nil {
			w.failf("history", "a reply of %s reads %q", r.plan.id, prompt.Text(&m))
		}
		for _, id := range r.attached {
			if !w.shown[id] {
				w.failf("notices", "%s lets go of notice %s, which no model was shown", r.plan.id, id)
			}
			w.read[id] = true
			w.seen["notice read"]++
		}
		r.pending = slices.DeleteFunc(r.pending, func(id string) bool { return w.read[id] })
		r.attached = nil
	}
}

// takeSummary compares what a summary is said to have used with what it did.
func (w *watch) takeSummary(r *shadow, e *kernel.Summarized) {
	if e.Failure != nil {
		w.seen["summary failed"]++
		return
	}
	w.seen["summary whole"]++
	i := -1
	if e.Usage != nil {
		i = slices.Index(r.given, *e.Usage)
	}
	if i < 0 {
		w.failf("I14", "%s records a summary that used %+v; those it was given used %+v", r.plan.id, e.Usage, r.given)
		return
	}
	r.given = slices.Delete(r.given, i, i+1)
}

// summaryGiven takes note of what a summary used.
func (w *watch) summaryGiven(plan *runPlan, u kernel.Usage) {
	if r := w.runs[plan.id]; r != nil {
		r.given = append(r.given, u)
	}
}

// summaryAsked looks at a request for a summary: it counts as any other.
func (w *watch) summaryAsked(p *process, plan *runPlan, req *model.Request) {
	r := w.runs[plan.id]
	if r == nil {
		w.failf("records", "a summary is asked for %s, which is not recorded", plan.id)
		return
	}
	if r.requests++; r.requests > plan.retry.PerRun {
		w.failf("I8", "%s sends %d requests, and may send %d", plan.id, r.requests, plan.retry.PerRun)
	}
	if s := &r.replay.State; r.lease.Owner == p.name && s.Phase != kernel.PhaseSummarizing {
		w.failf("records", "%s asks for a summary, and is %s", plan.id, s.Phase)
	}
	for i := range req.Messages {
		w.checkTenant(plan, req.Messages[i].Message)
	}
}

// checkShown looks at the notices of a request: each of those that go with it is
// there once, behind the history, and none is in the history.
func (w *watch) checkShown(r *shadow, req *model.Request) {
	messages := req.Messages
	if len(r.attached) > 0 {
		last := prompt.Text(messages[len(messages)-1].Message)
		messages = messages[:len(messages)-1]
		for _, id := range r.attached {
			if strings.Count(last, noticeText(id)) != 1 {
				w.failf("I9", "%s sends a request with notice %s, which reads %q", r.plan.id, id, last)
			}
			w.shown[id] = true
		}
	}
	for i := range messages {
		if text := prompt.Text(messages[i].Message); strings.Contains(text, noticeText("note-")[:14]) {
			w.failf("I9", "%s has a notice in its history: %q", r.plan.id, text)
		}
	}
}

// checkNotices compares what waits in the journal with what was not read.
func (w *watch) checkNotices(r *shadow) {
	if len(r.plan.notices) == 0 && len(r.pending) == 0 {
		return
	}
	kept := w.kept(r.plan)
	for _, id := range r.pending {
		if !slices.Contains(kept, id) {
			w.failf("notices", "notice %s of %s is gone from the journal, and nobody has replied to it", id, r.plan.id)
		}
	}
	for _, id := range kept {
		if w.read[id] {
			w.failf("notices", "notice %s of %s waits in the journal, and was read", id, r.plan.id)
		}
	}
}

// kept are the notices that the journal has for a run's session.
func (w *watch) kept(r *runPlan) (ids []string) {
	of := journal.SessionID{Owner: journal.Owner{Tenant: r.tenant, User: r.user}, Session: r.session}
	waiting, err := w.base.Notices(background(), of)
	if err != nil {
		w.failf("notices", "the notices of %s cannot be read: %v", r.session, err)
	}
	for i := range waiting {
		ids = append(ids, waiting[i].ID)
	}
	return ids
}

// checkKept looks that a notice which was taken is read, or still waits.
func (w *watch) checkKept(h heard) {
	if !w.read[h.wish.id] && !slices.Contains(w.kept(h.run), h.wish.id) {
		w.failf("notices", "notice %s for %s is lost", h.wish.id, h.run.id)
	}
}

// lookedAt looks at what an observer is shown: what the records say the call
// came to.
func (w *watch) lookedAt(plan *runPlan, q *policy.Request, a *policy.Answered) {
	w.looked[plan.id+"/"+q.Call] = true
	r := w.runs[plan.id]
	if r == nil {
		return
	}
	for _, m := range r.replay.History.Messages() {
		if b := &m.Blocks[0]; m.Role == kernel.RoleTool && b.CallID == q.Call && b.Text == a.Text && b.IsError == a.IsError {
			return
		}
	}
	w.failf("I11", "an observer is shown %q for call %s of %s, which is not recorded", a.Text, q.Call, plan.id)
}
