package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// deskFlags are those of every command of the desk.
type deskFlags struct {
	db, user, service, promise string
	settle                     time.Duration
}

func (d *deskFlags) bind(f *flag.FlagSet) {
	f.StringVar(&d.db, "db", "desk.db", "the desk's `FILE`; its runs are kept beside it, in FILE.runs.db")
	f.StringVar(&d.user, "user", "alice", "the `NAME` of who confirms, among the fixtures")
	f.StringVar(&d.service, "service", "http://"+home, "the service's `URL`")
	f.StringVar(&d.promise, "promise", string(remote.PromiseLookup), "what the service promises: lookup, keys or nothing")
	f.DurationVar(&d.settle, "settle", remote.DefaultSettle, "how long a request can be under way")
}

// open carries do out on the open desk.
func (d *deskFlags) open(ctx context.Context, do func(*remote.Desk, desk.Identity) error) (err error) {
	who, err := desk.Fixture(d.user)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, d.db, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	file, err := filepath.EvalSymlinks(d.db) // under whatever name, it has one journal
	if err != nil {
		return err
	}
	r, err := remote.Open(ctx, remote.Config{
		Drafts: db, Runs: file + ".runs.db", Service: d.service, Promise: remote.Promise(d.promise), Settle: d.settle,
	})
	if err != nil {
		return err
	}
	return errors.Join(do(r, who), r.Close())
}

func deskCommands() []command {
	var flags deskFlags
	var hash string
	return []command{
		{
			name: "submit", args: "DRAFT", about: "confirm a draft, and submit the ticket that comes of it, once",
			flags: func(f *flag.FlagSet) {
				flags.bind(f)
				f.StringVar(&hash, "hash", "", "the `HASH` of what was read: holdfast desk show-draft DRAFT shows both")
			},
			run: func(ctx context.Context, args []string, out io.Writer) error {
				return flags.open(ctx, func(r *remote.Desk, who desk.Identity) error {
					s, err := r.Submit(ctx, who, args[0], hash)
					return printed(out, s, err)
				})
			},
		},
		{
			name: "status", args: "DRAFT", about: "show how a confirmed draft stands with the service", flags: flags.bind,
			run: func(ctx context.Context, args []string, out io.Writer) error {
				return flags.open(ctx, func(r *remote.Desk, who desk.Identity) error {
					s, err := r.Status(ctx, who, args[0])
					return printed(out, s, err)
				})
			},
		},
		{
			name: "check", about: "ask the service about each submission whose outcome is unknown", flags: flags.bind,
			run: func(ctx context.Context, _ []string, out io.Writer) error {
				return flags.open(ctx, func(r *remote.Desk, _ desk.Identity) error {
					found, err := r.Check(ctx)
					return errors.Join(show(out, found), err)
				})
			},
		},
		{
			name: "work", about: "go on with submissions whose process is gone or whose outcome was found out, and begin those that the person confirmed and nobody began", flags: flags.bind,
			run: func(ctx context.Context, _ []string, out io.Writer) error {
				return flags.open(ctx, func(r *remote.Desk, who desk.Identity) error {
					if err := r.Work(ctx); err != nil {
						return err
					}
					begun, err := r.Sweep(ctx, who)
					return errors.Join(show(out, begun), err)
				})
			},
		},
	}
}

// printed prints a submission, and says by the exit code what nobody knows.
func printed(out io.Writer, s remote.Submission, err error) error {
	if err != nil {
		return err
	}
	err = show(out, s)
	switch {
	case err != nil:
		return err
	case s.State == remote.Unknown, s.State == remote.UnderWay:
		return errUnknown
	case s.State == remote.NotSent:
		return errNotSent
	}
	return nil
}
