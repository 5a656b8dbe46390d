package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) runsCommand() *cobra.Command {
	return group("runs", "List, show, cancel and verify the runs of a journal", "runs cancel RUN, runs verify RUN, runs ls or runs show RUN",
		a.runsListCommand(), a.runsShowCommand(), a.runsCancelCommand(), a.runsVerifyCommand())
}

func (a *app) runsListCommand() *cobra.Command {
	var flags journalFlags
	var query journal.Query
	var state string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List runs, the latest first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query.User, query.Tenant, query.State = flags.who.user, flags.who.tenant, journal.State(state)
			switch query.State {
			case "", journal.Running, journal.Waiting, journal.Stopped:
				return a.listRuns(cmd.Context(), flags, query)
			}
			return usage("--state takes running, waiting or stopped", "leave it out for all")
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneArray)
	cmd.Flags().StringVar(&query.Session, "session", "", "only runs of the session `ID`")
	cmd.Flags().StringVar(&state, "state", "", "only runs in the `STATE` running, waiting or stopped")
	return cmd
}

const oneRun = "one RUN"

func (a *app) runsShowCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its timeline, its outcome and the conversation",
		Args:  exactly(1, oneRun, "holdfast runs ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showRun(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneObject)
	return cmd
}

// notRun is the error for the id of something else where a run is meant; nil where
// it may be that of one.
func notRun(id string) error {
	if mistaken(id, ofRun) != "" {
		return listedBy(journal.NotFound(id), id, ofRun)
	}
	return nil
}
