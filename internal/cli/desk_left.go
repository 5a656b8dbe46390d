package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// deskKept is what is kept with a question at the desk: whoever takes it over
// makes its agent from that.
type deskKept struct {
	Desk *deskChoice `json:"desk"`
	// Config is the configuration that names the model; none: a script plays.
	Config json.RawMessage `json:"config,omitempty"`
}

type deskChoice struct {
	Session  string        `json:"session"`
	Scenario string        `json:"scenario,omitempty"`
	Timeout  time.Duration `json:"timeout_ns"`
}

// deskKeptOf reads what is kept with a run, if that is a question at the desk.
func deskKeptOf(kept json.RawMessage) (*deskKept, bool) {
	k := &deskKept{}
	return k, json.Unmarshal(kept, k) == nil && k.Desk != nil
}

// agent makes the agent of a question, its limits apart: they are in the run.
func (k *deskKept) agent(env func(string) string, db *sqlite.DB) (*holdfast.Agent, error) {
	m, err := k.model(env)
	if err != nil {
		return nil, err
	}
	agent, err := desk.Agent(m, desk.Services{Tickets: db, Drafts: db, Policies: db, Session: k.Desk.Session})
	if err != nil {
		return nil, err
	}
	agent.RequestTimeout = k.Desk.Timeout
	return agent, nil
}

func (k *deskKept) model(env func(string) string) (model.Model, error) {
	if k.Config == nil {
		return desk.Script(k.Desk.Scenario)
	}
	c, err := config.FromStored(k.Config)
	if err != nil {
		return nil, err
	}
	if err := c.Complete(env); err != nil {
		return nil, err
	}
	return buildModel(c.Model)
}

// deskBeside opens the desk that a journal stands beside: `holdfast work` knows the
// journal alone.
func deskBeside(path string) (*sqlite.DB, error) {
	file, beside := strings.CutSuffix(path, runsOf(""))
	if !beside {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the run is a question at a desk, and its journal has another name than that of a desk",
			Hint: "a desk's journal is the desk's file with " + runsOf("") + " behind it"}
	}
	return sqlite.Open(context.Background(), file, sqlite.Options{})
}

// deskTaken is an earlier question of the person whose process ended before it
// was answered, and what came of it.
type deskTaken struct {
	Run  string `json:"run"`
	Stop string `json:"stop"` // empty: it has not stopped yet
}

// maxDeskTakeUp bounds the time for what was left, where the next question has no
// shorter one.
const maxDeskTakeUp = 30 * time.Second

// deskTakeUp goes on with what the person's earlier questions left when their
// process ended, or ends it where that cannot be: nothing stays under way that
// nobody drives, and a session is free for the next question. Runs of other programs
// in the same journal are theirs, and stay as they are.
func (a *app) deskTakeUp(ctx context.Context, flags *askFlags, db *sqlite.DB, who desk.Identity) ([]deskTaken, error) {
	rt, err := holdfast.Open(ctx, holdfast.Options{File: runsOf(flags.db), Agents: func(_ context.Context, s *holdfast.Stored) (*holdfast.Agent, error) {
		k, ok := deskKeptOf(s.Question.Config)
		if !ok {
			return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no choice of the desk is kept with the run"}
		}
		return k.agent(a.env, db)
	}})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	t := &deskTaker{rt: rt, who: who, asked: map[string]bool{}, unable: map[string]error{}}
	left, err := t.any(ctx)
	if err != nil || !left {
		return nil, err
	}
	limit := min(maxDeskTakeUp, flags.limits.Deadline)
	a.deskTell(flags.deskFlags, noticeTakesUp, limit)
	if err := t.drive(ctx, limit); err != nil {
		return nil, err
	}
	taken := make([]deskTaken, len(t.runs))
	for i, run := range t.runs {
		h, err := rt.Journal().Head(context.WithoutCancel(ctx), run)
		if err != nil {
			return nil, err
		}
		taken[i] = deskTaken{Run: run, Stop: string(h.Stop)}
	}
	return taken, nil
}

// deskTaker takes over what the questions of a person left.
type deskTaker struct {
	ctx context.Context
	rt  *holdfast.Runtime
	who desk.Identity

	mu     sync.Mutex
	asked  map[string]bool // whether a run is a question at the desk, by its id
	runs   []string
	unable map[string]error
	stops  []func()
}

// any reports whether there may be questions of the person that nobody drives
// any more: a process that stopped its run and ended meanwhile looks like it too.
func (t *deskTaker) any(ctx context.Context) (bool, error) {
	heads, err := t.rt.List(ctx, journal.Query{Owner: &journal.Owner{Tenant: t.who.Tenant, User: t.who.User}, State: journal.Running})
	return slices.ContainsFunc(heads, t.wants), err
}

// drive drives what the person's questions left to its stop. What cannot be gone
// on with, such as one of a model whose key is not there any more, is cancelled;
// so is what is under way when ctx or the time ends.
func (t *deskTaker) drive(ctx context.Context, limit time.Duration) error {
	over := &kernel.Error{Code: kernel.CodeCancelled, Message: fmt.Sprintf("its process ended, and the next question had %s to go on with it", limit)}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, over)
	defer cancel()
	t.ctx = ctx
	err := t.work()
	for run, why := range t.unable {
		if err == nil {
			err = t.cancel(run, why)
		}
	}
	if err == nil && len(t.unable) > 0 {
		err = t.work()
	}
	return err
}

// work drives until nothing can go on any more. The end of the context cancels the
// runs, which is sooner than to hand them back.
func (t *deskTaker) work() error {
	err := t.rt.Work(context.WithoutCancel(t.ctx), holdfast.Workload{Once: true, Only: t.wants, Taken: t.taken, Left: t.left})
	for _, stop := range t.stops {
		stop()
	}
	t.stops = nil
	return err
}

func (t *deskTaker) wants(h journal.Head) bool {
	return h.Owner() == journal.Owner{Tenant: t.who.Tenant, User: t.who.User} && !driven(&h, time.Now()) && t.isAsked(h.Run)
}

// isAsked reports whether a run is a question at the desk, by what is kept with it. One
// that cannot be read is none: holdfast db check looks at those.
func (t *deskTaker) isAsked(run string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked, known := t.asked[run]
	if !known {
		s, err := engine.ReadStored(context.Background(), t.rt.Journal(), run)
		if err == nil {
			_, asked = deskKeptOf(s.Question.Config)
		}
		t.asked[run] = asked
	}
	return asked
}

func (t *deskTaker) taken(h journal.Head) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, h.Run)
	t.stops = append(t.stops, cancelAtEnd(t.ctx, t.rt, h.Run))
}

func (t *deskTaker) left(h journal.Head, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unable[h.Run] = err
}

func (t *deskTaker) cancel(run string, why error) error {
	reason := "its process ended, and it cannot be gone on with: " + asError(why).Message
	err := t.rt.Signal(t.ctx, run, holdfast.Signal{Kind: holdfast.SignalCancel, By: "desk", Reason: kernel.Clip(reason, 500)})
	if kernel.CodeOf(err) == kernel.CodeRunStopped {
		return nil
	}
	return err
}
