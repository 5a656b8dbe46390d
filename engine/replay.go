package engine

import (
	"context"
	"strconv"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/verify"
)

// Replay is a run as its events make it: kernel state, canonical history and
// the facts that a verifier may look at. Driving a run and reading it back go
// through the same Apply, so that both see the same. It is not safe for
// concurrent use.
type Replay struct {
	Run     string
	State   kernel.State
	History *prompt.History
	Seq     int64 // of the latest record
	Results []verify.Result
	Answer  string // text of the last committed reply

	answered  int64                 // its record
	committed func(*kernel.Message) // told of each new message; nil: nobody
}

// NewReplay begins a run whose session already holds the messages prior.
func NewReplay(run string, prior []kernel.Message) *Replay {
	return &Replay{Run: run, History: prompt.NewHistory(prior)}
}

// Apply takes the run one event further and returns the commands it causes,
// less the commits, which it carries out. An error is the kernel's, and leaves
// everything as it was.
func (r *Replay) Apply(e kernel.Event, c Content) ([]kernel.Command, error) {
	state, commands, err := kernel.Step(r.State, e)
	if err != nil {
		return nil, err
	}
	call, ok := e.(kernel.CallReturned)
	if ok {
		r.addResult(call, c.Result) // the state before still knows the call
	}
	r.State = state
	r.Seq++
	rest := commands[:0]
	for _, cmd := range commands {
		commit, ok := cmd.(kernel.Commit)
		if !ok {
			rest = append(rest, cmd)
			continue
		}
		if err := r.commit(commit, c); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func (r *Replay) commit(cmd kernel.Commit, c Content) error {
	var content prompt.Content
	switch {
	case c.Question != nil:
		content.Question = c.Question.Text
	case c.Message != nil:
		content.Message = c.Message
	case c.Result != nil:
		content.Result = c.Result.Text
	}
	m, err := r.History.Commit(cmd, content)
	if err != nil {
		return err
	}
	if cmd.What == kernel.CommitReply {
		r.Answer, r.answered = prompt.Text(m), r.Seq
	}
	if r.committed != nil {
		r.committed(m)
	}
	return nil
}

func (r *Replay) addResult(e kernel.CallReturned, content *Result) {
	if content == nil {
		content = &Result{}
	}
	fact := verify.Result{
		Evidence:    r.evidence(r.Seq + 1),
		Turn:        r.State.Turn,
		Call:        e.Call,
		Text:        content.Text,
		Data:        content.Data,
		IsError:     content.IsError,
		Code:        e.Result.Code,
		Elapsed:     content.Elapsed,
		Disposition: e.Result.Disposition,
	}
	for i := range r.State.Batch {
		if c := &r.State.Batch[i].Call; c.ID == e.Call {
			fact.Tool, fact.Arguments = c.Name, []byte(c.Arguments)
		}
	}
	r.Results = append(r.Results, fact)
}

// evidence is the id of a record as a fact.
func (r *Replay) evidence(seq int64) string { return r.Run + "/" + strconv.FormatInt(seq, 10) }

// facts are what a verifier may look at now.
func (r *Replay) facts() verify.Facts {
	f := verify.Facts{Run: r.Run, Results: r.Results[:len(r.Results):len(r.Results)]}
	if r.State.Answering {
		f.Answer, f.AnswerEvidence = r.Answer, r.evidence(r.answered)
	}
	return f
}

// Read replays a run from its journal.
func (r *Replay) Read(ctx context.Context, j journal.Reader) error {
	records, err := j.Read(ctx, r.Run, r.Seq, 0)
	if err != nil {
		return err
	}
	return r.Fold(records)
}

// Load reads a run that nobody need be driving: NOT_FOUND when there is none.
// Its history is that of the run alone, without its session's earlier runs.
func Load(ctx context.Context, j journal.Reader, run string) (*Run, error) {
	head, err := j.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	replay := NewReplay(run, nil)
	if err := replay.Read(ctx, j); err != nil {
		return nil, err
	}
	return replay.Snapshot(head), nil
}

// Fold replays journaled records. Records that the kernel refuses are
// LOCAL_STORAGE: the journal does not hold what it should.
func (r *Replay) Fold(records []journal.Record) error {
	for i := range records {
		rec := &records[i]
		e, err := kernel.DecodeEvent(rec.Payload)
		if err != nil {
			return err
		}
		c, err := DecodeContent(rec.Kind, rec.Content)
		if err != nil {
			return err
		}
		if _, err := r.Apply(e, c); err != nil {
			return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "record " + strconv.FormatInt(rec.Seq, 10) + " of run " + r.Run + " does not follow from those before it", Err: err}
		}
	}
	return nil
}

// Snapshot is the run as it stands, under its head.
func (r *Replay) Snapshot(head journal.Head) *Run {
	run := &Run{Head: head, State: r.State, Outcome: r.State.Outcome, History: r.History.Messages(), Results: r.Results}
	if run.Outcome != nil && run.Outcome.Answered {
		run.Answer = r.Answer
	}
	return run
}
