package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// part is what a process of the suite plays.
type part struct {
	Dir  string // its world: the file of the journal, and those of the tools
	Work bool   // goes on with the run, instead of beginning it
	Kill
	Pause Pause
	Label label // of a tool, other than the scenario has it
	Long  bool  // plays the long scenario, whose history is compacted
	// quiet is held while the process pauses and must not be in the middle of a
	// write, which would keep everyone from the file.
	quiet *sync.RWMutex
}

// partVariable tells the test binary to play a part.
const partVariable = "HOLDFAST_ENGINETEST_PART"

// run is the id of the scenario's run.
const run = "r"

// session is its session.
var session = journal.SessionID{Owner: journal.Owner{User: "ann"}, Session: "s"}

// Main plays a part of the suite and ends the process, if it is to play one.
func Main(s Subject) {
	text := os.Getenv(partVariable)
	if text == "" {
		return
	}
	var p part
	err := json.Unmarshal([]byte(text), &p)
	var writes []string
	if err == nil {
		writes, err = p.play(context.Background(), s)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(writes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// file is where the journal of a world is.
func file(dir string) string { return filepath.Join(dir, "runs.db") }

// play drives the run to its stop. It returns what was written for it.
func (p part) play(ctx context.Context, s Subject) (writes []string, err error) {
	j, err := sqlite.Open(ctx, file(p.Dir), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	p.quiet = new(sync.RWMutex)
	counted := &mortal{Journal: j, part: p}
	a, err := agent(p)
	if err != nil {
		return nil, err
	}
	e, err := s(Config{Journal: counted, Lease: lease, Agents: func(context.Context, *engine.Stored) (*engine.Agent, error) { return a, nil }})
	if err != nil {
		return nil, err
	}
	if p.Work {
		err = finish(ctx, e, counted)
	} else {
		err = begin(ctx, e, counted, a)
	}
	return counted.writes, errors.Join(err, e.Close())
}

// begin runs the scenario, and decides on what it asks.
func begin(ctx context.Context, e Engine, j journal.Journal, a *engine.Agent) error {
	if err := tell(ctx, e, "before"); err != nil {
		return err
	}
	if _, err := e.Start(ctx, engine.Start{Run: run, Agent: a, Question: "do it", Session: "s", User: "ann"}); err != nil {
		return err
	}
	for u, err := range e.Watch(ctx, run, 0) {
		if err != nil {
			return err
		}
		if u.Waiting != nil && u.Waiting.For == kernel.WaitApproval {
			if err := tell(ctx, e, "meanwhile"); err != nil {
				return err
			}
			if err := decide(ctx, e, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell sends a notice to the session. It is delivered twice, and counts once.
func tell(ctx context.Context, e Engine, id string) error {
	for range 2 {
		sig := engine.Signal{ID: id, Kind: engine.SignalNotice, By: "ops", Text: "news " + id, Session: &session}
		if err := e.Signal(ctx, "", sig); err != nil {
			return err
		}
	}
	return nil
}

// finish goes on with the run until it stops, if there is one.
func finish(ctx context.Context, e Engine, j journal.Journal) error {
	for range 10 {
		if err := e.Work(ctx); err != nil {
			return err
		}
		head, err := j.Head(ctx, run)
		if kernel.CodeOf(err) == kernel.CodeNotFound {
			return nil
		}
		if err != nil || head.State == journal.Stopped {
			return err
		}
		if err := decide(ctx, e, j); err != nil {
			return err
		}
	}
	return errors.New("the run does not stop")
}

// decide approves what is open. It is delivered twice, and counts once.
func decide(ctx context.Context, e Engine, j journal.Reader) error {
	open, err := j.Approvals(ctx, journal.ApprovalQuery{Run: run, State: journal.ApprovalOpen})
	if err != nil {
		return err
	}
	for _, a := range open {
		for range 2 {
			sig := engine.Signal{ID: "yes/" + a.ID, Kind: engine.SignalApprove, Approval: a.ID, Hash: a.Hash, By: "bob"}
			if err := e.Signal(ctx, run, sig); err != nil {
				return err
			}
		}
	}
	return nil
}
