// Package desk asks the ticket desk many questions at once, on one file.
package desk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// Ask opens the desk in a file, and the journal beside it, and asks n questions
// of alice at once, each for a draft in a session of its own name. It returns an
// error for any that did not come to its draft by three calls.
func Ask(ctx context.Context, file, name string, n int) (err error) {
	db, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rt, err := holdfast.Open(ctx, holdfast.Options{File: file + ".runs.db"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = ask(ctx, db, rt, fmt.Sprint(name, " ", i)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func ask(ctx context.Context, db *sqlite.DB, rt *holdfast.Runtime, session string) error {
	m, err := desk.Script(desk.ScenarioDraft)
	if err != nil {
		return err
	}
	agent, err := desk.Agent(m, desk.Services{Tickets: db, Drafts: db, Policies: db, Session: session})
	if err != nil {
		return err
	}
	agent.Limits.Deadline = 10 * time.Minute // what is measured is no failure
	run, err := rt.RunStart(ctx, holdfast.Start{Agent: agent, Question: "T1001", Tenant: "acme", User: "alice"})
	if err != nil {
		return err
	}
	who := desk.Identity{Tenant: "acme", User: "alice"}
	r, err := desk.ResultOf(ctx, db, who, run)
	if err != nil {
		return err
	}
	if r.Status != desk.DraftPrepared || len(run.Results) != 3 {
		return fmt.Errorf("run %s: %s, %d results", run.Head.Run, r.Status, len(run.Results))
	}
	return nil
}
