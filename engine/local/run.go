package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
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
	// result is what the run came to, once done is closed.
	result *engine.Run

	mu      sync.Mutex // guards the rest
	x       *engine.Execution
	head    journal.Head
	pending []journal.Record // applied, not yet committed
	ready   []kernel.Command // to execute once pending is committed
	out     map[kernel.Seq]order
	closed  bool
	lost    *kernel.Error // why the journal does not hold the run's end
}

// order is a command that is out, and how to end it early.
type order struct {
	ctx    context.Context
	cancel context.CancelFunc
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
		out:  map[kernel.Seq]order{},
		feed: newFeed(),
		done: make(chan struct{}),
	}
}

// preview is the start of a question, for lists.
func preview(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "")
}

// signal delivers a wish: RUN_STOPPED when the run has ended. It waits for a
// commit that is under way. The kernel makes one cancel of many.
func (r *run) signal(s engine.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return stopped()
	}
	if w := r.report(0, kernel.Cancelled{At: now(), By: s.By, Reason: s.Reason}, engine.Content{}); w != nil {
		go r.carry(w)
	}
	return nil
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
	queue, err := r.apply(e, c)
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
		more, err := r.apply(kernel.CallStarted{At: now(), Cmd: c.Cmd, Call: c.Call.ID}, engine.Content{})
		if err == nil {
			r.prepare(c)
		}
		return more, err
	}
	task, pure := r.x.Task(cmd)
	if !pure {
		r.prepare(cmd)
		return nil, nil
	}
	return r.apply(task(context.Background(), nil)) // computing returns
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
	ctx, cancel := context.WithCancel(context.Background())
	r.out[number(c)] = order{ctx, cancel}
	r.ready = append(r.ready, c)
}

// apply takes the run one event further and keeps its record. An event that
// nothing waits for any more is dropped.
func (r *run) apply(e kernel.Event, c engine.Content) ([]kernel.Command, error) {
	commands, err := r.x.Apply(e, c)
	switch kernel.CodeOf(err) {
	case "":
	case kernel.CodeDuplicateReport, kernel.CodeRunStopped:
		return nil, nil
	default:
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	rec, err := c.Record(r.x.Seq, e)
	if err != nil {
		return nil, err
	}
	r.pending = append(r.pending, rec)
	return commands, nil
}

// flush commits what was applied.
func (r *run) flush(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	s := &r.x.State
	r.head.Turns = s.Turn
	r.head.UpdatedAt = r.pending[len(r.pending)-1].At
	if s.Outcome != nil {
		r.head.State, r.head.Stop, r.head.Verified = journal.Stopped, s.Outcome.Stop, s.Outcome.Verified
	}
	if err := r.eng.journal.Append(ctx, journal.Entry{Head: r.head, Records: r.pending}); err != nil {
		return err
	}
	r.head.LastSeq = r.x.Seq
	r.pending = nil
	r.feed.committed(r.x.Seq)
	return nil
}

// execute starts what was waiting for the commit, but for one command, which
// it leaves to its caller.
func (r *run) execute() *work {
	var own *work
	for _, c := range r.ready {
		n := number(c)
		ctx := r.out[n].ctx
		if t, ok := c.(kernel.SetTimer); ok {
			r.startTimer(ctx, t)
			continue
		}
		task, _ := r.x.Task(c)
		w := &work{n, ctx, task}
		if own == nil {
			own = w
			continue
		}
		go r.carry(w)
	}
	r.ready = r.ready[:0]
	return own
}

func (r *run) startTimer(ctx context.Context, t kernel.SetTimer) {
	timer := time.AfterFunc(time.Until(time.Unix(0, int64(t.At))), func() {
		r.carry(r.deliver(t.Cmd, kernel.TimerFired{At: now(), Cmd: t.Cmd, Timer: t.Timer}, engine.Content{}))
	})
	context.AfterFunc(ctx, func() { timer.Stop() })
}

func now() kernel.Time { return kernel.Time(time.Now().UnixNano()) }

// fail stops a run whose events cannot be applied or journaled. Its outcome is
// host_error; it is journaled if the journal takes it after all.
func (r *run) fail(cause error) {
	r.eng.log.Error("run failed", "run", r.id, "error", cause)
	e := &kernel.Error{Code: kernel.CodeInternal, Message: cause.Error()}
	errors.As(cause, &e)
	_, err := r.apply(kernel.HostFailed{At: now(), Code: e.Code, Detail: e.Message}, engine.Content{})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = r.flush(ctx)
	}
	if err != nil {
		r.eng.log.Error("the end of the run is not journaled", "run", r.id, "error", err)
		r.lost = e
	}
}

// close ends whatever is still out and publishes the result.
func (r *run) close() {
	r.closed = true
	for _, o := range r.out {
		o.cancel()
	}
	r.result = r.x.Snapshot(r.head)
	if r.lost != nil {
		r.disown()
	}
	close(r.done)
	r.feed.end()
	r.eng.forget(r)
}

// disown takes back what the run came to in memory, since the journal does not
// hold it: nobody could show it again.
func (r *run) disown() {
	o := kernel.Outcome{Verified: kernel.Unchecked, FirstBad: kernel.LinkHarness}
	if r.result.Outcome != nil {
		o = *r.result.Outcome
	}
	o.Stop, o.Detail = kernel.StopHostError, string(r.lost.Code)+": "+r.lost.Message
	o.Answered, o.Verified, o.Evidence, o.Finding = false, kernel.Unchecked, nil, ""
	o.LastGood, o.FirstBad = "", kernel.LinkHarness
	r.result.Outcome, r.result.Answer = &o, ""
}
