package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// batch is what one entry will hold.
type batch struct {
	records []journal.Record
	asked   []journal.Approval
	closed  []journal.Close
	settled []journal.Settlement
	claim   *journal.Claim
	running kernel.RunTool // that claim is for
	spent   string
	applied []int64
}

// contested reports whether the journal's own facts can stand against it,
// because someone else was faster.
func (b *batch) contested() bool {
	return len(b.closed) > 0 || len(b.asked) > 0 || len(b.settled) > 0 || len(b.applied) > 0
}

// refusal is the ledger's no to a claim.
type refusal struct {
	cmd kernel.Seq
	why *journal.Refusal
}

// maxTries bounds how often a step is taken again because the journal's facts
// stood against it: each time they are looked at first.
const maxTries = 8

// step takes the run on by what apply applies, commits that, and returns what
// to carry out. Where the ledger refuses a claim, or someone else decided
// first, it goes back to the last commit and applies the same once more,
// knowing that.
func (r *run) step(apply func() error) *work {
	err := r.try(apply)
	for tries := 0; err != nil && tries < maxTries; tries++ {
		var no *journal.Refusal
		switch {
		case errors.As(err, &no):
			r.refused = &refusal{r.batch.running.Cmd, no}
			r.undo()
			err = r.try(apply)
		case kernel.CodeOf(err) == kernel.CodeConflict && r.batch.contested():
			r.undo()
			err = r.try(func() error { return errors.Join(r.hear(), apply()) })
		default:
			tries = maxTries
		}
	}
	switch {
	case err == nil:
		return r.next()
	case kernel.CodeOf(err) == kernel.CodeLeaseLost:
		r.abandon(err)
		return nil
	}
	r.fail(err)
	r.close()
	return nil
}

func (r *run) try(apply func() error) (err error) {
	defer r.contain(&err)
	if err := apply(); err != nil {
		return err
	}
	return r.flush(context.Background())
}

// undo takes the run back to its last commit.
func (r *run) undo() {
	r.x.Reset(r.base)
	r.batch = batch{}
	for _, c := range r.ready {
		n := number(c)
		if o, ok := r.out[n]; ok {
			o.cancel()
			delete(r.out, n)
		}
	}
	r.ready = r.ready[:0]
}

// caused is a command with the event that caused it.
type caused struct {
	command kernel.Command
	at      kernel.Time
	content engine.Content
}

// take applies an event and, at once, whatever only computes; what remains to
// be executed waits in ready for the commit. A claim comes last of all, so that
// nothing follows from a start that the ledger may refuse.
func (r *run) take(e kernel.Event, c engine.Content) error {
	queue, _, err := r.apply(e, c)
	for err == nil && len(queue) > 0 {
		next := queue[0]
		var more []caused
		more, err = r.order(next)
		queue = append(queue[1:], more...)
	}
	return err
}

// order prepares the execution of one command, or executes it when it only
// computes, and returns the commands that follow from that.
func (r *run) order(cmd caused) ([]caused, error) {
	switch c := cmd.command.(type) {
	case kernel.Abort:
		if o, ok := r.out[c.Cmd]; ok {
			o.cancel()
		}
		return nil, nil
	case kernel.Finish, kernel.AwaitResolution:
		return nil, nil
	case kernel.AskHuman:
		r.batch.asked = append(r.batch.asked, r.x.Approval(&c, cmd.at))
		if r.x.AsksHere(&c) {
			r.prepare(c)
		}
		return nil, nil
	case kernel.CloseApproval:
		r.batch.closed = append(r.batch.closed, journal.Close{Approval: engine.ApprovalID(r.id, c.Cmd), As: journal.ApprovalState(c.As), At: instant(cmd.at)})
		return nil, nil
	case kernel.Settle:
		r.batch.settled = append(r.batch.settled, engine.Settlement(&c, cmd.at, &cmd.content))
		return nil, nil
	case kernel.RunTool:
		return r.claim(c)
	case kernel.PrepareContext:
		if r.eng.isLeaving() {
			return nil, nil // whoever takes the run over prepares it
		}
	}
	if !r.x.Pure(cmd.command) {
		r.prepare(cmd.command)
		return nil, nil
	}
	more, _, err := r.apply(r.x.Task(cmd.command)(context.Background(), nil)) // computing returns
	return more, err
}

// claim records that a tool is about to run, together with its claim in the
// ledger. Only then may it run: a start that comes too late is refused.
func (r *run) claim(c kernel.RunTool) ([]caused, error) {
	if no := r.refused; no != nil && no.cmd == c.Cmd {
		r.refused = nil
		more, _, err := r.apply(r.x.ClaimRefused(&c, no.why))
		return more, err
	}
	if r.eng.isLeaving() {
		return nil, nil // nothing has begun: whoever takes the run over runs it
	}
	started := kernel.CallStarted{At: r.now(), Cmd: c.Cmd, Call: c.Call.ID}
	claim := r.x.Claim(&c)
	if claim != nil {
		started.Effect = claim.ID
	}
	more, accepted, err := r.apply(started, engine.Content{})
	if accepted {
		r.batch.claim, r.batch.running = claim, c
		if c.Approval != 0 {
			r.batch.spent = engine.ApprovalID(r.id, c.Approval)
		}
		r.prepare(c)
	}
	return more, err
}

