package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/leash"
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
	noticed []string
	seen    []string
	lease   journal.Lease // as its commit leaves it
}

// contested reports whether the journal's own facts can stand against what was
// applied, because someone else was faster.
func (r *run) contested() bool {
	b := &r.batch
	return len(b.closed) > 0 || len(b.asked) > 0 || len(b.settled) > 0 || len(b.applied) > 0 || r.x.State.Outcome != nil
}

// maxTries bounds how often a step is taken again because the journal's facts
// stood against it: each time they are looked at first.
const maxTries = 8

// step takes the run on by what apply applies, commits that, and returns what
// to carry out. Where the ledger refuses a claim, or someone else was faster,
// it goes back to the last commit and applies the same once more, knowing that.
func (r *run) step(apply func() error) work {
	r.known = known{}
	base := r.x.Mark() // as it was committed
	err := r.try(apply)
	for tries := 0; err != nil && tries < maxTries; {
		switch {
		case r.refusedBy(err): // one claim less to be made
		case kernel.CodeOf(err) == kernel.CodeConflict && r.contested():
			tries++
			r.lookAgain(tries)
		default:
			tries = maxTries
			continue
		}
		r.undo(&base)
		err = r.try(apply)
	}
	switch {
	case err == nil:
		return r.next()
	case kernel.CodeOf(err) == kernel.CodeLeaseLost:
		r.abandon(err)
		return work{}
	}
	r.fail(&base, apply, err)
	r.close()
	return work{}
}

// known is what the journal answered to earlier tries of a step.
type known struct {
	refused map[kernel.Seq]*journal.Refusal // claims, by their RunTool
	settled map[string]bool                 // effects about which someone else has said something different
	hears   bool                            // the run's signals first
	deaf    bool                            // it stops whatever is sent to it meanwhile
}

// refusedBy takes note of a claim that the ledger refuses. It reports whether
// the step can be taken again, knowing that.
func (r *run) refusedBy(err error) bool {
	var no *journal.Refusal
	cmd := r.batch.running.Cmd
	if !errors.As(err, &no) || cmd == 0 || r.known.refused[cmd] != nil {
		return false
	}
	if r.known.refused == nil {
		r.known.refused = map[kernel.Seq]*journal.Refusal{}
	}
	r.known.refused[cmd] = no
	return true
}

// lookAgain finds out who was faster: the step hears the run's signals first
// from now on, and says nothing of effects that were resolved meanwhile.
func (r *run) lookAgain(tries int) {
	settled := map[string]bool{}
	maps.Copy(settled, r.known.settled)
	for i := range r.batch.settled {
		s := &r.batch.settled[i]
		row, err := r.eng.journal.Effect(context.Background(), s.Effect)
		if err == nil {
			_, err = journal.Settle(&row, r.id, s)
		}
		if code := kernel.CodeOf(err); code == kernel.CodeConflict || code == kernel.CodeNotFound {
			r.eng.log.Warn("effect not settled", "run", r.id, "effect", s.Effect, "as", s.Disposition, "error", err)
			settled[s.Effect] = true
		}
	}
	r.known = known{settled: settled, hears: true, deaf: tries >= maxTries-1} // what follows may have other numbers
}

func (r *run) try(apply func() error) (err error) {
	defer r.contain(&err)
	if err := r.heard(apply); err != nil {
		return err
	}
	return r.flush(context.Background())
}

// heard applies, behind the signals that are to be heard first.
func (r *run) heard(apply func() error) error {
	if r.known.hears {
		return r.hearAnd(apply)
	}
	return apply()
}

// applied applies without a commit.
func (r *run) applied(apply func() error) (err error) {
	defer r.contain(&err)
	return apply()
}

