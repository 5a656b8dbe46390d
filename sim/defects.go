package sim

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// Defect is a fault that can be put in on purpose, to see that the checks find
// it. It lies in what surrounds the engine: nothing of the product is changed.
type Defect struct {
	Name   string
	Breaks string // the guarantee
	Check  string // that has to find it: Violation.Invariant
}

// defect is where a Defect lies. What is nil is as it should be.
type defect struct {
	Defect

	appends func(h *handle, e journal.Entry, pass func(journal.Entry) error) error
	votes   func(h *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error)
	takes   func(now time.Time) time.Time

	sleeps  func(p *process, d time.Duration)
	waits   func(p *process, d time.Duration)
	boots   func(p *process)
	forgets func(d time.Duration) bool // a timer
	runs    func(c tool.Call, run func(tool.Call) (tool.Result, error)) (tool.Result, error)
	looks   func(tool.Found) tool.Found
	replies func(*model.Reply)
	sums    func(*model.Reply) // of a summary
	grumble func(run string)   // an observer found fault
	decides func(l *law, r policy.Request, decide func() (policy.Decision, error)) (policy.Decision, error)
	judges  func(verify.Verdict) verify.Verdict
	stores  func(s *simulation) journal.Reader
}

// Defects are the faults that Options.Defect can name.
func Defects() []Defect {
	var out []Defect
	for _, d := range defects() {
		out = append(out, d.Defect)
	}
	return out
}

// defectOf returns the defect of that name; one that does nothing for any
// other.
func defectOf(name string) *defect {
	for _, d := range defects() {
		if d.Name == name {
			return &d
		}
	}
	return &defect{}
}

func defects() []defect {
	return slices.Concat(claimDefects(), settleDefects(), voteDefects(), wordDefects(), leaseDefects(), timeDefects(), chainDefects(),
		toolDefects(), lookupDefects(), modelDefects(),
		besideDefects())
}

// passEntry changes an entry on its way.
func passEntry(change func(h *handle, e *journal.Entry)) func(*handle, journal.Entry, func(journal.Entry) error) error {
	return func(h *handle, e journal.Entry, pass func(journal.Entry) error) error {
		change(h, &e)
		return pass(e)
	}
}

func named(name, breaks, check string) Defect { return Defect{name, breaks, check} }

// append is the way of an entry to the journal.
func (d *defect) append(h *handle, e journal.Entry) error {
	pass := func(e journal.Entry) error { return h.base.Append(context.Background(), e) }
	if d.appends == nil {
		return pass(e)
	}
	return d.appends(h, e, pass)
}

func (d *defect) vote(h *handle, v journal.Vote) (journal.Approval, error) {
	pass := func(v journal.Vote) (journal.Approval, error) { return h.base.Decide(context.Background(), v) }
	if d.votes == nil {
		return pass(v)
	}
	return d.votes(h, v, pass)
}

func (d *defect) take(now time.Time) time.Time {
	if d.takes == nil {
		return now
	}
	return d.takes(now)
}

func (d *defect) sleep(p *process, nap time.Duration) {
	if d.sleeps != nil {
		d.sleeps(p, nap)
	}
}

func (d *defect) wait(p *process, took time.Duration) {
	if d.waits != nil {
		d.waits(p, took)
	}
}

func (d *defect) boot(p *process) {
	if d.boots != nil {
		d.boots(p)
	}
}

func (d *defect) forget(after time.Duration) bool { return d.forgets != nil && d.forgets(after) }

func (d *defect) run(c tool.Call, run func(tool.Call) (tool.Result, error)) (tool.Result, error) {
	if d.runs == nil {
		return run(c)
	}
	return d.runs(c, run)
}

func (d *defect) look(f tool.Found) tool.Found {
	if d.looks == nil {
		return f
	}
	return d.looks(f)
}

func (d *defect) reply(r *model.Reply) {
	if d.replies != nil {
		d.replies(r)
	}
}

func (d *defect) sum(r *model.Reply) {
	if d.sums != nil {
		d.sums(r)
	}
}

func (d *defect) grumbled(run string) {
	if d.grumble != nil {
		d.grumble(run)
	}
}

func (d *defect) decide(l *law, r policy.Request, decide func() (policy.Decision, error)) (policy.Decision, error) {
	if d.decides == nil {
		return decide()
	}
	return d.decides(l, r, decide)
}

func (d *defect) judge(v verify.Verdict) verify.Verdict {
	if d.judges == nil {
		return v
	}
	return d.judges(v)
}

func (d *defect) reader(s *simulation) journal.Reader {
	if d.stores == nil {
		return s.base
	}
	return d.stores(s)
}
