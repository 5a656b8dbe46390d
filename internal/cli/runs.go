package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
)

// journalFlags say which journal to read.
type journalFlags struct {
	config, db string
	json       bool
}

const besideConfig = "the configuration `FILE` that the journal stands beside (default ./holdfast.yaml)"

// add declares the flags. config says what the file is for, and object what
// --json prints.
func (f *journalFlags) add(cmd *cobra.Command, config, object string) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", config)
	cmd.Flags().StringVar(&f.db, "db", "", "the journal's `FILE` (default .holdfast/journal.db beside the configuration file)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print "+object)
}

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List and show the runs of a journal",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which one: runs ls or runs show RUN?", "holdfast runs --help")
			}
			return usage(fmt.Sprintf("unknown command runs %.80q", args[0]), "holdfast runs --help lists the commands")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.runsListCommand(), a.runsShowCommand())
	return cmd
}

func (a *app) runsListCommand() *cobra.Command {
	var flags journalFlags
	var query journal.Query
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List runs, the latest first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listRuns(cmd.Context(), flags, query)
		},
	}
	flags.add(cmd, besideConfig, "a JSON array of objects, one a run, as one line")
	cmd.Flags().StringVar(&query.User, "user", "", "only runs of the user `NAME`")
	cmd.Flags().StringVar(&query.Tenant, "tenant", "", "only runs of the tenant `NAME`")
	cmd.Flags().StringVar(&query.Session, "session", "", "only runs of the session `ID`")
	return cmd
}

func (a *app) runsShowCommand() *cobra.Command {
	var flags journalFlags
	var owner journal.Query
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its timeline, its outcome and the conversation",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("runs show takes exactly one RUN", "holdfast runs ls lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showRun(cmd.Context(), flags, owner, args[0])
		},
	}
	flags.add(cmd, besideConfig, "one JSON object and nothing else")
	cmd.Flags().StringVar(&owner.User, "user", "", "only if it is a run of the user `NAME`; otherwise it is not found")
	cmd.Flags().StringVar(&owner.Tenant, "tenant", "", "only if it is a run of the tenant `NAME`; otherwise it is not found")
	return cmd
}

// openReader opens the journal for reading alone, so that a run that is under
// way in another process is not disturbed.
func (a *app) openReader(ctx context.Context, flags journalFlags) (*sqlite.Reader, error) {
	path := flags.db
	if path == "" {
		file, err := a.configFile(flags.config)
		if err != nil {
			return nil, err
		}
		path = journalBeside(file)
	}
	return sqlite.OpenReader(ctx, path, sqlite.Options{})
}
