package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

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

	// NoResults are the calls that were answered without a result.
	NoResults []verify.NoResult

	asked    []string // the question, and what the user said later
	said     []string // by the user, not yet in the history
	notices  []notice // that were taken up
	narrow   []narrowing
	defined  []Definition     // of the tools of sources
	summary  summary          // that the next preparation finds
	prior    int              // messages of the session before the run
	question int              // where the run's question is in the history
	added    int              // messages that the latest event brought, the last ones
	answered int64            // the record of Answer
	observer observer         // nil: nobody
	room     []kernel.Command // for what the next event causes
}

// observer follows what a replay comes to.
type observer interface {
	// kept is told of each new message, with the text of a result as it was
	// quoted, if it was, and compacted of a history that took the
	// place of the one before, of which rest messages remain as the last ones.
	kept(m *kernel.Message, quoted []byte)
	compacted(before, after []kernel.Message, c *prompt.Compaction)
	// followed is told of each event that was taken, once its messages are there.
	followed(e kernel.Event, c Content)
}

// notice is a text for one request.
type notice struct{ id, text string }

// summary is what a model made of the first messages of the history, which is
// still as it was.
type summary struct {
	messages int    // how many
	text     string // empty: there is none
}

// NewReplay begins a run whose session already holds the messages prior.
func NewReplay(run string, prior []kernel.Message) *Replay {
	return &Replay{Run: run, History: prompt.NewHistory(prior), prior: len(prior)}
}

// Apply takes the run one event further and returns the commands it causes,
// less the commits, which it carries out. The next Apply writes over the slice.
// An error is the kernel's, or that of a content which does not fit. It leaves
// everything as it was, and so does a panic, unless it is the observer's.
func (r *Replay) Apply(e kernel.Event, c Content) (rest []kernel.Command, err error) {
	before, taken := r.State, false
	var undo historyMark
	defer func() {
		if taken {
			return
		}
		r.State = before
		if undo.history != nil { // the kernel took the event
			r.restore(undo)
		}
	}()
	commands, err := kernel.Advance(&r.State, r.room[:0], e)
	if err != nil {
		return nil, err
	}
	r.room, rest = commands, commands[:0]
	undo = r.history()
	r.begin(e, c)
	for _, cmd := range commands {
		commit, ok := cmd.(kernel.Commit)
		if !ok {
			rest = append(rest, cmd)
			continue
		}
		if err := r.commit(e, commit, c); err != nil {
			return nil, err
		}
	}
	if c.Result != nil {
		r.addResult(e, c.Result)
	}
	taken = true
	r.Seq++
	r.committed(undo.messages, c)
	if r.observer != nil {
		r.observer.followed(e, c)
	}
	return rest, nil
}

// historyMark is what Apply may change of a history before it is sure to do so.
type historyMark struct {
	history               *prompt.History
	messages              []kernel.Message
	asked, said           []string
	notices               []notice
	defined               []Definition
	summary               summary
	prior, question, seen int
	noResults             int
}

func (r *Replay) history() historyMark {
	return historyMark{r.History, r.History.Messages(), r.asked, r.said, r.notices, r.defined, r.summary, r.prior, r.question, r.added, len(r.NoResults)}
}

func (r *Replay) restore(m historyMark) {
	r.History = m.history.With(m.messages)
	r.asked, r.said, r.notices, r.defined, r.summary = m.asked, m.said, m.notices, m.defined, m.summary
	r.prior, r.question, r.added = m.prior, m.question, m.seen
	r.NoResults = r.NoResults[:m.noResults:m.noResults]
}

// begin takes in what an event brings, before what follows from it.
func (r *Replay) begin(e kernel.Event, c Content) {
	r.added = 0
	switch e := e.(type) {
	case kernel.RunStarted:
		if c.Question != nil {
			r.asked = []string{c.Question.Text}
		}
		if c.Question != nil && c.Question.Prior > len(r.History.Messages()) {
			r.History = prompt.Partial()
		}
	case kernel.UserSaid:
		if c.Said != nil {
			r.asked = append(slices.Clip(r.asked), c.Said.Text)
			r.said = append(slices.Clip(r.said), c.Said.Text)
		}
	case kernel.Noticed:
		if c.Said != nil {
			r.notices = append(slices.Clip(r.notices), notice{e.Notice, c.Said.Text})
		}
	case kernel.ContextOver:
		if c.Over != nil {
			r.summary = summary{messages: c.Over.Messages}
		}
	case kernel.Summarized:
		if c.Said != nil {
			r.summary.text = c.Said.Text
		}
	case kernel.ContextPrepared:
		r.summary = summary{}
		if c.Prepared != nil {
			r.defined = append(slices.Clip(r.defined), c.Prepared.Tools...)
		}
	}
}

