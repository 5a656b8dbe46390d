package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// run is a run that this process drives. No goroutine belongs to it: whoever
// reports what came of a command takes the run on from there.
type run struct {
	id   string
	eng  *Engine
	feed *feed
	done chan struct{} // closed when the run has stopped
	// result is what the run came to, and lost why the journal does not hold
	// that, once done is closed.
	result *engine.Run
	lost   *kernel.Error

	wish atomic.Pointer[engine.Signal] // not yet taken up

	mu       sync.Mutex // guards the rest
	x        *engine.Execution
	head     journal.Head
	recorder engine.Recorder
	pending  []journal.Record // applied, not yet committed
	ready    []kernel.Command // to execute once pending is committed
	out      map[kernel.Seq]order
	closed   bool
}

// session names a conversation. It belongs to one tenant and user: the same id
// under another identity is another session.
type session struct{ tenant, user, id string }

func (r *run) session() session { return session{r.head.Tenant, r.head.User, r.head.Session} }

// order is a command that is out, and how to end it early.
type order struct {
	ctx    context.Context // nil: of a timer, which runs nothing
	cancel func()
}

// work is a command that a goroutine carries out.
type work struct {
	cmd  kernel.Seq
	ctx  context.Context
	task engine.Task
}

func newRun(e *Engine, s engine.Start) *run {
	return &run{
		id: s.Run, eng: e,
		head: journal.Head{
			Run: s.Run, Session: s.Session, Tenant: s.Tenant, User: s.User,
			State: journal.Running, Question: preview(s.Question), StartedAt: time.Now().UTC(),
		},
		out:     map[kernel.Seq]order{},
		pending: make([]journal.Record, 0, 4), // few events share a commit
		feed:    &feed{},
		done:    make(chan struct{}),
	}
}

// preview is the start of a question, which is valid UTF-8, for lists.
func preview(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// signal delivers a wish: RUN_STOPPED when the run has ended. A wish that finds
// a commit under way is taken up right behind it, before anything is executed.
// The kernel makes one cancel of many.
func (r *run) signal(s *engine.Signal) error {
	r.wish.Store(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wish.CompareAndSwap(s, nil) {
		return nil // taken up, or replaced by one that says the same
	}
	if r.closed {
		return stopped()
	}
	if w := r.report(0, cancelled(s), engine.Content{}); w != nil {
		go r.carry(w)
	}
	return nil
}

func cancelled(s *engine.Signal) kernel.Event {
	return kernel.Cancelled{At: now(), By: kernel.Clip(s.By, 200), Reason: kernel.Clip(s.Reason, 2000)}
}

func stopped() error {
	return &kernel.Error{Code: kernel.CodeRunStopped, Message: "the run has stopped"}
}

// start journals the beginning and returns what to carry out first. Nothing
// has been executed when it fails.
func (r *run) start(ctx context.Context) (*work, error) {
	event, content := r.x.Begin()
	if err := r.take(event, content); err != nil {
		return nil, err
	}
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	return r.next(), nil
}

// carry carries commands out one after another. The goroutine that was busy
// with the last one goes on with the next: a turn then needs no hand-over, and
// a stack that has grown is used again.
func (r *run) carry(w *work) {
	growStack(0)
	for w != nil {
		event, content := w.task(w.ctx, r.instead(w.cmd))
		w = r.deliver(w.cmd, event, content)
	}
}

// instead takes the report of a command whose goroutine is lost to code that
// does not return; what that goroutine may report later comes too late.
func (r *run) instead(cmd kernel.Seq) engine.Report {
	return func(e kernel.Event, c engine.Content) {
		if w := r.deliver(cmd, e, c); w != nil {
			go r.carry(w)
		}
	}
}

func (r *run) deliver(cmd kernel.Seq, e kernel.Event, c engine.Content) *work {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report(cmd, e, c)
}

// report takes the run on by what came of a command (0: of none): apply,
// commit, execute. It returns what its caller has to carry out next, and nil
// when that is nothing. Nothing is taken any more after the run's stop.
func (r *run) report(cmd kernel.Seq, e kernel.Event, c engine.Content) *work {
	if r.closed {
		return nil
	}
	if o, ok := r.out[cmd]; ok {
		o.cancel()
		delete(r.out, cmd)
	}
	if err := r.advance(e, c); err != nil {
		r.fail(err)
		r.close()
		return nil
	}
	return r.next()
}

// next returns what follows from the last commit, and ends a run that has
// stopped.
func (r *run) next() *work {
	if s := r.wish.Swap(nil); s != nil {
		return r.report(0, cancelled(s), engine.Content{})
	}
	if r.x.State.Phase == kernel.PhaseStopped {
		r.close()
		return nil
	}
	return r.execute()
}

// advance applies an event and commits it.
func (r *run) advance(e kernel.Event, c engine.Content) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.eng.log.Error("panic contained", "run", r.id, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = &kernel.Error{Code: kernel.CodeInternal, Message: "the driver of the run panicked"}
		}
	}()
	if err := r.take(e, c); err != nil {
		return err
	}
	return r.flush(context.Background())
}

// take applies an event and, at once, whatever only computes; what remains to
// be executed waits in ready for the commit.
func (r *run) take(e kernel.Event, c engine.Content) error {
	queue, _, err := r.apply(e, c)
	for err == nil && len(queue) > 0 {
		cmd := queue[0]
		var more []kernel.Command
		more, err = r.order(cmd)
		queue = append(queue[1:], more...)
	}
	return err
}

