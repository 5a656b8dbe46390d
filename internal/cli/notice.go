package cli

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) noticeCommand() *cobra.Command {
	var flags journalFlags
	var id string
	cmd := &cobra.Command{
		Use:   "notice ID TEXT",
		Short: "Leave a notice for the next request of a run, or of a session",
		Long: "Notice journals a text that goes with the next request to the model and enters no history. It waits until a\n" +
			"model has replied to a request that it went with; for a session without a run, until its next one, the first\n" +
			"included. With - as the TEXT it is read from standard input.",
		Args: exactly(2, "the ID of a run or of a session, and one TEXT", "put the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.notice(cmd.Context(), flags, args[0], args[1], id)
		},
	}
	flags.add(cmd, "the configuration `FILE` that the journal stands beside, and whose context.notices bound the text (default ./holdfast.yaml)",
		"the `NAME` of who leaves it, whose run or session it is", "the `NAME` of whose data that is of", oneObject)
	cmd.Flags().StringVar(&id, "id", "", "the notice's `ID`: the same one again is the same notice")
	return cmd
}

// left is what --json prints of a notice.
type left struct {
	Notice  string `json:"notice"`
	Run     string `json:"run,omitempty"` // that takes it along; none: the session's next one
	Session string `json:"session"`
	Tenant  string `json:"tenant"`
	User    string `json:"user"`
	fresh   bool   // the session has no run yet
	Waiting int    `json:"waiting"` // notices of the session that no model has seen, this one included
}

func (a *app) notice(ctx context.Context, flags journalFlags, to, text, id string) error {
	text, err := a.readText(text, "the text", "say it shorter")
	if err != nil {
		return err
	}
	if err := checkSession(to); err != nil { // a run's id keeps to the same
		return err
	}
	limits := a.noticeLimits(flags)
	if err := checkNotice(text, limits); err != nil {
		return err
	}
	j, err := a.openJournal(ctx, flags)
	if err != nil {
		return err
	}
	defer j.Close()
	session, run, fresh, err := noticeFor(ctx, j, flags.who, to)
	if err != nil {
		return err
	}
	if err := roomFor(ctx, j, session, id, limits); err != nil {
		return err
	}
	if id == "" {
		id = "ntc_" + ulid.Make().String()
	}
	rt, err := holdfast.Open(ctx, holdfast.Options{Journal: j})
	if err != nil {
		return err
	}
	defer rt.Close()
	if err := rt.Signal(ctx, "", engine.Signal{ID: id, Kind: engine.SignalNotice, By: flags.who.orOperator(), Text: text, Session: &session}); err != nil {
		return err
	}
	waiting, err := j.Notices(ctx, session)
	if err != nil {
		return err
	}
	out := left{Notice: id, Run: run, Session: session.Session, Tenant: session.Tenant, User: session.User, fresh: fresh, Waiting: len(waiting)}
	if flags.json {
		return writeJSON(a.stdout, out)
	}
	newDisplay(a.stdout).left(&out)
	return nil
}

func (d *display) left(l *left) {
	d.printf("notice %s is journaled for session %s", safeLine(l.Notice), safeLine(l.Session))
	switch {
	case l.Run != "":
		d.printf("; it goes with the next request of run %s\n", safeLine(l.Run))
		return
	case l.fresh:
		d.printf(", of which there is no run yet: it waits for the first one (holdfast sessions ls lists those that there are)\n")
		return
	}
	d.printf("; it goes with the first request of its next run\n")
}

// noticeLimits are those of the configuration, where there is one that can be
// read.
func (a *app) noticeLimits(flags journalFlags) config.NoticeLimits {
	none := config.Context{}
	file, err := a.configFile(flags.config)
	if err != nil || file == "" {
		return none.Said().Notices
	}
	c, err := config.Read(file, toolNames())
	if err != nil {
		return none.Said().Notices
	}
	return c.Context.Said().Notices
}

// checkNotice refuses a text that would fail every request that it went with.
func checkNotice(text string, limits config.NoticeLimits) error {
	chars := utf8.RuneCountInString(text)
	switch {
	case strings.TrimSpace(text) == "":
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the text is empty", Hint: "say something"}
	case chars > limits.Chars:
		return &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("the text has %d characters; at most %d go with a request", chars, limits.Chars),
			Hint: "say it shorter, or raise context.notices.chars",
		}
	}
	return nil
}

// roomFor refuses a notice more than a request takes: the next one would fail.
func roomFor(ctx context.Context, j journal.Reader, s journal.SessionID, id string, limits config.NoticeLimits) error {
	waiting, err := j.Notices(ctx, s)
	if err != nil {
		return err
	}
	for i := range waiting {
		if waiting[i].ID == id {
			return nil // the same once more
		}
	}
	if len(waiting) >= limits.Max {
		return &kernel.Error{
			Code: kernel.CodeConflict, Message: fmt.Sprintf("%d notices of session %.200q wait already; at most %d go with a request", len(waiting), s.Session, limits.Max),
			Hint: "let a run of the session go on first, or raise context.notices.max",
		}
	}
	return nil
}

// noticeFor finds whose notice it is: a run's that has not stopped, or a
// session's, which need not have had a run.
func noticeFor(ctx context.Context, j journal.Reader, who identity, to string) (s journal.SessionID, run string, fresh bool, err error) {
	h, err := findRun(ctx, j, to, who.reaches)
	switch {
	case err == nil && h.State == journal.Stopped:
		return s, "", false, &kernel.Error{Code: kernel.CodeRunStopped, Message: fmt.Sprintf("run %q has stopped", h.Run), Hint: "holdfast notice " + quoteArgument(h.Session) + " TEXT leaves it for the next run of its session"}
	case err == nil:
		return h.SessionOf(), h.Run, false, nil
	case kernel.CodeOf(err) != kernel.CodeNotFound || strings.HasPrefix(to, "run_"):
		return s, "", false, err
	}
	runs, err := findSession(ctx, j, who, to)
	switch {
	case err == nil:
		last := &runs[len(runs)-1]
		if last.State != journal.Stopped {
			run = last.Run
		}
		return last.SessionOf(), run, false, nil
	case kernel.CodeOf(err) == kernel.CodeNotFound && to != "":
		return journal.SessionID{Owner: journal.Owner{Tenant: who.tenant, User: who.user}, Session: to}, "", true, notSession(to)
	}
	return s, "", false, err
}
