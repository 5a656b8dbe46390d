package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// runFlags are the flags of `holdfast run`.
type runFlags struct {
	journalFlags
	session string
	yes     bool
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
	flags.add(cmd, "the configuration `FILE` (default ./holdfast.yaml, if it is there)", "the `NAME` of who asks", "the `NAME` of whose data it is", oneObject)
	cmd.Flags().StringVar(&flags.session, "session", "", "the `ID` of the session to go on with (default a new one)")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "answer yes to every ask that you may decide alone")
	return cmd
}

func (a *app) run(ctx context.Context, flags runFlags, question string) error {
	question, err := a.readText(question, "the question", "put the material into files of the workspace, and let the agent read them")
	if err != nil {
		return err
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
	d := newDisplay(a.stdout)
	approver := newApprover(flags.yes, a.stdin, a.stderr, d)
	agent, release, err := buildAgent(c, path, elicitorOf(approver))
	if err != nil {
		return err
	}
	defer release()
	agent.Approver = approver

	kept, err := c.Stored()
	if err != nil {
		return err
	}

	ctx, stop := untilInterrupted(ctx, release)
	defer stop()

	j, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer a.closer("the journal", j.Close)()
	eng, err := local.New(local.Config{Journal: j, Lease: c.Engine.Lease})
	if err != nil {
		return err
	}
	defer a.closer("the engine", func() error {
		eng.Leave() // a run that waited may have been decided on by now: it is not cancelled
		return eng.Close()
	})()
	if c.File == "" && !flags.json {
		d.printf("there is no ./%s: the model comes from the environment and may multiply, and nothing else; the journal is %s\n", defaultConfig, safeLine(path))
	}
	if err := d.anew(ctx, j, flags); err != nil {
		return err
	}
	return a.drive(ctx, host{eng, j}, d, flags, engine.Start{
		Agent: agent, Question: question, Session: flags.session, User: flags.who.user, Tenant: flags.who.tenant, Config: kept,
	})
}

// anew says so where a session that was named has no earlier run: it may be
// another user's or tenant's, whose conversation this one does not go on with.
func (d *display) anew(ctx context.Context, j journal.Reader, flags runFlags) error {
	if flags.session == "" {
		return nil
	}
	owner := journal.Owner{Tenant: flags.who.tenant, User: flags.who.user}
	earlier, err := j.Heads(ctx, journal.Query{Owner: &owner, Session: flags.session, Limit: 1})
	if err == nil && len(earlier) == 0 {
		err = notSession(flags.session)
		d.aside = fmt.Sprintf("session %s begins with this run: no earlier one of it is of this tenant and user", safeLine(flags.session))
	}
	return err
}

// host is what drives runs, and where they are recorded.
type host struct {
	engine.Engine
	journal journal.Reader
}

// maxText bounds a question and what is said later, in bytes.
const maxText = 1 << 20

// readText is an argument, or standard input less the line break at its end
// where the argument is -. what names it, and less says what to do about too
// much of it.
func (a *app) readText(argument, what, less string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	b, err := io.ReadAll(io.LimitReader(a.stdin, maxText+2))
	if err != nil {
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "standard input cannot be read", Hint: "give " + what + " as the argument", Err: err}
	}
	text := strings.TrimSuffix(string(b), "\n")
	if len(text) > maxText {
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: what + " on standard input is over 1 MiB", Hint: less}
	}
	return text, nil
}

// drive starts the run, shows it on d and returns how it went.
func (a *app) drive(ctx context.Context, on host, d *display, flags runFlags, start engine.Start) error {
	see := func(engine.Update) {}
	if !flags.json {
		if d.aside != "" {
			d.printf("%s\n", d.aside)
		}
		see = d.update
		defer d.follow()()
	}
	r, lost := follow(ctx, on, start, see)
	if r == nil {
		return lost
	}
	tell := func(r *engine.Run) error { return a.reportJSON(r, d.aside) }
	if !flags.json {
		tell = func(r *engine.Run) error { return on.tell(context.WithoutCancel(ctx), d, flags, r) }
	}
	if err := tell(r); err != nil {
		return err
	}
	switch {
	case lost != nil:
		return lost
	case r.Outcome == nil:
		return exitError(exitWaiting)
	case succeeded(r.Outcome):
		return nil
	case r.Outcome.Stop == kernel.StopHostError:
		return hostFailed(r)
	case ctx.Err() != nil && r.Outcome.Stop == kernel.StopCancelled:
		return exitError(exitInterrupt)
	}
	return exitError(exitFailure)
}

// tell says what a run came to, or what it waits for, and how to go on.
func (on host) tell(ctx context.Context, d *display, flags runFlags, r *engine.Run) error {
	d.summary(r, flags.again())
	if r.Outcome == nil {
		open, err := on.journal.Approvals(ctx, journal.ApprovalQuery{Run: r.Head.Run, State: journal.ApprovalOpen})
		if err != nil {
			return err
		}
		if err := d.steps(ctx, on.journal, open, r, flags.journalFlags); err != nil {
			return err
		}
	} else if r.Outcome.Stop != kernel.StopHostError { // a journal that failed is not asked
		unknown, err := on.journal.Effects(ctx, journal.EffectQuery{Run: r.Head.Run, State: journal.EffectUnknown})
		if err != nil {
			return err
		}
		d.loose(unknown, flags.journalFlags)
	}
	d.next(r, flags)
	return nil
}

// next says how to look at the run again, and how to go on with its session,
// or to say more to the run while it waits: of the same journal, tenant and
// user.
func (d *display) next(r *engine.Run, flags runFlags) {
	h := &r.Head
	d.printf("run: %s; `holdfast runs show%s %s` shows it again\n", safeLine(h.Run), flags.again(), safeLine(h.Run))
	if h.Session == "" { // the journal could not say
		return
	}
	whose := ""
	for _, f := range []struct{ name, value string }{{"--tenant", flags.who.tenant}, {"--user", flags.who.user}} {
		if f.value != "" {
			whose += " " + f.name + " " + quoteArgument(f.value)
		}
	}
	session := quoteArgument(h.Session)
	if r.Outcome == nil {
		d.printf("session: %s; `holdfast say%s%s %s TEXT` says more to it\n", safeLine(h.Session), flags.again(), safeLine(whose), safeLine(session))
		return
	}
	d.printf("session: %s; `holdfast run%s --session %s%s QUESTION` goes on with it\n", safeLine(h.Session), flags.again(), safeLine(session), safeLine(whose))
}

// reportJSON writes the one object, with what was to be said aside as its first
// warning. It is all there is to the command's output,
// so that a reader who went away before it is a failure.
func (a *app) reportJSON(r *engine.Run, aside string) error {
	out := newReport(r)
	if aside != "" {
		out.Warnings = append([]string{aside}, out.Warnings...)
	}
	err := writeJSON(a.stdout, out)
	if err != nil || a.stdout.unread() {
		return unwritable(r.Head.Run, err)
	}
	return nil
}
