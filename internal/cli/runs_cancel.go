package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) runsCancelCommand() *cobra.Command {
	var flags journalFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run, whoever drives it",
		Long: "Cancel journals the wish. Whoever drives the run ends what is under way, answers every call and stops it;\n" +
			"where nobody does, holdfast work will.",
		Args: exactly(1, oneRun, "holdfast runs ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkText("--reason", reason); err != nil {
				return err
			}
			return a.cancelRun(cmd.Context(), flags, args[0], reason)
		},
	}
	flags.add(cmd, besideConfig, "the `NAME` of who cancels; a run of another user is not found", onlyTenant, oneObject)
	cmd.Flags().StringVar(&reason, "reason", "", "why, as a `TEXT` for the record")
	return cmd
}

func (a *app) cancelRun(ctx context.Context, flags journalFlags, run, reason string) error {
	find := func(j journal.Reader) (journal.Head, error) { return findRun(ctx, j, run, flags.who.reaches) }
	return a.wish(ctx, flags, find, engine.Signal{Kind: engine.SignalCancel, By: flags.who.orOperator(), Reason: reason})
}