// undo takes the run back to its last commit.
func (r *run) undo(base *engine.Mark) {
	r.x.Reset(base)
	r.batch = batch{}
	for _, c := range r.ready {
		if _, ends := c.(kernel.Abort); !ends {
			r.out.end(number(c))
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
	first := len(r.causes) // notices are taken up within a step
	defer func() {
		clear(r.causes[first:])
		r.causes = r.causes[:first]
	}()
	_, err := r.apply(e, c)
	if _, begins := e.(kernel.RunStarted); begins && err == nil {
		err = r.takeUpNotices() // before anything follows
	}
	for i := first; err == nil && i < len(r.causes); i++ {
		err = r.order(r.causes[i])
	}
	return err
}

// order prepares the execution of one command, or executes it when it only
// computes: what follows from that is in causes.
func (r *run) order(cmd caused) error {
	switch c := cmd.command.(type) {
	case kernel.Abort:
		r.ready = append(r.ready, cmd.command) // what is under way goes on if this is not committed
		return nil
	case kernel.Finish, kernel.AwaitResolution:
		return nil
	case kernel.AskHuman:
		r.batch.asked = append(r.batch.asked, r.x.Approval(&c, cmd.at))
		if r.x.AsksHere(&c) {
			r.prepare(cmd.command)
		}
		return nil
	case kernel.CloseApproval:
		r.batch.closed = append(r.batch.closed, journal.Close{Approval: journal.ApprovalID(r.id, c.Cmd), As: journal.ApprovalState(c.As), At: instant(cmd.at)})
		return nil
	case kernel.Settle:
		if !r.known.settled[c.Effect] {
			r.batch.settled = append(r.batch.settled, engine.Settlement(&c, cmd.at, &cmd.content))
		}
		return nil
	case kernel.RunTool:
		return r.claim(cmd.command)
	case kernel.PrepareContext:
		if r.beginsNothing() {
			return nil // whoever takes the run over prepares it
		}
	}
	if !r.x.Pure(cmd.command) {
		r.prepare(cmd.command)
		return nil
	}
	_, err := r.apply(r.x.Task(cmd.command).Do(context.Background(), nil)) // computing returns
	return err
}

// claim records that a tool is about to run, together with its claim in the
// ledger. Only then may it run: a start that comes too late is refused.
func (r *run) claim(cmd kernel.Command) error {
	c, _ := cmd.(kernel.RunTool)
	if no := r.known.refused[c.Cmd]; no != nil {
		_, err := r.apply(r.x.ClaimRefused(&c, no))
		return err
	}
	if r.beginsNothing() {
		return nil // nothing has begun: whoever takes the run over runs it
	}
	started := kernel.CallStarted{At: r.now(), Cmd: c.Cmd, Call: c.Call.ID}
	claim := r.x.Claim(&c, started.At)
	if claim != nil {
		started.Effect = claim.ID
	}
	accepted, err := r.apply(started, engine.Content{})
	if accepted {
		r.batch.claim, r.batch.running = claim, c
		if c.Approval != 0 {
			r.batch.spent = journal.ApprovalID(r.id, c.Approval)
		}
		r.prepare(cmd)
	}
	return err
}

// number is the number of a command that is executed after its commit.
func number(c kernel.Command) kernel.Seq {
	switch c := c.(type) {
	case kernel.PrepareContext:
		return c.Cmd
	case kernel.CallModel:
		return c.Cmd
	case kernel.Summarize:
		return c.Cmd
	case kernel.Observe:
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
	o := order{cmd: number(c)}
	if _, waits := c.(kernel.SetTimer); !waits {
		o.leash = new(leash.Leash)
	}
	_, o.asks = c.(kernel.AskHuman)
	r.out = append(r.out, o)
	r.ready = append(r.ready, c)
}

// apply takes the run one event further, keeps its record and queues what it
// causes. An event that nothing waits for any more is dropped, and not accepted.
func (r *run) apply(e kernel.Event, c engine.Content) (accepted bool, err error) {
	attached := r.x.State.Attached
	commands, err := r.x.Apply(e, c)
	if code := kernel.CodeOf(err); code == kernel.CodeDuplicateReport || code == kernel.CodeRunStopped {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rec, err := r.writer.Record(r.x.Seq, e, c)
	if err != nil {
		return false, err
	}
	r.batch.records = append(r.batch.records, rec)
	if len(attached) > 0 {
		r.acknowledge(attached)
	}
	for _, cmd := range commands {
		r.causes = append(r.causes, caused{cmd, r.x.State.Now, c})
	}
	return true, nil
}

// flush commits what was applied.
func (r *run) flush(ctx context.Context) error {
	b := &r.batch
	if len(b.records) == 0 {
		return nil
	}
	now := r.eng.clock.Now().UTC().Round(0) // leases go by the clock on the wall, also while the machine sleeps
	b.lease = r.lease
	b.lease.Until = now.Add(r.eng.lease)
	entry := journal.Entry{
		Head: r.head, Records: b.records, Lease: &b.lease, Now: now,
		Asked: b.asked, Closed: b.closed, Settled: b.settled, Claim: b.claim, Spent: b.spent, Applied: b.applied,
		Seen:  b.seen,
		Heard: !r.halting && !r.known.deaf,
	}
	entry.Head.Reach(&r.x.State, b.records[len(b.records)-1].At)
	parks := r.mayPark(&entry.Head, now)
	entry.Release = parks || entry.Head.State == journal.Stopped || r.leaves()
	if b.records[0].Seq == 1 {
		entry.Place, entry.Noticed = r.place, b.noticed
	}
	err := r.append(ctx, &entry)
	if err != nil && !r.landed(err, entry.Release) {
		return err
	}
	entry.Head.LastSeq = r.x.Seq
	r.head, r.lease, r.parked, r.free = entry.Head, b.lease, parks, entry.Release
	records := b.records
	clear(records) // the journal has what it keeps of them
	r.batch = batch{records: records[:0]}
	r.feed.committed(r.x.Seq)
	return nil
}

// mayPark reports whether nobody need drive the run: it waits for people, none
// of whom is asked here, and its time to go on all the same has not come.
func (r *run) mayPark(h *journal.Head, now time.Time) bool {
	return h.State == journal.Waiting && !r.asking() && (h.Due.IsZero() || now.Before(h.Due))
}

// append appends to a journal that may be the embedding program's own.
func (r *run) append(ctx context.Context, e *journal.Entry) (err error) {
	defer r.eng.containJournal(&err)
	return r.eng.journal.Append(ctx, *e)
}

// journaled is the run's head as the journal has it.
func (r *run) journaled(ctx context.Context) (journal.Head, error) { return r.eng.headOf(ctx, r.id) }

func (e *Engine) headOf(ctx context.Context, run string) (h journal.Head, err error) {
	defer e.containJournal(&err)
	return e.journal.Head(ctx, run)
}

func (e *Engine) containJournal(err *error) {
	if p := recover(); p != nil {
		*err = e.panicked("the journal", kernel.CodeLocalStorage, p)
	}
}

func (e *Engine) panicked(what string, code kernel.Code, p any) error {
	e.log.Error("panic contained", "in", what, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
	return &kernel.Error{Code: code, Message: what + " panicked"}
}

// landed reports whether an append that failed is in the journal all the same:
// its commit may have been done and its report lost. Only this run appends
// under its lease, so that the last record says it while the lease is still
// the same one, or was given back by that append and not taken since.
func (r *run) landed(err error, released bool) bool {
	switch kernel.CodeOf(err) {
	case kernel.CodeConflict, kernel.CodeEffectRefused, kernel.CodeLeaseLost, kernel.CodeRunStopped, kernel.CodeNotFound, kernel.CodeInvalidArgument:
		return false // the journal says that it is not
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTry)
	defer cancel()
	head, err := r.journaled(ctx)
	mine := head.Lease.Token == r.lease.Token && (head.Lease.Owner == r.lease.Owner || released && head.Lease.Owner == "")
	return err == nil && mine && head.LastSeq == r.x.Seq
}

// lastTry bounds what is tried when the journal has failed.
const lastTry = time.Second

func instant(t kernel.Time) time.Time { return time.Unix(0, int64(t)).UTC() }

func span(from, to kernel.Time) time.Duration { return time.Duration(to - from) }
