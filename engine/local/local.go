// Package local drives runs inside this process, with one goroutine for each
// command that is under way and none for a run that waits.
package local

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of Config.Lease, and the values of what nobody sets.
const (
	MinLease     = 100 * time.Millisecond
	MaxLease     = 10 * time.Minute
	DefaultLease = 10 * time.Second
	DefaultPoll  = 200 * time.Millisecond
)

// Config is what an Engine needs.
type Config struct {
	Journal journal.Journal // required; the engine does not close it
	Log     *slog.Logger    // nil: nothing is logged
	// Owner names this process to people, and to no other process. Empty: host,
	// process id and something random.
	Owner string
	// Lease is how long a run stays with this process when it is not heard of
	// any more, from MinLease to MaxLease. 0: DefaultLease.
	Lease time.Duration
	// Poll is how often signals of other processes are looked for. 0:
	// DefaultPoll.
	Poll time.Duration
	// Agents makes the agent of a run that this process takes over and did not
	// begin. nil: such runs are left alone.
	Agents func(ctx context.Context, s *engine.Stored) (*engine.Agent, error)

	// Grace is how long a model, a policy, a tool or a verifier may take to return
	// once its context has ended; what it says after that counts for nothing. 0:
	// engine.DefaultGrace.
	Grace time.Duration

	// Clock and Spawn are the time and the goroutines of the runs, Wait is how Run
	// and Work wait until one of the channels has something to receive, and Jitter
	// is chance; a simulator sets them. nil: the system's.
	Clock  engine.Clock
	Spawn  func(func())
	Wait   func(a, b, c <-chan struct{})
	Jitter func() int
}

// Engine is an engine.Engine. Make one with New.
type Engine struct {
	journal journal.Journal
	log     *slog.Logger
	owner   string
	lease   time.Duration
	poll    time.Duration
	agents  func(ctx context.Context, s *engine.Stored) (*engine.Agent, error)
	grace   time.Duration
	clock   engine.Clock
	spawn   func(func())
	wait    func(a, b, c <-chan struct{})
	jitter  func() int

	mu       sync.Mutex
	runs     map[string]*run          // under way, by id
	sessions map[session]*run         // the same
	taking   map[string]chan struct{} // runs that are being taken up, each closed when that is over
	parked   map[string]*engine.Agent
	feeds    map[string]*feed // of runs that are watched, or were lost
	closed   bool
	leaving  atomic.Bool        // no run begins anything new: see Work
	taken    func(journal.Head) // told by Work's wish of each run that is taken up; nil: nobody
	nudged   chan struct{}      // wakes Work
	wg       sync.WaitGroup
	rounds   rounds

	snapshots engine.Snapshots
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine on a journal.
func New(c Config) (*Engine, error) {
	if c.Journal == nil {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "an engine needs a journal"}
	}
	e := &Engine{
		journal: c.Journal, log: engine.QuietLog(c.Log), owner: c.Owner, lease: c.Lease, poll: c.Poll,
		agents: c.Agents, grace: c.Grace, clock: c.Clock, spawn: c.Spawn, wait: c.Wait, jitter: c.Jitter,
		nudged: make(chan struct{}, 1),
		runs:   map[string]*run{}, sessions: map[session]*run{}, taking: map[string]chan struct{}{},
		parked: map[string]*engine.Agent{}, feeds: map[string]*feed{},
	}
	if e.lease == 0 {
		e.lease = DefaultLease
	}
	if e.lease < MinLease || e.lease > MaxLease {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("a lease lasts from %s to %s, not %s", MinLease, MaxLease, e.lease)}
	}
	if e.poll <= 0 {
		e.poll = DefaultPoll
	}
	if e.owner == "" {
		e.owner = ownerName()
	}
	if e.clock == nil {
		e.clock = engine.SystemClock{}
	}
	if e.spawn == nil {
		e.spawn = func(f func()) { go f() }
	}
	if e.wait == nil {
		e.wait = wait
	}
	return e, nil
}

func wait(a, b, c <-chan struct{}) {
	select {
	case <-a:
	case <-b:
	case <-c:
	}
}

// Start begins a run: see engine.Engine.
func (e *Engine) Start(ctx context.Context, s engine.Start) (string, error) {
	r, err := e.begin(ctx, s)
	if err != nil {
		return "", err
	}
	return r.id, nil
}

// Run begins a run and waits for its stop, or until it waits for people: then
// the Run has no outcome. The end of ctx cancels the run, and Run still waits
// for it to stop. A nil error says that the run was journaled as far as it
// came; LOCAL_STORAGE says that it has ended, but the journal does not hold
// how, and LEASE_LOST that another process drives it now.
func (e *Engine) Run(ctx context.Context, s engine.Start) (*engine.Run, error) {
	r, err := e.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	e.wait(r.done, ctx.Done(), nil)
	if ctx.Err() != nil {
		_ = r.signal(&engine.Signal{Kind: engine.SignalCancel, Reason: "interrupted"}) // stopped by itself: as good
		e.wait(r.done, nil, nil)
	}
	if r.lost != nil {
		return nil, r.lost
	}
	return r.result, nil
}

