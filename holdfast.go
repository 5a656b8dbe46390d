// Package holdfast runs tool-calling agents that act on real systems: every
// stop has a reason, every effect has a receipt, every claim has evidence.
//
// A model may ask; the host decides, executes, records and verifies. An
// [Agent] is a value. [Open] gives a [Runtime], which journals every run:
//
//	rt, err := holdfast.Open(ctx, holdfast.Options{File: "runs.db"})
//	run, err := rt.Run(ctx, agent, "What is 248 times 15?")
//	fmt.Println(run.Outcome.Stop, run.Outcome.Verified, run.Answer)
//
// A run that ended is no success by that: look at its Stop and at Verified. One
// that waits for people has no outcome yet: its Head says what it waits for,
// [Runtime.Signal] delivers what they decide, and it goes on by itself in the
// Runtime that it waits in, or in any other one that does [Runtime.Work].
package holdfast

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// The names of the engine that an embedding program needs most.
type (
	// Agent is model, instructions, tools, policy, limits and verifier.
	Agent = engine.Agent
	// Start is a run to begin.
	Start = engine.Start
	// Run is a run as the journal has it.
	Run = engine.Run
	// Update is one thing that happened in a run.
	Update = engine.Update
	// Signal is a wish from outside.
	Signal = engine.Signal
	// SignalKind says what is wished.
	SignalKind = engine.SignalKind
	// SessionID names the session that a notice is for.
	SessionID = journal.SessionID
	// Stored is a run as its journal has it, for whoever takes it over.
	Stored = engine.Stored
	// Workload says what Work drives. The zero value is everything, for good.
	Workload = local.Workload
)

// The kinds of a Signal.
const (
	SignalCancel  = engine.SignalCancel  // end a run
	SignalApprove = engine.SignalApprove // vote for a call that waits for people
	SignalRefuse  = engine.SignalRefuse  // vote against it
	SignalResolve = engine.SignalResolve // say what became of an effect whose outcome is unknown
	SignalSay     = engine.SignalSay     // one more message of whoever asked
	SignalNotice  = engine.SignalNotice  // a text for the next request alone
)

// Options of Open. The zero value keeps runs in memory and logs nothing. File
// and Journal exclude one another.
type Options struct {
	// File is the SQLite file that keeps the runs. It is created when missing.
	// Several processes may use one file.
	File string
	// Journal keeps the runs instead of a file. The Runtime does not close it.
	Journal journal.Journal
	Log     *slog.Logger // nil: nothing is logged
	// Owner names this process to people, and to no other process. Empty: host,
	// process and something random, by which others see on Linux that it has
	// ended. Under another name its runs are taken over when their lease ends.
	Owner string
	// Lease is how long a run stays with this process when it is not heard of
	// any more, from 100 ms to 10 min. 0: 10 s.
	Lease time.Duration
	// Agents makes the agent of a run that another process began, from what is
	// kept with it: Stored.Question.Config is what Start.Config was. Required
	// for Work. It is safe for concurrent use.
	Agents func(ctx context.Context, s *Stored) (*Agent, error)
}

// Runtime drives runs in this process. It is safe for concurrent use. Close
// it after use.
type Runtime struct {
	engine  *local.Engine
	journal journal.Reader
	owned   journal.Journal // nil: the caller's
}

// Open returns a Runtime. Its errors are CONFIGURATION and those of the
// journal.
func Open(ctx context.Context, o Options) (*Runtime, error) {
	if o.Journal != nil && o.File != "" {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "a runtime has one journal: give a file or a journal, not both"}
	}
	rt := &Runtime{}
	j := o.Journal
	if j == nil {
		var err error
		if j, err = openJournal(ctx, o.File); err != nil {
			return nil, err
		}
		rt.owned = j
	}
	eng, err := local.New(local.Config{Journal: j, Log: o.Log, Owner: o.Owner, Lease: o.Lease, Agents: o.Agents})
	if err != nil {
		if rt.owned != nil {
			err = errors.Join(err, rt.owned.Close())
		}
		return nil, err
	}
	rt.engine, rt.journal = eng, j
	return rt, nil
}

func openJournal(ctx context.Context, file string) (journal.Journal, error) {
	if file == "" {
		return memory.New(), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
}

// Run asks an agent one question and waits for the run's stop, or until it
// waits for people: then its Outcome is nil. A nil error says that the run was
// driven and journaled as far as that, not that it went well. The end of ctx
// cancels the run.
func (rt *Runtime) Run(ctx context.Context, agent *Agent, question string) (*Run, error) {
	return rt.engine.Run(ctx, Start{Agent: agent, Question: question})
}

// RunStart is Run with everything that a start can say.
func (rt *Runtime) RunStart(ctx context.Context, s Start) (*Run, error) {
	return rt.engine.Run(ctx, s)
}

// Start begins a run and returns its id: see engine.Engine.
func (rt *Runtime) Start(ctx context.Context, s Start) (string, error) {
	return rt.engine.Start(ctx, s)
}

// Signal delivers a wish to a run, or a notice to a session: see engine.Engine.
func (rt *Runtime) Signal(ctx context.Context, run string, sig Signal) error {
	return rt.engine.Signal(ctx, run, sig)
}

// Work takes over the runs that can go on and that nobody drives, those of
// processes that died included, until ctx ends, or nothing can go on with
// Workload.Once. Runs under way are then handed back, not cancelled, and this
// Runtime begins nothing any more. CONFIGURATION without Options.Agents.
func (rt *Runtime) Work(ctx context.Context, w Workload) error {
	return rt.engine.Work(ctx, w)
}

// Watch yields what happens in a run: see engine.Engine.
func (rt *Runtime) Watch(ctx context.Context, run string, after int64) iter.Seq2[Update, error] {
	return rt.engine.Watch(ctx, run, after)
}

// Get returns a run: see engine.Engine.
func (rt *Runtime) Get(ctx context.Context, run string) (*Run, error) {
	return rt.engine.Get(ctx, run)
}

// List returns the runs that match q: see engine.Engine.
func (rt *Runtime) List(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	return rt.engine.List(ctx, q)
}

// Journal is where the runs, approvals and effects can be read.
func (rt *Runtime) Journal() journal.Reader { return rt.journal }

// Close cancels the runs under way, waits for them, and closes the journal
// that Open made. Runs that wait for people go on waiting.
func (rt *Runtime) Close() error {
	err := rt.engine.Close()
	if rt.owned != nil {
		err = errors.Join(err, rt.owned.Close())
	}
	return err
}
