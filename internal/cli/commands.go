package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exactly takes n arguments. want says which, in the words of an error.
func exactly(n int, want, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage(commandName(cmd)+" takes exactly "+want, hint)
	}
}

// atLeastOne takes one argument or more. want says which.
func atLeastOne(want, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usage(commandName(cmd)+" takes at least "+want, hint)
	}
}

// commandName is how a command is called, without the program's name.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// group is a command that only has others below it. which asks for one.
func group(name, short, which string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which one: "+which+"?", cmd.CommandPath()+" --help lists the commands")
			}
			return usage(fmt.Sprintf("unknown command %s %.80q", commandName(cmd), args[0]), cmd.CommandPath()+" --help lists the commands")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}
