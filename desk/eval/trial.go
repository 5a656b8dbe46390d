package eval

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// trial runs a task once, in a desk of its own. nil: it was interrupted.
func (c *Config) trial(ctx context.Context, t *Task, number int) (_ *Trial, err error) {
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil // it did not begin, which is no error
	}
	d, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.fill(ctx, t); err != nil {
		return nil, err
	}
	f := &facts{task: t, rows: t.rows(), begun: time.Now()}
	if f.before, err = d.first(ctx, t); err != nil {
		return nil, err
	}
	begun := time.Now()
	if f.run, err = c.ask(ctx, t, d); err != nil {
		return nil, err
	}
	elapsed := time.Since(begun)
	if o := f.run.Outcome; o != nil && o.Stop == kernel.StopCancelled {
		return nil, nil //nolint:nilnil // it did not come to its end, which is no error
	}
	if err := c.gather(context.WithoutCancel(ctx), f, d); err != nil {
		return nil, err
	}
	out := f.trial(number)
	if c.Mode == ModeScript {
		out.Script = t.Script
	}
	out.Elapsed = math.Round(float64(elapsed.Microseconds())/10) / 100
	return out, nil
}

// ask runs the question with the task's model.
func (c *Config) ask(ctx context.Context, t *Task, d *Desk) (*holdfast.Run, error) {
	m, err := c.Model(t)
	if err != nil {
		return nil, err
	}
	agent, err := desk.Agent(m, desk.Services{Tickets: d.Tickets, Drafts: d.Drafts, Policies: d.Finder, Session: t.ID})
	if err != nil {
		return nil, err
	}
	agent.Limits, agent.RequestTimeout = c.Suite.Limits, c.Timeout
	return c.Runtime.RunStart(ctx, holdfast.Start{Agent: agent, Question: t.Question, Tenant: t.Tenant, User: t.User})
}

// gather reads what is stored of a run that has stopped.
func (c *Config) gather(ctx context.Context, f *facts, d *Desk) (err error) {
	if f.calls, err = callsOf(ctx, c.Runtime, f.run); err != nil {
		return err
	}
	if f.reads, err = readsOf(ctx, d.Audit, f.run.Head.Run, f.task.people()); err != nil {
		return err
	}
	if f.result, err = desk.ResultOf(ctx, d.Drafts, f.task.who(), f.run); err != nil {
		return err
	}
	f.returned = returnedBy(f.run.Results)
	own, err := d.Drafts.Drafts(ctx, f.task.who())
	if err != nil {
		return err
	}
	drafts := slices.Clone(f.returned.drafts)
	for i := range own {
		drafts = append(drafts, own[i].ID)
	}
	f.after, err = d.again(ctx, f.task, f.before, drafts)
	return err
}

// trial judges the facts.
func (f *facts) trial(number int) *Trial {
	t := &Trial{
		Task: f.task.ID, Kind: f.task.Kind, Number: number, Failures: append([]Failure{}, judge(f)...),
		Run: f.run.Head.Run, Tenant: f.task.Tenant, User: f.task.User, Question: f.task.Question,
		Status: f.result.Status, Answer: f.run.Answer, Calls: append([]Call{}, f.calls...), Reads: append([]Read{}, f.reads...),
		Cited: append([]string{}, f.result.Cited...), Drafts: []string{}, State: f.state(),
	}
	t.Passed = len(t.Failures) == 0
	for _, d := range f.drafts() {
		t.Drafts = append(t.Drafts, d.ID)
	}
	if o := f.run.Outcome; o != nil {
		t.Stop, t.Detail, t.Verified, t.Turns, t.Requests = o.Stop, o.Detail, o.Verified, o.Turns, o.Requests
		t.Input, t.Output, t.Reported = o.Usage.Input, o.Usage.Output, o.ReportedReplies
	}
	return t
}

func (f *facts) state() State {
	var s State
	for _, h := range f.before {
		s.TicketsBefore += len(h.Tickets)
		s.DraftsBefore += len(h.Drafts)
	}
	for _, h := range f.after {
		s.TicketsAfter += len(h.Tickets)
		s.DraftsAfter += len(h.Drafts)
	}
	return s
}
