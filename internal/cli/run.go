package cli

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// runFlags are the flags of `holdfast run`.
type runFlags struct {
	config, db            string
	session, user, tenant string
	yes, json             bool
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run QUESTION",
		Short: "Ask the configured agent one question",
		Long: "Run starts the agent of the configuration file on one question, shows its timeline as it happens,\n" +
			"and ends with the answer, the stop, the verdict and the usage. Every run is journaled.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Sprintf("run takes exactly one QUESTION, not %d", len(args)), "put the question in quotes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), flags, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the configuration `FILE` (default ./holdfast.yaml, if it is there)")
	f.StringVar(&flags.db, "db", "", "the journal's `FILE` (default .holdfast/journal.db beside the configuration file)")
	f.StringVar(&flags.session, "session", "", "the session to go on with (default a new one)")
	f.StringVar(&flags.user, "user", "", "who asks")
	f.StringVar(&flags.tenant, "tenant", "", "whose data it is")
	f.BoolVar(&flags.yes, "yes", false, "answer every ask with yes")
	f.BoolVar(&flags.json, "json", false, "print one JSON object and nothing else")
	return cmd
}

func (a *app) run(ctx context.Context, flags runFlags, question string) error {
	if strings.TrimSpace(question) == "" {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the question is empty", Hint: "say what the agent is to do"}
	}
	c, err := a.readConfig(flags.config)
	if err != nil {
		return err
	}
	if err := c.Complete(a.env); err != nil {
		return err
	}
	path := flags.db
	if path == "" {
		path = journalBeside(c.File)
	}
	agent, release, err := buildAgent(c, path)
	if err != nil {
		return err
	}
	defer release()
	agent.Approver = newApprover(flags.yes, a.stdin, a.stderr)

	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	rt, err := holdfast.Open(ctx, holdfast.Options{File: path})
	if err != nil {
		return err
	}
	defer rt.Close()
	return a.drive(ctx, rt, flags, engine.Start{
		Agent: agent, Question: question, Session: flags.session, User: flags.user, Tenant: flags.tenant,
	}, path)
}

// drive starts the run, shows it and returns how it went.
func (a *app) drive(ctx context.Context, eng engine.Engine, flags runFlags, start engine.Start, path string) error {
	d := newDisplay(a.stdout)
	see := func(u engine.Update) { d.event(u.Event, u.Content) }
	if flags.json {
		see = func(engine.Update) {}
	}
	r, err := follow(ctx, eng, start, see)
	if err != nil {
		return err
	}
	if flags.json {
		err = a.reportJSON(r)
	} else {
		d.summary(r)
		d.printf("run: %s; `holdfast runs show%s %s` shows it again\n", safeLine(r.Head.Run), dbFlag(path), safeLine(r.Head.Run))
	}
	switch {
	case err != nil:
		return err
	case succeeded(r.Outcome):
		return nil
	case ctx.Err() != nil && r.Outcome.Stop == kernel.StopCancelled:
		return exitError(exitInterrupt)
	}
	return exitError(exitFailure)
}

// follow starts a run and waits for its stop, showing what happens on the way.
// The end of ctx cancels the run, which still stops in order.
func follow(ctx context.Context, eng engine.Engine, start engine.Start, see func(engine.Update)) (*engine.Run, error) {
	id, err := eng.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	rest := context.WithoutCancel(ctx)
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		// The run may have stopped in this instant, which is as good.
		_ = eng.Signal(rest, id, engine.Signal{Kind: engine.SignalCancel, By: "operator", Reason: "interrupted"})
	})
	for u, err := range eng.Watch(rest, id, 0) {
		if err != nil {
			return nil, err
		}
		if u.Event != nil {
			see(u)
		}
	}
	if !stop() {
		<-cancelled
	}
	r, err := eng.Get(rest, id)
	if err == nil && r.Outcome == nil {
		err = &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the run " + safeLine(id) + " ended, but its end could not be journaled",
			Hint: "check the disk; the journal holds the run up to there"}
	}
	return r, err
}

// reportJSON writes the one object.
func (a *app) reportJSON(r *engine.Run) error {
	if err := writeJSON(a.stdout, newReport(r)); err != nil {
		return &kernel.Error{Code: kernel.CodeInternal, Message: "standard output cannot be written to; the run is in the journal",
			Hint: "holdfast runs show " + safeLine(r.Head.Run), Err: err}
	}
	return nil
}

// dbFlag is the flag that finds the journal again, where the default does not.
func dbFlag(path string) string {
	if path == journalBeside("") {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return " --db " + quoteArgument(path)
}

// quoteArgument quotes s for a shell where it needs to be.
func quoteArgument(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