func (e *Engine) begin(ctx context.Context, s engine.Start) (_ *run, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	fresh := s.Session == ""
	if fresh || s.Run == "" {
		identify(&s, ulid.Make().String())
	}
	r := e.newRun(journal.Head{
		Run: s.Run, Session: s.Session, Tenant: s.Tenant, User: s.User,
		State: journal.Running, Question: preview(s.Question), StartedAt: e.clock.Now().UTC(),
	}, s.Agent)
	r.mu.Lock() // so that no signal comes before the beginning
	defer r.mu.Unlock()
	if err := e.admit(r); err != nil {
		e.awaitBeginning(r.id)
		return nil, err
	}
	begun := false
	defer func() {
		if !begun {
			r.closed = true
			e.forget(r)
			close(r.done) // for whoever has it from the engine
			e.wg.Done()
		}
	}()
	var prior []kernel.Message
	if !fresh {
		if prior, err = e.follow(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.x, err = engine.NewExecution(e.env(r), s, prior); err != nil {
		return nil, err
	}
	r.lease = journal.Lease{Owner: e.owner, Token: 1}
	first, err := r.start(ctx)
	if kernel.CodeOf(err) == kernel.CodeLeaseLost {
		err = &kernel.Error{Code: kernel.CodeConflict, Message: "a run with this id is there already", Err: err}
	}
	if err != nil {
		return nil, err
	}
	begun = true
	r.goOn(first)
	return r, nil
}

// identify gives a run, and a session that begins with it, ids that nobody else has.
func identify(s *engine.Start, unique string) {
	if s.Session == "" {
		s.Session = "ses_" + unique
	}
	if s.Run == "" {
		s.Run = "run_" + unique
	}
}

func (e *Engine) env(r *run) engine.Env {
	return engine.Env{Log: e.log, Watch: r.delta, Grace: e.grace, Clock: e.clock, Snapshots: &e.snapshots, Jitter: e.jitter}
}

// admit takes a run in, unless its id or its session is in use: the runs of a
// session follow one another.
func (e *Engine) admit(r *run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "the engine is closed"}
	case e.leaving.Load():
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "the engine hands its runs back"}
	case e.runs[r.id] != nil:
		return &kernel.Error{Code: kernel.CodeConflict, Message: "a run with this id is under way"}
	case e.sessions[r.session()] != nil:
		return &kernel.Error{Code: kernel.CodeConflict, Message: "a run of this session is under way", Hint: "wait for it, or cancel it"}
	}
	e.runs[r.id] = r
	e.sessions[r.session()] = r
	delete(e.parked, r.id)
	r.feed = e.feedFor(r)
	r.feed.drive()
	e.wg.Add(1)
	e.keepUp()
	return nil
}

// awaitBeginning waits while the run of that id is only about to begin here:
// whoever is told that the id is in use finds the run in the journal.
func (e *Engine) awaitBeginning(id string) {
	if other := e.live(id); other != nil {
		other.mu.Lock()
		defer other.mu.Unlock()
	}
}

// forget lets a run go that this process does not drive any more. Why what came
// of it is not journaled, if it is not, stays for whoever watches later; what
// another process does with the run is.
func (e *Engine) forget(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runs, r.id)
	delete(e.sessions, r.session())
	if r.lost != nil && r.lost.Code != kernel.CodeLeaseLost {
		r.feed.lose(r.lost) // before a watcher can drop it
		e.feeds[r.id] = r.feed
	}
	r.feed.rest() // before another run has it
}

func (e *Engine) live(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// follow gives a new run its place in its session, and returns what the runs
// before it left. None of them may be under way, since it would say more.
func (e *Engine) follow(ctx context.Context, r *run) ([]kernel.Message, error) {
	earlier, err := engine.EarlierRuns(ctx, e.journal, &r.head)
	if err != nil {
		return nil, err
	}
	r.place = len(earlier) + 1
	if r.left, err = e.journal.Notices(ctx, r.head.SessionOf()); err != nil {
		return nil, err
	}
	if len(earlier) > 0 {
		last := &earlier[len(earlier)-1]
		if last.State != journal.Stopped {
			return nil, journal.SessionBusy(last.Session, last.Run)
		}
		if !r.head.StartedAt.After(last.StartedAt) { // the clock was set back
			r.head.StartedAt = last.StartedAt.Add(1)
		}
	}
	return engine.SessionHistory(ctx, e.journal, earlier)
}

// Get reads a run: see engine.Engine. Its history is that of the run alone.
func (e *Engine) Get(ctx context.Context, id string) (*engine.Run, error) {
	return engine.Load(ctx, e.journal, id)
}

// List lists runs: see engine.Engine.
func (e *Engine) List(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	return e.journal.Heads(ctx, q)
}

// Close cancels the runs under way, waits for them to stop, and refuses new
// ones. Runs that wait for people go on waiting. The journal stays open.
func (e *Engine) Close() error {
	for _, r := range e.shut() {
		// One that has stopped by now is what was wanted.
		e.spawn(func() { _ = r.signal(&engine.Signal{Kind: engine.SignalCancel, Reason: "the engine was closed"}) })
	}
	e.wg.Wait()
	e.rounds.end()
	return nil
}

// shut refuses new runs, and returns those under way.
func (e *Engine) shut() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return e.underWay()
}

// underWay returns the runs under way, by id. The engine is locked.
func (e *Engine) underWay() []*run {
	return slices.SortedFunc(maps.Values(e.runs), func(a, b *run) int { return strings.Compare(a.id, b.id) })
}
