package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) journalCommand() *cobra.Command {
	return group("journal", "Print the head of the chain over all runs", "journal head", a.journalHeadCommand())
}

func (a *app) journalHeadCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "head",
		Short: "Print the head of the chain over all runs, to keep elsewhere",
		Long: "Head prints SEQ:HASH of the last seal. Keep it where whoever can write the journal cannot:\n" +
			"holdfast runs verify --all --head SEQ:HASH holds the journal to it later.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.journalHead(cmd.Context(), flags)
		},
	}
	flags.add(cmd, besideConfig, nobodys, nobodys, oneObject)
	return cmd
}

// nobodys are the words of a name to a command about the whole file.
const nobodys = "a `NAME`, which changes nothing: the file is everybody's"

func (a *app) journalHead(ctx context.Context, flags journalFlags) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	h, err := journal.LastSeal(ctx, reader)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, struct {
			Head string `json:"head"`
		}{h.String()})
	}
	newDisplay(a.stdout).printf("%s\n", h)
	return nil
}
