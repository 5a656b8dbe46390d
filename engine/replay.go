package engine

import (
	"context"
	"slices"
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

	said     []string              // by the user, not yet in the history
	prior    int                   // messages of the session before the run
	answered int64                 // the record of Answer
	keep     func(*kernel.Message) // told of each new message; nil: nobody
}

// NewReplay begins a run whose session already holds the messages prior.
func NewReplay(run string, prior []kernel.Message) *Replay {
	return &Replay{Run: run, History: prompt.NewHistory(prior), prior: len(prior)}
}

// Apply takes the run one event further and returns the commands it causes,
// less the commits, which it carries out. An error is the kernel's, or that of
// a content which does not fit, and leaves everything as it was.
func (r *Replay) Apply(e kernel.Event, c Content) ([]kernel.Command, error) {
	state, commands, err := kernel.Step(r.State, e)
	if err != nil {
		return nil, err
	}
	before, said := len(r.History.Messages()), r.said
	if c.Said != nil {
		r.said = append(slices.Clip(r.said), c.Said.Text)
	}
	rest := commands[:0]
	for _, cmd := range commands {
		commit, ok := cmd.(kernel.Commit)
		if !ok {
			rest = append(rest, cmd)
			continue
		}
		if err := r.commit(commit, c); err != nil {
			r.History, r.said = prompt.NewHistory(r.History.Messages()[:before]), said
			return nil, err
		}
	}
	if c.Result != nil {
		r.addResult(e, c.Result) // the state before still knows the call
	}
	r.State = state
	r.Seq++
	r.committed(r.History.Messages()[before:])
	return rest, nil
}

// commit carries out a commit.
func (r *Replay) commit(commit kernel.Commit, c Content) error {
	content := c.prompt()
	if commit.What == kernel.CommitSaid {
		if len(r.said) == 0 {
			return &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a commit of what nobody said"}
		}
		content.Said = r.said[0]
		r.said = r.said[1:]
	}
	_, err := r.History.Commit(commit, content)
	return err
}

// committed takes note of new messages.
func (r *Replay) committed(messages []kernel.Message) {
	for i := range messages {
		m := &messages[i]
		if m.Role == kernel.RoleAssistant {
			r.Answer, r.answered = prompt.Text(m), r.Seq
		}
		if r.keep != nil {
			r.keep(m)
		}
	}
}

// prompt is the part of a content that a commit may refer to.
func (c Content) prompt() prompt.Content {
	var out prompt.Content
	switch {
	case c.Question != nil:
		out.Question = c.Question.Text
	case c.Message != nil:
		out.Message = c.Message
	case c.Result != nil:
		out.Result = c.Result.Text
	}
	return out
}

// addResult keeps a call's result as a fact.
func (r *Replay) addResult(e kernel.Event, content *Result) {
	call, facts := ResultOf(e)
	if facts == nil {
		return
	}
	fact := verify.Result{
		Evidence:    r.evidence(r.Seq + 1),
		Turn:        r.State.Turn,
		Call:        call,
		Text:        content.Text,
		Data:        content.Data,
		IsError:     content.IsError,
		Code:        facts.Code,
		Elapsed:     content.Elapsed,
		Disposition: facts.Disposition,
	}
	for i := range r.State.Batch {
		if c := &r.State.Batch[i].Call; c.ID == call {
			fact.Tool, fact.Arguments = c.Name, []byte(c.Arguments)
		}
	}
	r.Results = append(r.Results, fact)
}

// ResultOf is the call that an event tells the fate of, and the facts of the
// result that it gives: nil where it gives none. Other events are of no call.
func ResultOf(e kernel.Event) (call string, facts *kernel.ResultFacts) {
	switch e := e.(type) {
	case kernel.CallReturned:
		return e.Call, &e.Result
	case kernel.ClaimRefused:
		return e.Call, e.Result
	case kernel.Reconciled:
		return e.Call, e.Result
	case kernel.EffectResolved:
		return e.Call, e.Result
	}
	return "", nil
}

// evidence is the id of a record as a fact.
func (r *Replay) evidence(seq int64) string { return r.Run + "/" + strconv.FormatInt(seq, 10) }

// facts are what a verifier may look at now.
func (r *Replay) facts() verify.Facts {
	f := verify.Facts{Run: r.Run, Results: slices.Clone(r.Results)}
	for i := range f.Results { // the verifier's own, to keep or to change
		f.Results[i].Arguments = slices.Clone(f.Results[i].Arguments)
		f.Results[i].Data = slices.Clone(f.Results[i].Data)
	}
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

// Fold replays journaled records. Records that do not follow from one another,
// or cannot be read, are LOCAL_STORAGE; those of a newer program are VERSION.
func (r *Replay) Fold(records []journal.Record) error {
	for i := range records {
		if _, _, err := r.Next(&records[i]); err != nil {
			return err
		}
	}
	return nil
}

// Next replays one record, with the errors of Fold, and returns what it holds.
func (r *Replay) Next(rec *journal.Record) (kernel.Event, Content, error) {
	e, c, err := decode(rec)
	if err == nil && rec.Seq != r.Seq+1 {
		err = &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "record " + strconv.FormatInt(r.Seq+1, 10) + " is missing"}
	}
	if err == nil {
		_, err = r.Apply(e, c)
	}
	if err == nil {
		return e, c, nil
	}
	if kernel.CodeOf(err) == kernel.CodeVersion {
		return nil, Content{}, err
	}
	return nil, Content{}, &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: "record " + strconv.FormatInt(rec.Seq, 10) + " of run " + r.Run + " cannot be read, or does not follow from those before it",
		Hint:    "the journal was changed or damaged; restore it from a copy",
		Err:     err,
	}
}

// decode reads a record, whose kind must be that of its event.
func decode(rec *journal.Record) (kernel.Event, Content, error) {
	e, err := kernel.DecodeEvent(rec.Payload)
	if err != nil {
		return nil, Content{}, err
	}
	if e.Kind() != rec.Kind {
		return nil, Content{}, &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "the record says " + string(rec.Kind) + ", its event " + string(e.Kind())}
	}
	c, err := DecodeContent(e.Kind(), rec.Content)
	return e, c, err
}

// Snapshot is the run as it stands, under its head.
func (r *Replay) Snapshot(head journal.Head) *Run {
	run := &Run{Head: head, State: r.State, Outcome: r.State.Outcome, History: r.History.Messages()[r.prior:], Results: r.Results}
	if run.Outcome != nil && run.Outcome.Answered {
		run.Answer = r.Answer
	}
	return run
}
