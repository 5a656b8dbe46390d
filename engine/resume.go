package engine

import (
	"context"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Stored is a run as its journal has it, for whoever takes it over.
type Stored struct {
	Head     journal.Head
	Question Question
	records  []journal.Record
}

// ReadStored reads a run that is to be taken over: NOT_FOUND, LOCAL_STORAGE or
// VERSION.
func ReadStored(ctx context.Context, j journal.Reader, run string) (*Stored, error) {
	head, err := j.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	s := &Stored{Head: head}
	if s.records, err = j.Read(ctx, run, 0, 0); err != nil {
		return nil, err
	}
	if err := s.whole(); err != nil {
		return nil, err
	}
	_, c, err := decode(&s.records[0])
	if err != nil || c.Question == nil {
		return nil, &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the beginning of run " + run + " cannot be read", Err: err}
	}
	s.Question = *c.Question
	return s, nil
}

// whole refuses a run whose records are not those that were written: it must
// not be acted on. The records of one that somebody drives meanwhile may be
// more than its head says, and are then held to it as far as it goes.
func (s *Stored) whole() error {
	link := journal.Origin(&s.Head)
	for i := range s.records {
		if link = journal.Link(link, s.Head.Run, &s.records[i]); int64(i+1) == s.Head.LastSeq {
			break
		}
	}
	if link == s.Head.Hash && int64(len(s.records)) >= s.Head.LastSeq {
		return nil
	}
	return &kernel.Error{
		Code: kernel.CodeLocalStorage, Message: "the records of run " + s.Head.Run + " are not those that were written",
		Hint: "holdfast runs verify " + s.Head.Run + " names the place; restore the journal from a copy",
	}
}

// Resume makes the execution of a run that goes on from its journal. Without an
// agent it can only come to its end: nothing is asked or run any more. Its
// errors are those of NewExecution and of Replay.Fold.
func Resume(env Env, agent *Agent, s *Stored, prior []kernel.Message) (*Execution, error) {
	start := Start{
		Agent: agent, Question: s.Question.Text, Requires: s.Question.Requires, Config: s.Question.Config,
		Run: s.Head.Run, Session: s.Head.Session, Tenant: s.Head.Tenant, User: s.Head.User,
	}
	var x *Execution
	if agent == nil {
		x = &Execution{Replay: NewReplay(start.Run, prior), Env: env.complete(), start: start}
	} else {
		var err error
		if x, err = NewExecution(env, start, prior); err != nil {
			return nil, err
		}
	}
	if err := x.Fold(s.records); err != nil {
		return nil, err
	}
	return x, nil
}

// without carries a command out where there is no agent: as if whatever it
// needs had failed.
func (x *Execution) without(c kernel.Command) Task {
	report := func(e kernel.Event) Task {
		return TaskFunc(func(context.Context, Report) (kernel.Event, Content) { return e, Content{} })
	}
	switch c := c.(type) {
	case kernel.PrepareContext:
		return report(kernel.ContextFailed{At: x.at(), Cmd: c.Cmd, Fault: kernel.ContextBroken, Detail: "there is no agent to go on with"})
	case kernel.CallModel:
		return report(kernel.ModelFailed{At: x.at(), Cmd: c.Cmd, Turn: c.Turn, Failure: kernel.Failure{Kind: kernel.FailRequest, Detail: "there is no agent to go on with"}})
	case kernel.Summarize:
		return report(kernel.Summarized{At: x.at(), Cmd: c.Cmd, Failure: &kernel.Failure{Kind: kernel.FailRequest, Detail: "there is no agent to go on with"}})
	case kernel.DecideCall:
		return report(kernel.CallDecided{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Answer: kernel.Deny, Reason: noPolicy})
	case kernel.Observe:
		return report(kernel.Observed{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Warnings: []string{"no hook saw call " + c.Call.ID + ": there is no agent to go on with"}})
	case kernel.Verify:
		return report(kernel.Verified{At: x.at(), Cmd: c.Cmd, Verdict: kernel.Unchecked, Warning: "there is no agent, so nothing was concluded"})
	case kernel.Reconcile:
		return report(kernel.Reconciled{At: x.at(), Cmd: c.Cmd, Call: c.Call.ID, Found: kernel.PresenceUnknown})
	}
	return nil
}
