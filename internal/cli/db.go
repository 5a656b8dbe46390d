package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) dbCommand() *cobra.Command {
	return group("db", "Back the journal's file up, and check it", "db backup TARGET or db check", a.dbBackupCommand(), a.dbCheckCommand())
}

func (a *app) dbBackupCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "backup TARGET",
		Short: "Copy the live journal to a new file",
		Long: "Backup copies the journal as it stands at one instant, while others may go on writing. The copy has the mode 0600;\n" +
			"it is whole and durable, or not there. Nothing is written over.",
		Args: exactly(1, "one TARGET", "name a file that is not there yet"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.backup(cmd.Context(), flags, args[0])
		},
	}
	const refused = "a `NAME`, with which the copy is refused: it would hold everybody's rows"
	flags.add(cmd, besideConfig, refused, refused, oneObject)
	return cmd
}

func (a *app) backup(ctx context.Context, flags journalFlags, target string) error {
	if flags.who != (identity{}) {
		return &kernel.Error{Code: kernel.CodeForbidden, Message: "a copy of the journal holds everybody's rows", Hint: "whoever operates the journal makes it, without --user and --tenant"}
	}
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := reader.Backup(ctx, target); err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, struct {
			Target string `json:"target"`
		}{target})
	}
	newDisplay(a.stdout).printf("the journal is copied to %s; holdfast db check --db %s looks at it\n", safeLine(target), quoteArgument(target))
	return nil
}

func (a *app) dbCheckCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the journal's file, its schema and all its chains",
		Long: "Check reads the whole file: SQLite's own structures, that every row belongs to one that is there, that the schema is\n" +
			"that of this version, and every hash chain. It exits with 1 when something is wrong.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.checkFile(cmd.Context(), flags)
		},
	}
	flags.add(cmd, besideConfig, nobodys, nobodys, oneObject)
	return cmd
}

// checkedFile is what `db check --json` prints.
type checkedFile struct {
	verified
	Wrong []string `json:"wrong"` // of the file itself
}

func (a *app) checkFile(ctx context.Context, flags journalFlags) error {
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	wrong, err := reader.CheckFile(ctx)
	if err != nil {
		return err
	}
	r, err := journal.VerifyAll(ctx, reader, nil)
	if err != nil {
		return err
	}
	out := checkedFile{verified: newVerified(&r), Wrong: append([]string{}, wrong...)}
	out.OK = out.OK && len(wrong) == 0
	if flags.json {
		err = writeJSON(a.stdout, out)
	} else {
		d := newDisplay(a.stdout)
		for _, w := range out.Wrong {
			d.printf("WRONG  %s\n", safeLine(w))
		}
		d.verified(&out.verified)
	}
	if err == nil && !out.OK {
		err = exitError(exitFailure)
	}
	return err
}
