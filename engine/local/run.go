package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// run is a run that this process drives. No goroutine belongs to it: whoever
// reports what came of a command takes the run on from there.
type run struct {
	id    string
	eng   *Engine
	agent *engine.Agent // nil: it can only come to its end
	feed  *feed         // of it, once it is admitted
	done  chan struct{} // closed when this process drives it no more
	// result is how far it came, and lost why the journal does not hold that,
	// once done is closed.
	result *engine.Run
	lost   *kernel.Error

	wish atomic.Pointer[engine.Signal] // not yet taken up

	mu      sync.Mutex // guards the rest
	x       *engine.Execution
	writer  engine.Recorder
	head    journal.Head
	lease   journal.Lease
	left    []journal.Notice // in its session, before it
	place   int              // in its session, until its first entry is there; 0: it does not matter
	batch   batch            // applied since
	causes  []caused         // of the step that is taken, to be ordered
	ready   []kernel.Command // to execute once that is committed
	known   known            // of the step that is taken
	out     orders
	wished  *engine.Signal // the latest one that was taken up; nil: none
	free    bool           // its lease was given back
	parked  bool           // since it waits for people
	halting bool           // it comes to its end, and begins nothing any more
	closed  bool

	room room
}

// room is memory for what few runs have more of at a time.
type room struct {
	records [4]journal.Record
	causes  [4]caused
	ready   [2]kernel.Command
	out     [2]order
}

// session names a conversation. It belongs to one tenant and user: the same id
// under another identity is another session.
type session struct{ tenant, user, id string }

func (r *run) session() session { return session{r.head.Tenant, r.head.User, r.head.Session} }

// work is a command that a goroutine carries out; without a task: nothing.
type work struct {
	cmd   kernel.Seq
	leash *leash.Leash
	task  engine.Task
}

func (e *Engine) newRun(head journal.Head, agent *engine.Agent) *run {
	r := &run{
		id: head.Run, eng: e, agent: agent, head: head,
		done: make(chan struct{}),
	}
	r.batch.records, r.causes, r.ready, r.out = r.room.records[:0], r.room.causes[:0], r.room.ready[:0], r.room.out[:0]
	return r
}

// delta passes a piece of text on to whoever watches.
func (r *run) delta(d model.Delta) { r.feed.delta(d) }

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

