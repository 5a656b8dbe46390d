package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-run/holdfast/kernel"
)

// checkGiven looks at the flags of a command line before anything is done by them.
func checkGiven(cmd *cobra.Command, _ []string) error {
	if f := emptyFlag(cmd); f != nil {
		return usage("--"+f.Name+" is empty", "give it its "+valueOf(f)+", or leave it out; a variable of a script may be unset")
	}
	if err := checkSession(changed(cmd, "session")); err != nil {
		return err
	}
	for _, flag := range []string{"tenant", "user", "by"} {
		if name := changed(cmd, flag); name != "" && !kernel.IsName(name) {
			return &kernel.Error{
				Code:    kernel.CodeInvalidArgument,
				Message: fmt.Sprintf("--%s: %.80q can be nobody's name: it is too long, has white space around it, or what does not show", flag, name),
				Hint:    fmt.Sprintf("a name is printable text of at most %d bytes", kernel.MaxName),
			}
		}
	}
	return nil
}

// checkDeskGiven is checkGiven for the desk, whose names are those of its fixtures.
func (a *app) checkDeskGiven(flags *deskFlags, cmd *cobra.Command) error {
	f := emptyFlag(cmd)
	if f == nil {
		return nil
	}
	return a.deskUsage(flags,
		told{"--" + f.Name + " is empty", "give it its " + valueOf(f) + ", or leave it out; a variable of a script may be unset"},
		told{"--" + f.Name + " 的值是空的", "请写上 " + valueOf(f) + "，或者去掉这个参数；脚本里的变量可能没有设置"})
}

// emptyFlag is a flag that is given with nothing in it. To take that for one that is
// not given would show, or do, more than was asked for. A TEXT may be empty as far as
// the command itself says.
func emptyFlag(cmd *cobra.Command) (empty *pflag.Flag) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if valueOf(f) == "TEXT" || empty != nil {
			return
		}
		if f.Value.String() == "" || isList && slices.Contains(list.GetSlice(), "") {
			empty = f
		}
	})
	return empty
}

// valueOf is what a flag takes, as its help says.
func valueOf(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	return value
}
