package desk

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

// Status says what became of a question, as the stored facts have it and not as
// the model puts it.
type Status string

// The statuses of a run that stopped with an answer; of any other run it is the
// name of its stop.
const (
	Answered         Status = "answered"
	DraftPrepared    Status = "draft_prepared"
	AlreadySubmitted Status = "draft_already_submitted"
	ToolFailed       Status = "tool_failed" // a call failed, and the answer had to do without it
	Unsupported      Status = "unsupported" // the answer is not borne out by what was looked up
	// NeedsClarification is an answer that asks for what is missing and says nothing
	// else, where nothing was looked up: nothing is wrong, and nothing is done.
	NeedsClarification Status = "needs_clarification"
)

// Done reports whether the task succeeded.
func (s Status) Done() bool { return s == Answered || s == DraftPrepared || s == AlreadySubmitted }

// Result is what a question came to.
type Result struct {
	Status  Status
	Drafts  []Draft  // that this run prepared, as they are stored now
	Cited   []string // ids of policies in the answer that the run found
	Tickets []string // that came of those drafts; a run itself submits nothing
}

// ResultOf looks a run's outcome up in what is stored. The run has stopped. Its errors
// are those of drafts.
func ResultOf(ctx context.Context, drafts DraftService, who Identity, run *holdfast.Run) (*Result, error) {
	seen := SeenBy(&verify.Facts{Results: run.Results, NoResults: run.NoResults})
	r := &Result{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(seen.Drafts))) {
		d, err := drafts.Draft(ctx, who, id)
		if err != nil {
			return nil, err
		}
		r.Drafts = append(r.Drafts, d)
		if d.Ticket != "" {
			r.Tickets = append(r.Tickets, d.Ticket)
		}
	}
	r.Cited = seen.Cited(run.Answer)
	r.Status = statusOf(run, seen, r)
	return r, nil
}

func statusOf(run *holdfast.Run, seen *Seen, r *Result) Status {
	o := run.Outcome
	switch {
	case o == nil:
		return Status(run.Head.State)
	case o.Stop != kernel.StopAnswered && o.Stop != kernel.StopVerified:
		return Status(o.Stop)
	case len(seen.Failed) > 0:
		return ToolFailed
	case o.Verified == kernel.VerdictNot && len(run.Results) == 0 && len(run.NoResults) == 0 && asksBack(run.Answer):
		return NeedsClarification
	case o.Verified == kernel.VerdictNot:
		return Unsupported
	case len(r.Drafts) > 0 && len(r.Tickets) == len(r.Drafts):
		return AlreadySubmitted
	case len(r.Drafts) > 0:
		return DraftPrepared
	}
	return Answered
}