// signal cancels: RUN_STOPPED when the run is not driven here any more. A wish
// that finds a commit under way is taken up right behind it, before anything
// is executed. The same signal again changes nothing.
func (r *run) signal(s *engine.Signal) error {
	r.wish.Store(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wish.CompareAndSwap(s, nil) && !r.closed && !r.tookUp(s) { // nor replaced by one that says the same
		r.goOn(r.cancel(s))
	}
	if r.closed && !r.tookUp(s) {
		return stopped()
	}
	return nil
}

// cancel takes a wish up.
func (r *run) cancel(s *engine.Signal) work {
	r.wished = s
	w := r.report(0, kernel.Cancelled{At: r.now(), By: kernel.Clip(s.By, 200), Reason: kernel.Clip(s.Reason, 2000)}, engine.Content{})
	if r.lost != nil && r.lost.Code == kernel.CodeLeaseLost {
		r.wished = nil // it reached nobody
	}
	return w
}

// tookUp reports whether a wish was taken up, in this or another delivery.
func (r *run) tookUp(s *engine.Signal) bool {
	return r.wished != nil && (r.wished == s || s.ID != "" && r.wished.ID == s.ID)
}

func stopped() error {
	return &kernel.Error{Code: kernel.CodeRunStopped, Message: "the run has stopped"}
}

// start journals the beginning and returns what to carry out first. Nothing
// has been executed when it fails.
func (r *run) start(ctx context.Context) (work, error) {
	event, content := r.x.Begin()
	if err := r.take(event, content); err != nil {
		return work{}, err
	}
	if err := r.flush(ctx); err != nil {
		return work{}, err
	}
	return r.next(), nil
}

// goOn carries work out on a goroutine of its own.
func (r *run) goOn(w work) {
	if w.task != nil {
		r.eng.spawn(func() {
			growStack(0)
			r.carry(w)
		})
	}
}

// carry carries commands out one after another. The goroutine that was busy
// with the last one goes on with the next: a turn then needs no hand-over, and
// a stack that has grown is used again.
func (r *run) carry(w work) {
	for w.task != nil {
		event, content := w.task.Do(w.leash, r.instead(w.cmd))
		w = r.deliver(w.cmd, event, content)
	}
}

// instead takes the report of a command whose goroutine is lost to code that
// does not return; what that goroutine may report later comes too late.
func (r *run) instead(cmd kernel.Seq) engine.Report {
	return func(e kernel.Event, c engine.Content) {
		r.goOn(r.deliver(cmd, e, c))
	}
}

func (r *run) deliver(cmd kernel.Seq, e kernel.Event, c engine.Content) work {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report(cmd, e, c)
}

// report takes the run on by what came of a command (0: of none): apply,
// commit, execute. It returns what its caller has to carry out next, if anything.
// Nothing is taken any more once this process does not drive the run. No event is
// the report of a question: the vote was recorded.
func (r *run) report(cmd kernel.Seq, e kernel.Event, c engine.Content) work {
	if r.closed {
		return work{}
	}
	r.out.end(cmd)
	if e == nil {
		return r.listen()
	}
	return r.step(func() error { return r.take(e, c) })
}

// next returns what follows from the last commit, and lets a run go that has
// stopped or waits. A wish that comes too late for it stays: see signal.
func (r *run) next() work {
	if r.free {
		r.close()
		return work{}
	}
	if s := r.wish.Swap(nil); s != nil && !r.tookUp(s) {
		return r.cancel(s)
	}
	if r.leaves() {
		r.handBack()
		return work{}
	}
	return r.execute()
}

func (r *run) now() kernel.Time { return kernel.Time(r.eng.clock.Now().UnixNano()) }

// execute ends and starts what was waiting for the commit, but for one command,
// which it leaves to its caller.
func (r *run) execute() work {
	r.abort()
	var own work
	for _, c := range r.ready {
		if _, ends := c.(kernel.Abort); ends {
			continue
		}
		o := r.out.of(number(c))
		if t, ok := c.(kernel.SetTimer); ok {
			if o != nil { // not ended before its commit
				r.startTimer(o, t)
			}
			continue
		}
		w := work{o.cmd, o.leash, r.task(c)}
		if own.task == nil {
			own = w
			continue
		}
		r.goOn(w)
	}
	r.ready = r.ready[:0]
	return own
}

// abort ends early what is to be ended, and questions that were decided
// elsewhere.
func (r *run) abort() {
	for _, c := range r.ready {
		if a, ends := c.(kernel.Abort); ends {
			r.out.abort(a.Cmd)
		}
	}
	for i := range r.out {
		if o := &r.out[i]; o.asks && !r.asksAs(o.cmd) {
			o.stop()
		}
	}
}

// task is what carries out a command.
func (r *run) task(c kernel.Command) engine.Task {
	switch c := c.(type) {
	case kernel.AskHuman:
		return r.askHere(c)
	case kernel.RunTool:
		return r.ifStillMine(r.x.Task(c))
	}
	return r.x.Task(c)
}

func (r *run) startTimer(o *order, t kernel.SetTimer) {
	due := kernel.Time(r.eng.clock.Now().UnixNano())
	o.timer = r.eng.clock.AfterFunc(span(due, t.At), func() {
		r.carry(r.deliver(t.Cmd, kernel.TimerFired{At: r.now(), Cmd: t.Cmd, Timer: t.Timer}, engine.Content{}))
	})
}

// fail stops a run whose events cannot be applied or journaled: what happened
// is recorded if it can be, and nothing begins any more. Its outcome is
// host_error, if the journal takes that after all; else the run's end is lost.
func (r *run) fail(base *engine.Mark, apply func() error, cause error) {
	r.eng.log.Error("run failed", "run", r.id, "error", cause)
	e := &kernel.Error{Code: kernel.CodeInternal, Message: cause.Error()}
	errors.As(cause, &e)
	r.halting = true
	r.undo(base)
	if e.Code == kernel.CodeLocalStorage && r.applied(func() error { return r.heard(apply) }) != nil {
		r.undo(base)
	}
	err := r.applied(func() error {
		return r.take(kernel.HostFailed{At: r.now(), Code: e.Code, Detail: e.Message}, engine.Content{})
	})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastTry)
		defer cancel()
		err = r.flush(ctx)
	}
	switch {
	case err == nil:
	case kernel.CodeOf(err) == kernel.CodeLeaseLost:
		r.loses(err)
	default:
		r.eng.log.Error("the end of the run is not journaled", "run", r.id, "error", err)
		r.lost = &kernel.Error{
			Code: kernel.CodeLocalStorage, Message: "the end of run " + r.id + " could not be journaled: " + e.Message,
			Hint: hintAtLoss(e.Hint), Err: err,
		}
	}
}

// close ends whatever is still out and publishes how far the run came.
func (r *run) close() {
	r.closed = true
	for i := range r.out {
		r.out[i].stop()
	}
	if r.lost == nil {
		r.result = r.x.Snapshot(r.head)
	}
	if r.parked {
		r.eng.park(r)
	}
	r.eng.forget(r) // first, so that whoever waited finds the session free
	close(r.done)
	r.eng.wg.Done()
}

// hintAtLoss says what to do about a run whose end is lost, after what to do
// about the cause.
func hintAtLoss(cause string) string {
	const hint = "runs show tells how far it came, and work goes on with it once the journal can be written"
	if cause == "" {
		return hint
	}
	return cause + "; " + hint
}

// contain turns a panic of the driver into an error.
func (r *run) contain(err *error) {
	if p := recover(); p != nil {
		r.eng.log.Error("panic contained", "run", r.id, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		*err = &kernel.Error{Code: kernel.CodeInternal, Message: "the driver of the run panicked"}
	}
}