// number is the number of a command that is executed after its commit.
func number(c kernel.Command) kernel.Seq {
	switch c := c.(type) {
	case kernel.PrepareContext:
		return c.Cmd
	case kernel.CallModel:
		return c.Cmd
	case kernel.DecideCall:
		return c.Cmd
	case kernel.AskHuman:
		return c.Cmd
	case kernel.RunTool:
		return c.Cmd
	case kernel.Reconcile:
		return c.Cmd
	case kernel.Verify:
		return c.Cmd
	case kernel.SetTimer:
		return c.Cmd
	}
	panic(fmt.Sprintf("%T is not executed", c))
}

// prepare makes a command ready to be executed once its cause is committed.
func (r *run) prepare(c kernel.Command) {
	if t, ok := c.(kernel.SetTimer); ok {
		// One that is ended before its commit never starts.
		r.out[t.Cmd] = order{cancel: func() { delete(r.out, t.Cmd) }}
	} else {
		ctx, cancel := context.WithCancel(context.Background())
		r.out[number(c)] = order{ctx, cancel}
	}
	r.ready = append(r.ready, c)
}

// apply takes the run one event further and keeps its record. An event that
// nothing waits for any more is dropped, and not accepted.
func (r *run) apply(e kernel.Event, c engine.Content) (causes []caused, accepted bool, err error) {
	commands, err := r.x.Apply(e, c)
	if code := kernel.CodeOf(err); code == kernel.CodeDuplicateReport || code == kernel.CodeRunStopped {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rec, err := c.Record(r.x.Seq, e)
	if err != nil {
		return nil, false, err
	}
	r.batch.records = append(r.batch.records, rec)
	causes = make([]caused, len(commands))
	for i, cmd := range commands {
		causes[i] = caused{cmd, r.x.State.Now, c}
	}
	return causes, true, nil
}

// flush commits what was applied.
func (r *run) flush(ctx context.Context) error {
	b := &r.batch
	if len(b.records) == 0 {
		return nil
	}
	now := r.eng.clock.Now().UTC()
	lease := r.lease
	lease.Until = now.Add(r.eng.lease)
	head := r.summary()
	parks := head.State == journal.Waiting && !r.asking()
	entry := journal.Entry{
		Head: head, Records: b.records, Lease: &lease, Now: now,
		Release: parks || head.State == journal.Stopped || r.leaves(),
		Asked:   b.asked, Closed: b.closed, Settled: b.settled, Claim: b.claim, Spent: b.spent, Applied: b.applied,
	}
	err := r.append(ctx, entry)
	if err != nil && !r.landed(err) {
		return err
	}
	head.LastSeq = r.x.Seq
	r.head, r.lease, r.parked = head, lease, parks
	records := b.records
	clear(records) // the journal has what it keeps of them
	r.batch = batch{records: records[:0]}
	r.base = r.x.Mark()
	r.feed.committed(r.x.Seq)
	return nil
}

// summary is the run's head as it stands.
func (r *run) summary() journal.Head {
	s := &r.x.State
	head := r.head
	head.State, head.WaitingFor, head.Approval, head.Due = journal.Running, "", "", time.Time{}
	head.Turns = s.Turn
	head.UpdatedAt = r.batch.records[len(r.batch.records)-1].At
	if s.Outcome != nil {
		head.State, head.Stop, head.Verified = journal.Stopped, s.Outcome.Stop, s.Outcome.Verified
	} else if w, waits := s.Waiting(); waits {
		head.State, head.WaitingFor = journal.Waiting, string(w.For)
		if w.For == kernel.WaitApproval {
			head.Approval = engine.ApprovalID(r.id, w.Cmd)
		}
		if w.Until != 0 {
			head.Due = instant(w.Until)
		}
	}
	return head
}

// append appends to a journal that may be the embedding program's own.
func (r *run) append(ctx context.Context, e journal.Entry) (err error) {
	defer r.containJournal(&err)
	return r.eng.journal.Append(ctx, e)
}

func (r *run) containJournal(err *error) {
	if p := recover(); p != nil {
		r.eng.log.Error("panic contained", "run", r.id, "in", "the journal", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		*err = &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the journal panicked"}
	}
}

// landed reports whether an append that failed is in the journal all the same:
// its commit may have been done and its report lost. Only this run appends
// under its lease, so that the last record says it.
func (r *run) landed(err error) bool {
	switch kernel.CodeOf(err) {
	case kernel.CodeConflict, kernel.CodeEffectRefused, kernel.CodeLeaseLost, kernel.CodeRunStopped, kernel.CodeNotFound, kernel.CodeInvalidArgument:
		return false // the journal says that it is not
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTry)
	defer cancel()
	var head journal.Head
	func() {
		defer r.containJournal(&err)
		head, err = r.eng.journal.Head(ctx, r.id)
	}()
	return err == nil && head.LastSeq == r.x.Seq
}

// lastTry bounds what is tried when the journal has failed.
const lastTry = time.Second

func instant(t kernel.Time) time.Time { return time.Unix(0, int64(t)).UTC() }

func span(from, to kernel.Time) time.Duration { return time.Duration(to - from) }
