package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
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
			"and ends with the answer, the stop, the verdict and the usage. Every run is journaled.\n" +
			"With - as the QUESTION it is read from standard input, at most 1 MiB.",
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
	f.StringVar(&flags.session, "session", "", "the `ID` of the session to go on with (default a new one)")
	f.StringVar(&flags.user, "user", "", "the `NAME` of who asks")
	f.StringVar(&flags.tenant, "tenant", "", "the `NAME` of whose data it is")
	f.BoolVar(&flags.yes, "yes", false, "answer every ask with yes")
	f.BoolVar(&flags.json, "json", false, "print one JSON object and nothing else")
	return cmd
}

func (a *app) run(ctx context.Context, flags runFlags, question string) error {
	if question == "-" {
		var err error
		if question, err = a.readQuestion(); err != nil {
			return err
		}
	}
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
	d := newDisplay(a.stdout)
	agent.Approver = newApprover(flags.yes, a.stdin, a.stderr, d)

	ctx, stop := untilInterrupted(ctx, release)
	defer stop()

	rt, err := holdfast.Open(ctx, holdfast.Options{File: path})
	if err != nil {
		return err
	}
	defer rt.Close()
	if c.File == "" && !flags.json {
		d.printf("there is no ./%s: the model comes from the environment and may multiply, and nothing else; the journal is %s\n", defaultConfig, safeLine(path))
	}
	return a.drive(ctx, rt, d, flags, engine.Start{
		Agent: agent, Question: question, Session: flags.session, User: flags.user, Tenant: flags.tenant,
	}, path)
}

// maxQuestion bounds a question, in bytes.
const maxQuestion = 1 << 20

// readQuestion reads the question from standard input, less the line break at
// its end.
func (a *app) readQuestion() (string, error) {
	b, err := io.ReadAll(io.LimitReader(a.stdin, maxQuestion+2))
	if err != nil {
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "standard input cannot be read", Hint: "give the question as the argument", Err: err}
	}
	question := strings.TrimSuffix(string(b), "\n")
	if len(question) > maxQuestion {
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the question on standard input is over 1 MiB", Hint: "put the material into files of the workspace, and let the agent read them"}
	}
	return question, nil
}

// drive starts the run, shows it on d and returns how it went.
func (a *app) drive(ctx context.Context, eng engine.Engine, d *display, flags runFlags, start engine.Start, path string) error {
	see := func(engine.Update) {}
	if !flags.json {
		see = d.update
		defer d.follow()()
	}
	r, lost := follow(ctx, eng, start, see)
	if r == nil {
		return lost
	}
	if flags.json {
		if err := a.reportJSON(r); err != nil {
			return err
		}
	} else {
		d.summary(r)
		d.next(&r.Head, flags, path)
	}
	switch {
	case lost != nil:
		return lost
	case succeeded(r.Outcome):
		return nil
	case ctx.Err() != nil && r.Outcome.Stop == kernel.StopCancelled:
		return exitError(exitInterrupt)
	}
	return exitError(exitFailure)
}

// next says how to look at the run again, and how to go on with its session:
// of the same journal, tenant and user.
func (d *display) next(h *journal.Head, flags runFlags, path string) {
	d.printf("run: %s; `holdfast runs show%s %s` shows it again\n", safeLine(h.Run), dbFlag(path), safeLine(h.Run))
	line := ""
	for _, f := range []struct{ name, value string }{
		{"-c", flags.config}, {"--db", flags.db}, {"--session", h.Session}, {"--tenant", flags.tenant}, {"--user", flags.user},
	} {
		if f.value != "" {
			line += " " + f.name + " " + quoteArgument(f.value)
		}
	}
	d.printf("session: %s; `holdfast run%s QUESTION` goes on with it\n", safeLine(h.Session), safeLine(line))
}

// follow starts a run and waits for its stop, showing what happens on the way.
// The end of ctx cancels the run, which still stops in order. No run is
// returned when none has begun; a run with an error is one whose end the
// journal does not hold, as far as it is known.
func follow(ctx context.Context, eng engine.Engine, start engine.Start, see func(engine.Update)) (*engine.Run, error) {
	id, err := eng.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	rest := context.WithoutCancel(ctx)
	begun, err := eng.Get(rest, id)
	if err != nil { // the rest of it will fail too
		begun = &engine.Run{Head: journal.Head{Run: id, Session: start.Session}}
	}
	lost := watch(ctx, eng, id, see)
	r, err := eng.Get(rest, id)
	switch {
	case err == nil && r.Outcome != nil:
		return r, nil
	case err != nil:
		r, lost = begun, cmp.Or(lost, err)
	case lost == nil:
		lost = &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the run " + safeLine(id) + " ended, but its end could not be journaled",
			Hint: "check the disk; the journal holds the run up to there"}
	}
	r.Outcome = endLost(r, lost)
	return r, lost
}

// watch shows a run until it stops, and cancels it at the end of ctx.
func watch(ctx context.Context, eng engine.Engine, id string, see func(engine.Update)) error {
	rest := context.WithoutCancel(ctx)
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		// The run may have stopped in this instant, which is as good.
		_ = eng.Signal(rest, id, engine.Signal{Kind: engine.SignalCancel, By: "operator", Reason: "interrupted"})
	})
	defer func() {
		if !stop() {
			<-cancelled
		}
	}()
	for u, err := range eng.Watch(rest, id, 0) {
		if err != nil {
			return err
		}
		see(u)
	}
	return nil
}

// endLost is the outcome of a run whose end the journal does not hold, with
// what the journal holds of it.
func endLost(r *engine.Run, lost error) *kernel.Outcome {
	o := standing(r)
	o.Stop, o.Detail, o.FirstBad = kernel.StopHostError, asError(lost).Error(), kernel.LinkHarness
	return &o
}

// reportJSON writes the one object. It is all there is to the command's output,
// so that a reader who went away before it is a failure.
func (a *app) reportJSON(r *engine.Run) error {
	err := writeJSON(a.stdout, newReport(r))
	if err != nil || a.stdout.unread() {
		return unwritable(r.Head.Run, err)
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