// order prepares the execution of one command, or executes it when it only
// computes, and returns the commands that follow from that.
func (r *run) order(cmd kernel.Command) ([]kernel.Command, error) {
	switch c := cmd.(type) {
	case kernel.Abort:
		if o, ok := r.out[c.Cmd]; ok {
			o.cancel()
		}
		return nil, nil
	case kernel.Finish:
		return nil, nil
	case kernel.RunTool:
		return r.claim(c)
	}
	if !r.x.Pure(cmd) {
		r.prepare(cmd)
		return nil, nil
	}
	more, _, err := r.apply(r.x.Task(cmd)(context.Background(), nil)) // computing returns
	return more, err
}

// claim records that a tool is about to run. Only then may it run: a start that
// comes too late is refused.
func (r *run) claim(c kernel.RunTool) ([]kernel.Command, error) {
	more, accepted, err := r.apply(kernel.CallStarted{At: now(), Cmd: c.Cmd, Call: c.Call.ID}, engine.Content{})
	if accepted {
		r.prepare(c)
	}
	return more, err
}

// number is the number of a command that is executed after its commit.
func number(c kernel.Command) kernel.Seq {
	switch c := c.(type) {
	case kernel.CallModel:
		return c.Cmd
	case kernel.DecideCall:
		return c.Cmd
	case kernel.AskHuman:
		return c.Cmd
	case kernel.RunTool:
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
func (r *run) apply(e kernel.Event, c engine.Content) (commands []kernel.Command, accepted bool, err error) {
	commands, err = r.x.Apply(e, c)
	if code := kernel.CodeOf(err); code == kernel.CodeDuplicateReport || code == kernel.CodeRunStopped {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	rec, err := r.recorder.Record(r.x.Seq, e, c)
	if err != nil {
		return nil, false, err
	}
	r.pending = append(r.pending, rec)
	return commands, true, nil
}

// flush commits what was applied.
func (r *run) flush(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	s := &r.x.State
	head := r.head
	head.Turns = s.Turn
	head.UpdatedAt = r.pending[len(r.pending)-1].At
	if s.Outcome != nil {
		head.State, head.Stop, head.Verified = journal.Stopped, s.Outcome.Stop, s.Outcome.Verified
	}
	err := r.append(ctx, journal.Entry{Head: head, Records: r.pending})
	if err != nil && !r.landed(err) {
		return err
	}
	head.LastSeq = r.x.Seq
	r.head = head
	clear(r.pending) // the journal has what it keeps of them
	r.pending = r.pending[:0]
	r.feed.committed(r.x.Seq)
	return nil
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
// under its id, so that the last record says it.
func (r *run) landed(err error) bool {
	if kernel.CodeOf(err) == kernel.CodeConflict {
		return false // others have appended
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

// execute starts what was waiting for the commit, but for one command, which
// it leaves to its caller.
func (r *run) execute() *work {
	var own *work
	for _, c := range r.ready {
		n := number(c)
		o, wanted := r.out[n]
		if t, ok := c.(kernel.SetTimer); ok {
			if wanted {
				r.startTimer(t)
			}
			continue
		}
		w := &work{n, o.ctx, r.x.Task(c)}
		if own == nil {
			own = w
			continue
		}
		go r.carry(w)
	}
	r.ready = r.ready[:0]
	return own
}

func (r *run) startTimer(t kernel.SetTimer) {
	timer := time.AfterFunc(time.Until(time.Unix(0, int64(t.At))), func() {
		r.carry(r.deliver(t.Cmd, kernel.TimerFired{At: now(), Cmd: t.Cmd, Timer: t.Timer}, engine.Content{}))
	})
	r.out[t.Cmd] = order{cancel: func() { timer.Stop() }}
}

func now() kernel.Time { return kernel.Time(time.Now().UnixNano()) }

// fail stops a run whose events cannot be applied or journaled. Its outcome is
// host_error, if the journal takes that after all; else the run's end is lost.
func (r *run) fail(cause error) {
	r.eng.log.Error("run failed", "run", r.id, "error", cause)
	e := &kernel.Error{Code: kernel.CodeInternal, Message: cause.Error()}
	errors.As(cause, &e)
	_, _, err := r.apply(kernel.HostFailed{At: now(), Code: e.Code, Detail: e.Message}, engine.Content{})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastTry)
		defer cancel()
		err = r.flush(ctx)
	}
	if err != nil {
		r.eng.log.Error("the end of the run is not journaled", "run", r.id, "error", err)
		r.lost = &kernel.Error{
			Code: kernel.CodeLocalStorage, Message: "the end of run " + r.id + " could not be journaled: " + e.Message,
			Hint: hintAtLoss(e.Hint), Err: err,
		}
	}
}

// close ends whatever is still out and publishes the result.
func (r *run) close() {
	r.closed = true
	for _, o := range r.out {
		o.cancel()
	}
	if r.lost == nil {
		r.result = r.x.Snapshot(r.head)
	}
	r.eng.forget(r) // first, so that whoever waited finds the session free
	close(r.done)
	r.feed.end(r.lost)
	r.eng.wg.Done()
}

// hintAtLoss says what to do about a run whose end is lost, after what to do
// about the cause.
func hintAtLoss(cause string) string {
	const hint = "runs show tells how far it came; a call that had begun may have taken effect"
	if cause == "" {
		return hint
	}
	return cause + "; " + hint
}
