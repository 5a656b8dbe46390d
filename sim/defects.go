package sim

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
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
	all := ledgerDefects()
	all = append(all, approvalDefects()...)
	all = append(all, journalDefects()...)
	return append(all, outsideDefects()...)
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

// ledgerDefects are about effects.
func ledgerDefects() []defect {
	return []defect{
		{
			Defect: named("effect before claim", "I6: the claim is durable before anything happens outside", "I6"),
			appends: func(h *handle, e journal.Entry, pass func(journal.Entry) error) error {
				if e.Claim != nil {
					h.world.hurry(h.process, &e)
				}
				return pass(e)
			},
		},
		{
			Defect: named("refused claim ignored", "I6: what the ledger does not give does not run", "I6"),
			appends: func(_ *handle, e journal.Entry, pass func(journal.Entry) error) error {
				err := pass(e)
				if kernel.CodeOf(err) == kernel.CodeEffectRefused {
					e.Claim = nil
					err = pass(e)
				}
				return err
			},
		},
		{
			Defect: named("new call id passes an unknown", "I6: an unknown is never retried blindly, whatever the call is named", "I6"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				e.Claim = claimAs(e.Claim, func(c *journal.Claim) { c.Request += c.Call })
			}),
		},
		{
			Defect:  named("repeat window ignored", "I6: an equal request is not repeated within the tool's window", "I6"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Claim = claimAs(e.Claim, func(c *journal.Claim) { c.Window = 0 }) }),
		},
		{
			Defect: named("exclusive ignored", "I6: an unknown of an exclusive tool blocks its other calls", "I6"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				e.Claim = claimAs(e.Claim, func(c *journal.Claim) { c.Exclusive = false })
			}),
		},
		{
			Defect: named("business key not of the claim", "I6: two calls of one key are one effect", "ledger"),
			appends: passEntry(func(h *handle, e *journal.Entry) {
				e.Claim = claimAs(e.Claim, func(c *journal.Claim) {
					c.Key += c.Call
					c.ID = journal.EffectID(e.Head.Tenant, c.Tool, c.Key)
				})
			}),
		},
		{
			Defect:  named("settle missing", "the ledger says what became of a claim", "ledger"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Settled = nil }),
		},
		{
			Defect: named("landed settled as no effect", "the ledger agrees with the world", "ledger"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				e.Settled = settledAs(e.Settled, kernel.Landed, kernel.DidNotHappen)
			}),
		},
		{
			Defect: named("doubt settled as no effect", "the ledger agrees with the world", "ledger"),
			appends: passEntry(func(_ *handle, e *journal.Entry) {
				e.Settled = settledAs(e.Settled, kernel.InDoubt, kernel.DidNotHappen)
			}),
		},
	}
}

func claimAs(c *journal.Claim, change func(*journal.Claim)) *journal.Claim {
	if c == nil {
		return nil
	}
	changed := *c
	change(&changed)
	return &changed
}

func settledAs(list []journal.Settlement, from, to kernel.Disposition) []journal.Settlement {
	out := make([]journal.Settlement, len(list))
	for i, s := range list {
		if s.Disposition == from {
			s.Disposition, s.Result, s.Facts = to, nil, nil
		}
		out[i] = s
	}
	return out
}

// approvalDefects are about people.
func approvalDefects() []defect {
	return []defect{
		{
			Defect:  named("approval not spent", "I7: an approval is spent, with the start of its call", "I7"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Spent = "" }),
		},
		{
			Defect: named("late vote counts", "I7: nobody decides after the expiry", "I7"),
			votes: func(h *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				if a, err := h.base.Approval(context.Background(), v.Approval); err == nil {
					v.At = a.Asked
				}
				return pass(v)
			},
		},
		{
			Defect: named("anyone may decide", "I7: who may decide is a rule", "I7"),
			votes: func(h *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				if a, err := h.base.Approval(context.Background(), v.Approval); err == nil && len(a.Approvers.From) > 0 && !a.Escalated {
					v.By = a.Approvers.From[0]
				}
				return pass(v)
			},
		},
		{
			Defect: named("asker may decide", "I7: the asker is excluded where the rule says so", "I7"),
			votes: func(h *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				if a, err := h.base.Approval(context.Background(), v.Approval); err == nil && v.By == a.User && len(a.Approvers.From) == 0 {
					v.By += " herself"
				}
				return pass(v)
			},
		},
		{
			Defect: named("one person is a quorum", "I7: one person has one vote", "I7"),
			votes: func(_ *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				a, err := pass(v)
				if err == nil && v.Approve && a.State == journal.ApprovalOpen && len(a.Approvers.From) == 0 {
					again := v
					again.ID, again.By = v.ID+" again", v.By+" again"
					return pass(again)
				}
				return a, err
			},
		},
		{
			Defect: named("hash not compared", "I7: a decision is bound to the content that was seen", "I7"),
			votes: func(_ *handle, v journal.Vote, pass func(journal.Vote) (journal.Approval, error)) (journal.Approval, error) {
				v.Hash = ""
				return pass(v)
			},
		},
		{
			Defect: named("policy not asked again", "I7: policy runs again when a run resumes, and after a yes", "I7"),
			decides: func(l *law, r policy.Request, decide func() (policy.Decision, error)) (policy.Decision, error) {
				at := r.Run + "/" + r.Call
				if d, known := l.remembered[at]; known {
					return d, nil
				}
				d, err := decide()
				if err == nil {
					l.remembered[at] = d
				}
				return d, err
			},
		},
		{
			Defect:  named("signal applied twice", "a signal is taken up once", "signals"),
			appends: passEntry(func(_ *handle, e *journal.Entry) { e.Applied = nil }),
		},
		{
			Defect: named("model's word verifies", "I5: verified comes from the verifier alone", "I5"),
			judges: func(v verify.Verdict) verify.Verdict {
				v.Verified = len(v.Evidence) > 0
				return v
			},
		},
	}
}
