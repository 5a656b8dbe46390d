package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
)

// placed makes the commands that an error's hint names ones that can be typed as they
// stand: they get the flags of cmd that say where the journal or the desk is. What
// wrote the hint may know nothing of files and flags.
func placed(cmd *cobra.Command, err error) error {
	if _, said := errors.AsType[exitError](err); err == nil || said {
		return err
	}
	if bad, ok := errors.AsType[usageError](err); ok {
		return usageError{withPlaces(cmd, bad.err)}
	}
	return withPlaces(cmd, asError(err))
}

func withPlaces(cmd *cobra.Command, e *kernel.Error) *kernel.Error {
	out := *e
	names := regexp.MustCompile(`holdfast((?: [a-z][a-z-]*)+)`)
	words := blankQuoted(e.Hint)
	var hint strings.Builder
	done := 0
	for _, at := range names.FindAllStringSubmatchIndex(words, -1) {
		target, length := named(cmd.Root(), words[at[2]:at[3]])
		end := at[2] + length
		hint.WriteString(e.Hint[done:end])
		if rest, _, _ := strings.Cut(words[end:], "holdfast"); !strings.Contains(rest, " --db ") && !strings.Contains(rest, " -c ") {
			hint.WriteString(placeOf(cmd, target))
		}
		done = end
	}
	hint.WriteString(e.Hint[done:])
	out.Hint = hint.String()
	return &out
}

// blankQuoted blanks the arguments that quoteArgument quoted: a name may read like
// a command.
func blankQuoted(hint string) string {
	quoted := regexp.MustCompile(` (\$'(\\.|[^'\\])*'|'[^']*'(\\''[^']*')*)`)
	return quoted.ReplaceAllStringFunc(hint, func(s string) string { return strings.Repeat("_", len(s)) })
}

// named is the command that words begin with, and how long its name is: prose
// may follow it.
func named(root *cobra.Command, words string) (target *cobra.Command, length int) {
	target = root
	for word := range strings.FieldsSeq(words) {
		next := target
		for _, c := range target.Commands() {
			if c.Name() == word {
				next = c
			}
		}
		if next == target {
			break
		}
		target, length = next, length+1+len(word)
	}
	return target, length
}

// placeOf are the flags that make target look where cmd does.
func placeOf(cmd, target *cobra.Command) string {
	if target.HasSubCommands() { // it is named as a whole
		return ""
	}
	from, to := ofDesk(cmd), ofDesk(target)
	line := ""
	add := func(name, value string) {
		if target.Flag(name) != nil && value != "" {
			line += pick(name == "config", " -c ", " --"+name+" ") + quoteArgument(value)
		}
	}
	switch {
	case from && to:
		add("db", changed(cmd, "db"))
		add("user", changed(cmd, "user"))
	case from:
		add("db", runsOf(cmd.Flag("db").Value.String()))
	case to:
		if file, beside := strings.CutSuffix(changed(cmd, "db"), runsOf("")); beside {
			add("db", file)
		}
	default:
		add("config", changed(cmd, "config"))
		add("db", changed(cmd, "db"))
	}
	return line
}

// changed is what the command line says a flag is; empty: nothing.
func changed(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil && f.Changed {
		return f.Value.String()
	}
	return ""
}

// ofDesk reports whether a command is one of the desk's.
func ofDesk(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if cmd.Name() == "desk" && cmd.Parent() == cmd.Root() {
			return true
		}
	}
	return false
}