// commit carries a commit out.
func (r *Replay) commit(e kernel.Event, commit kernel.Commit, c Content) error {
	content := c.prompt()
	switch commit.What {
	case kernel.CommitQuestion:
		r.question = len(r.History.Messages())
	case kernel.CommitSaid:
		if len(r.said) == 0 {
			return &kernel.Error{Code: kernel.CodeInvalidEvent, Message: "a commit of what nobody said"}
		}
		content.Said = r.said[0]
		r.said = r.said[1:]
	case kernel.CommitCompaction:
		before := r.History.Messages()
		if _, err := r.History.Commit(commit, content); err != nil {
			return err
		}
		r.moved(len(before), content.Compaction)
		return nil
	case kernel.CommitResult:
		if call, facts := ResultOf(e); facts == nil || call != commit.Call {
			r.addNoResult(&commit)
		}
	}
	_, err := r.History.Commit(commit, content)
	r.added++
	return err
}

// moved notes where things are after a compaction of a history of n messages. A
// summary that speaks of the run is part of it.
func (r *Replay) moved(n int, c *prompt.Compaction) {
	removed := n - c.Rest
	if c.Removed == 0 || removed <= 0 {
		return
	}
	first := len(r.History.Messages()) - c.Rest // of what stayed
	r.question = max(r.question-removed+first, first-1)
	if removed > r.prior {
		r.prior = 0
	} else {
		r.prior += first - removed
	}
}

// committed takes note of new messages.
func (r *Replay) committed(before []kernel.Message, c Content) {
	if c.Prepared != nil && c.Prepared.Compaction != nil && r.observer != nil {
		all := r.History.Messages()
		r.observer.compacted(before, all[:len(all)-r.added], c.Prepared.Compaction)
	}
	added := r.Added()
	for i := range added {
		m := &added[i]
		if m.Role == kernel.RoleAssistant {
			r.Answer, r.answered = prompt.Text(m), r.Seq
		}
		if r.observer != nil {
			r.observer.kept(m, c.quoted(m))
		}
	}
}

// Added are the messages that the latest event added to the history.
func (r *Replay) Added() []kernel.Message {
	all := r.History.Messages()
	return all[len(all)-r.added:]
}

// Left is what the run leaves to the next one of its session: the whole
// history, with every call answered, and its own calls under ids that no other
// run of the session has.
func (r *Replay) Left() []kernel.Message {
	r.History.Close()
	all := r.History.Messages()
	return append(all[:r.prior:r.prior], prompt.Qualify(all[r.prior:], r.Run)...)
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
	case c.Prepared != nil:
		out.Compaction = c.Prepared.Compaction
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
		Seq:         r.Seq + 1,
		Turn:        r.State.Turn,
		Call:        call,
		Text:        content.Text,
		Data:        content.Data,
		IsError:     content.IsError,
		Code:        facts.Code,
		Elapsed:     content.Elapsed,
		Disposition: facts.Disposition,
	}
	if c := r.called(call); c != nil {
		fact.Tool, fact.Arguments = c.Name, []byte(c.Arguments)
	}
	r.Results = append(r.Results, fact)
	if content.Narrows != nil {
		r.narrow = append(slices.Clip(r.narrow), narrowing{fact.Tool, content.Narrows.Tools})
	}
}

// addNoResult keeps as a fact that a call was answered without a result.
func (r *Replay) addNoResult(commit *kernel.Commit) {
	fact := verify.NoResult{
		Evidence: r.evidence(r.Seq + 1), Seq: r.Seq + 1, Turn: r.State.Turn,
		Call: commit.Call, Text: commit.Text, IsError: commit.IsError, Code: commit.Code,
	}
	if c := r.called(commit.Call); c != nil {
		fact.Tool, fact.Arguments = c.Name, []byte(c.Arguments)
	}
	r.NoResults = append(r.NoResults, fact)
}

// called is a call of the last reply, as it was admitted.
func (r *Replay) called(id string) *kernel.Call {
	for _, m := range slices.Backward(r.History.Messages()) {
		if m.Role != kernel.RoleAssistant {
			continue
		}
		for _, b := range m.Blocks {
			if b.Kind == kernel.BlockCall && b.Call.ID == id {
				return b.Call
			}
		}
		return nil
	}
	return nil
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
	f := verify.Facts{Run: r.Run, Question: strings.Join(r.asked, "\n"), Results: slices.Clone(r.Results), NoResults: slices.Clone(r.NoResults)}
	for i := range f.NoResults { // the verifier's own, to keep or to change
		f.NoResults[i].Arguments = slices.Clone(f.NoResults[i].Arguments)
	}
	for i := range f.Results {
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
	run := &Run{Head: head, State: r.State, Outcome: r.State.Outcome, History: r.History.Messages()[r.prior:], Results: r.Results, NoResults: r.NoResults}
	if run.Outcome != nil && run.Outcome.Answered {
		run.Answer = r.Answer
	}
	return run
}
