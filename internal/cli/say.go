package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) sayCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "say SESSION TEXT",
		Short: "Say something more to the run of a session that is under way",
		Long: "Say journals a further message. It enters the conversation before the next request to the model.\n" +
			"With - as the TEXT it is read from standard input, at most 1 MiB.",
		Args: exactly(2, "a SESSION and one TEXT", "put the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.say(cmd.Context(), flags, args[0], args[1])
		},
	}
	flags.add(cmd, besideConfig, "the `NAME` of who says it, whose session it is", "the `NAME` of whose data the session is of", oneObject)
	return cmd
}

func (a *app) say(ctx context.Context, flags journalFlags, session, text string) error {
	text, err := a.readText(text, "the text", "say it shorter, or put the material into files of the workspace")
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the text is empty", Hint: "say something"}
	}
	find := func(j journal.Reader) (journal.Head, error) { return underWay(ctx, j, flags.who, session) }
	return a.wish(ctx, flags, find, engine.Signal{Kind: engine.SignalSay, By: flags.who.user, Text: text})
}

// underWay finds the one run of a session that is not stopped.
func underWay(ctx context.Context, j journal.Reader, who identity, session string) (journal.Head, error) {
	all, err := j.Heads(ctx, journal.Query{Session: session, User: who.user, Tenant: who.tenant})
	if err != nil {
		return journal.Head{}, err
	}
	heads := slices.DeleteFunc(slices.Clone(all), func(h journal.Head) bool { return h.State == journal.Stopped })
	switch len(heads) {
	case 1:
		return heads[0], nil
	case 0:
		return journal.Head{}, &kernel.Error{
			Code: kernel.CodeNotFound, Message: fmt.Sprintf("no run of session %q is under way", session),
			Hint: nextOf(session, all),
		}
	}
	return journal.Head{}, &kernel.Error{
		Code: kernel.CodeConflict, Message: fmt.Sprintf("several owners have a session %q with a run under way", session),
		Hint: "say whose with --tenant and --user",
	}
}

// nextOf says how the next run of a session begins, under the names of the
// latest one: under others it would be another session. runs may be empty.
func nextOf(session string, runs []journal.Head) string {
	if hint := mistaken(session, ofSession); hint != "" {
		return hint
	}
	if len(runs) == 0 {
		return "holdfast runs show prints the session of a run; --user and --tenant narrow what is there"
	}
	line := "holdfast run --session " + quoteArgument(session)
	if tenant := runs[0].Tenant; tenant != "" {
		line += " --tenant " + quoteArgument(tenant)
	}
	if user := runs[0].User; user != "" {
		line += " --user " + quoteArgument(user)
	}
	return line + " QUESTION starts the next one"
}
