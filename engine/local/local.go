// Package local drives runs inside this process, with one goroutine for each
// command that is under way and none for a run that waits.
package local

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt"
)

// Config is what an Engine needs.
type Config struct {
	Journal journal.Journal // required; the engine does not close it
	Log     *slog.Logger    // nil: nothing is logged
}

// Engine is an engine.Engine. Make one with New.
type Engine struct {
	journal journal.Journal
	log     *slog.Logger

	mu       sync.Mutex
	runs     map[string]*run  // under way, by id
	sessions map[session]*run // the same
	closed   bool
	wg       sync.WaitGroup
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine on a journal.
func New(c Config) (*Engine, error) {
	if c.Journal == nil {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "an engine needs a journal"}
	}
	return &Engine{journal: c.Journal, log: engine.QuietLog(c.Log), runs: map[string]*run{}, sessions: map[session]*run{}}, nil
}

// Start begins a run: see engine.Engine.
func (e *Engine) Start(ctx context.Context, s engine.Start) (string, error) {
	r, err := e.begin(ctx, s)
	if err != nil {
		return "", err
	}
	return r.id, nil
}

// Run begins a run and waits for its stop. The end of ctx cancels the run, and
// Run still waits for it to stop. A nil error says that the run was journaled
// to its stop, whatever that is; LOCAL_STORAGE says that it has ended, but the
// journal does not hold how.
func (e *Engine) Run(ctx context.Context, s engine.Start) (*engine.Run, error) {
	r, err := e.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		_ = r.signal(&engine.Signal{Kind: engine.SignalCancel, Reason: "interrupted"}) // stopped by itself: as good
		<-r.done
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
	if fresh {
		s.Session = "ses_" + ulid.Make().String()
	}
	if s.Run == "" {
		s.Run = "run_" + ulid.Make().String()
	}
	r := newRun(e, s)
	r.mu.Lock() // so that no signal comes before the beginning
	defer r.mu.Unlock()
	if err := e.admit(r); err != nil {
		return nil, err
	}
	begun := false
	defer func() {
		if !begun {
			r.closed = true
			e.forget(r)
			e.wg.Done()
		}
	}()
	var prior []kernel.Message
	if !fresh {
		if prior, err = e.sessionHistory(ctx, &s); err != nil {
			return nil, err
		}
	}
	if r.x, err = engine.NewExecution(engine.Env{Log: e.log, Watch: r.feed.delta}, s, prior); err != nil {
		return nil, err
	}
	first, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	begun = true
	go r.carry(first)
	return r, nil
}

// admit takes a run in, unless its id or its session is in use: the runs of a
// session follow one another.
func (e *Engine) admit(r *run) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "the engine is closed"}
	case e.runs[r.id] != nil:
		return &kernel.Error{Code: kernel.CodeConflict, Message: "a run with this id is under way"}
	case e.sessions[r.session()] != nil:
		return &kernel.Error{Code: kernel.CodeConflict, Message: "a run of this session is under way", Hint: "wait for it, or cancel it"}
	}
	e.runs[r.id] = r
	e.sessions[r.session()] = r
	e.wg.Add(1)
	return nil
}

func (e *Engine) forget(r *run) {
	e.mu.Lock()
	delete(e.runs, r.id)
	delete(e.sessions, r.session())
	e.mu.Unlock()
}

func (e *Engine) live(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// sessionHistory is what the session's earlier runs left, oldest first. A
// session belongs to one tenant and user: the same id under another identity is
// another session.
func (e *Engine) sessionHistory(ctx context.Context, s *engine.Start) ([]kernel.Message, error) {
	heads, err := e.journal.Heads(ctx, journal.Query{
		Owner:   &journal.Owner{Tenant: s.Tenant, User: s.User},
		Session: s.Session,
	})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	slices.Reverse(heads)
	var prior []kernel.Message
	for _, h := range heads {
		replay := engine.NewReplay(h.Run, prior)
		if err := replay.Read(ctx, e.journal); err != nil {
			return nil, err
		}
		replay.History.Close()
		messages := replay.History.Messages()
		prior = append(prior, prompt.Qualify(messages[len(prior):], h.Run)...)
	}
	return prior, nil
}

// Signal delivers a wish: see engine.Engine.
func (e *Engine) Signal(ctx context.Context, id string, sig engine.Signal) error {
	if sig.Kind != engine.SignalCancel {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the only signal is cancel"}
	}
	if r := e.live(id); r != nil {
		return r.signal(&sig)
	}
	head, err := e.journal.Head(ctx, id)
	if err != nil {
		return err
	}
	if head.State == journal.Stopped {
		return stopped()
	}
	return &kernel.Error{Code: kernel.CodeNotFound, Message: "this process does not drive the run"}
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
// ones. The journal stays open.
func (e *Engine) Close() error {
	for _, r := range e.shut() {
		// One that has stopped by now is what was wanted.
		go func() { _ = r.signal(&engine.Signal{Kind: engine.SignalCancel, Reason: "the engine was closed"}) }()
	}
	e.wg.Wait()
	return nil
}

// shut refuses new runs, and returns those under way.
func (e *Engine) shut() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return slices.Collect(maps.Values(e.runs))
}
