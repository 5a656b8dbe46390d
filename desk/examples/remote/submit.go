package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// State says how far a submission is.
type State string

// The states.
const (
	NotSent   State = "not_sent"  // nothing reached the service, or it refused
	UnderWay  State = "under_way" // begun; Work goes on with it where its process is gone
	Submitted State = "submitted"
	Unknown   State = "unknown" // it may be there: somebody has to find out
)

// Submission is how a confirmed draft stands with the service.
type Submission struct {
	Ticket  string `json:"ticket_id"` // the desk's
	State   State  `json:"state"`
	Remote  string `json:"remote_id,omitempty"` // the service's, where it is known
	Message string `json:"message,omitempty"`   // what the latest run was told
	Run     string `json:"run,omitempty"`       // the latest one
	Effect  string `json:"effect,omitempty"`    // in the ledger
}

// Submit confirms a person's draft and submits the ticket that comes of it, once,
// however often and by however many it is called. It returns when that has ended or waits
// for a finding; the end of ctx ends the waiting, not the submission. A draft whose
// submission had no effect is submitted anew. The errors are those of Confirm at
// the desk, and those of the journal.
func (d *Desk) Submit(ctx context.Context, who desk.Identity, draft, hash string) (Submission, error) {
	confirmed, err := d.config.Drafts.Confirm(ctx, who, draft, hash)
	if err != nil {
		return Submission{}, err
	}
	content, err := d.config.Drafts.Draft(ctx, who, draft) // which does not change any more
	if err != nil {
		return Submission{}, err
	}
	return d.send(ctx, who, Order{Ticket: confirmed.Ticket, Subject: content.Subject, Body: content.Body})
}

// Status is how a person's ticket stands with the service: NOT_FOUND where there
// is no draft of theirs, CONFLICT where it is not confirmed.
func (d *Desk) Status(ctx context.Context, who desk.Identity, draft string) (Submission, error) {
	content, err := d.config.Drafts.Draft(ctx, who, draft)
	if err != nil {
		return Submission{}, err
	}
	if content.Ticket == "" {
		return Submission{}, &kernel.Error{Code: kernel.CodeConflict, Message: "the draft is not confirmed", Hint: "read it and confirm it first"}
	}
	run, _, err := d.latest(ctx, content.Ticket)
	if err != nil || run == "" {
		return Submission{Ticket: content.Ticket, State: NotSent}, err
	}
	return d.state(ctx, content.Ticket, run)
}

// send follows the submission of a ticket, or begins it: the first one, or the
// next where the latest is over without effect.
func (d *Desk) send(ctx context.Context, who desk.Identity, o Order) (Submission, error) {
	run, next, err := d.latest(ctx, o.Ticket)
	if err != nil {
		return Submission{}, err
	}
	if run != "" {
		s, err := d.state(ctx, o.Ticket, run)
		if err != nil || s.State != NotSent {
			return d.follow(ctx, o.Ticket, run, err)
		}
	}
	return d.follow(ctx, o.Ticket, next, d.begin(ctx, who, next, o))
}

// begin starts a submission, unless somebody else was faster: then it is theirs.
func (d *Desk) begin(ctx context.Context, who desk.Identity, run string, o Order) error {
	agent, err := d.agent(o)
	if err != nil {
		return err
	}
	order, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = d.rt.Start(ctx, holdfast.Start{
		Agent: agent, Run: run, Question: "Submit the ticket " + o.Ticket + ".", Config: order,
		Tenant: who.Tenant, User: who.User,
	})
	if kernel.CodeOf(err) == kernel.CodeConflict {
		return nil
	}
	return err
}

// Sweep submits what a person has confirmed and nobody has begun to submit, since
// the process ended between the two, and returns how that stands.
func (d *Desk) Sweep(ctx context.Context, who desk.Identity) ([]Submission, error) {
	drafts, err := d.config.Drafts.Drafts(ctx, who)
	all := []Submission{}
	for i := range drafts {
		c := &drafts[i]
		if err != nil || c.Ticket == "" {
			continue
		}
		var run string
		if run, _, err = d.latest(ctx, c.Ticket); err != nil || run != "" {
			continue
		}
		var s Submission
		if s, err = d.send(ctx, who, Order{Ticket: c.Ticket, Subject: c.Subject, Body: c.Body}); err == nil {
			all = append(all, s)
		}
	}
	return all, err
}

// submissions begins the id of each run of a submission.
const submissions = "submit-"

func runOf(ticket string, try int) string { return fmt.Sprintf("%s%s-%d", submissions, ticket, try) }

// latest returns the latest run that submits a ticket, empty where there is none,
// and the id of the next one.
func (d *Desk) latest(ctx context.Context, ticket string) (run, next string, err error) {
	for try := 1; ; try++ {
		next = runOf(ticket, try)
		_, err := d.rt.Get(ctx, next)
		if kernel.CodeOf(err) == kernel.CodeNotFound {
			return run, next, nil
		}
		if err != nil {
			return "", "", err
		}
		run = next
	}
}

// follow waits until a run has stopped or waits for people, and takes it over
// where its process is gone.
func (d *Desk) follow(ctx context.Context, ticket, run string, err error) (Submission, error) {
	if err != nil {
		return Submission{}, err
	}
	ended, err := d.watch(ctx, run)
	if err == nil && !ended {
		err = d.work(ctx, func(h journal.Head) bool { return h.Run == run })
	}
	if err != nil {
		return Submission{}, err
	}
	return d.state(ctx, ticket, run)
}

// watch waits while anybody drives the run.
func (d *Desk) watch(ctx context.Context, run string) (ended bool, err error) {
	for u, err := range d.rt.Watch(ctx, run, 0) {
		if err != nil {
			return false, err
		}
		if u.Outcome != nil || u.Waiting != nil {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Work takes up the submissions that can go on: those whose process is gone, and
// those that waited for a finding which is there now. It returns when there is
// nothing left to do.
func (d *Desk) Work(ctx context.Context) error {
	return d.work(ctx, func(h journal.Head) bool { return strings.HasPrefix(h.Run, submissions) })
}

func (d *Desk) work(ctx context.Context, only func(journal.Head) bool) error {
	return d.rt.Work(ctx, holdfast.Workload{Once: true, Only: only})
}

// state reads a submission's run and its row in the ledger.
func (d *Desk) state(ctx context.Context, ticket, run string) (Submission, error) {
	s := Submission{Ticket: ticket, Run: run, State: UnderWay}
	r, err := d.rt.Get(ctx, run)
	if err != nil {
		return s, err
	}
	rows, err := d.rt.Journal().Effects(ctx, journal.EffectQuery{Run: run})
	if err != nil {
		return s, err
	}
	if r.Outcome != nil {
		s.State = NotSent
	}
	for _, m := range r.History {
		if m.Role == kernel.RoleTool {
			s.Message = m.Blocks[0].Text
		}
	}
	if len(rows) == 0 {
		return s, nil
	}
	e := &rows[0]
	s.Effect = e.ID
	switch e.State {
	case journal.EffectLanded:
		s.State, s.Remote = Submitted, remoteID(e)
	case journal.EffectUnknown:
		s.State = Unknown
	case journal.EffectNone, journal.EffectRunning: // as its run says
	}
	return s, nil
}

// remoteID is the service's id of a ticket, from its receipt. What a person wrote
// of it need be none.
func remoteID(e *journal.Effect) string {
	r, _ := engine.EffectResult(e)
	var receipt Receipt
	if json.Unmarshal([]byte(cmp.Or(string(r.Data), r.Text)), &receipt) != nil {
		return ""
	}
	return receipt.Remote
}
