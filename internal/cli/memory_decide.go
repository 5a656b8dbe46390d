package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

func (a *app) memoryProposeCommand() *cobra.Command {
	var flags memoryFlags
	var scope string
	cmd := &cobra.Command{
		Use:   "propose TEXT",
		Short: "Propose a text to be remembered",
		Long: "Propose keeps a text of at most 4 KiB that counts for nothing until it is confirmed. The same text twice is one.\n" +
			"With - as the TEXT it is read from standard input.",
		Args: exactly(1, "one TEXT", "put the text in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if scope != string(memory.Project) && scope != string(memory.User) {
				return usage("memory propose needs --scope project or --scope user", "say for whom it is to be remembered")
			}
			return a.proposeMemory(cmd.Context(), flags, memory.Scope(scope), args[0])
		},
	}
	flags.add(cmd, "the `NAME` of who proposes; of the scope user, whose memory it is", oneObject)
	cmd.Flags().StringVar(&scope, "scope", "", "the `SCOPE` of the entry: project or user (required)")
	return cmd
}

func (a *app) memoryConfirmCommand() *cobra.Command {
	var flags memoryFlags
	var hash string
	cmd := &cobra.Command{
		Use:   "confirm ID",
		Short: "Let an entry count, as it is now",
		Long: "Confirm lets an entry go with requests: the very bytes of its file. With --hash it counts only for the bytes with that hash.\n" +
			"At a terminal and without --hash the text is shown first, and only the line yes confirms.",
		Args: exactly(1, "one ID", "holdfast memory ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.confirmMemory(cmd.Context(), flags, args[0], strings.ToLower(hash))
		},
	}
	flags.add(cmd, "the `NAME` of who confirms; what is of another user is not there", oneObject)
	cmd.Flags().StringVar(&hash, "hash", "", "the `HASH` that memory show printed")
	return cmd
}

func (a *app) memoryForgetCommand() *cobra.Command {
	var flags memoryFlags
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Let an entry never count again, and delete its file",
		Long: "Forget deletes the file of an entry. What stays is who wrote, confirmed and forgot it, when, and the hash of the file:\n" +
			"a file with the very same bytes that comes back stays forgotten.",
		Args: exactly(1, "one ID", "holdfast memory ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.forgetMemory(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, "the `NAME` of who forgets it; what is of another user is not there", oneObject)
	return cmd
}

func (a *app) proposeMemory(ctx context.Context, flags memoryFlags, scope memory.Scope, text string) error {
	m, _, err := a.openMemory(flags)
	if err != nil {
		return err
	}
	if text, err = a.readText(text, "the text", "an entry has at most 4 KiB"); err != nil {
		return err
	}
	e, err := m.Propose(ctx, memory.Proposal{
		Scope: scope, Owner: memory.Owner{Tenant: flags.who.tenant, User: flags.who.user}, Text: text,
		Author: flags.who.orOperator(), Source: "command line", Again: true,
	})
	if err != nil {
		return err
	}
	return a.tellMemory(flags, &e, fmt.Sprintf("memory %s: %s\n", safeLine(e.ID), e.State)+nextOfMemory(&e, flags))
}

func (a *app) confirmMemory(ctx context.Context, flags memoryFlags, id, hash string) error {
	m, _, err := a.openMemory(flags)
	if err != nil {
		return err
	}
	e, err := findMemory(ctx, m, flags.who, id)
	if err != nil {
		return err
	}
	if hash == "" && e.State == memory.Proposed && e.Hash != "" {
		yes, err := a.confirmText(ctx, &e)
		if err != nil {
			return err
		}
		if !yes {
			return a.tellMemory(flags, &e, "memory "+safeLine(e.ID)+" stays as it is; it counts for nothing\n")
		}
	}
	// Without a hash it is the text that was found, and shown where somebody sits.
	if e, err = m.Confirm(ctx, e, cmp.Or(hash, e.Hash), flags.who.orOperator()); err != nil {
		return err
	}
	return a.tellMemory(flags, &e, describeMemory(&e))
}

// confirmText shows what would count and waits for the line yes, where a person
// sits at a terminal. Elsewhere the command line was the decision.
func (a *app) confirmText(ctx context.Context, e *memory.Entry) (bool, error) {
	in, out := terminal(a.stdin), terminal(a.stderr)
	if in == nil || out == nil {
		return true, nil
	}
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	line, err := newPerson(in, out, newDisplay(io.Discard)).ask(ctx, "\n"+describeMemory(e)+"type yes to let it count; anything else leaves it as it is: ")
	if ctx.Err() != nil {
		err = &kernel.Error{Code: kernel.CodeCancelled, Message: "interrupted; nothing was decided"}
	}
	return line == "yes", err
}

func (a *app) forgetMemory(ctx context.Context, flags memoryFlags, id string) error {
	m, _, err := a.openMemory(flags)
	if err != nil {
		return err
	}
	e, err := findMemory(ctx, m, flags.who, id)
	if err != nil {
		return err
	}
	if e, err = m.Forget(ctx, e, flags.who.orOperator()); err != nil {
		return err
	}
	return a.tellMemory(flags, &e, fmt.Sprintf("memory %s: %s, and its file is deleted\n", safeLine(e.ID), e.State))
}

// describeMemory is an entry for whoever decides on it: nothing of it is
// hidden.
func describeMemory(e *memory.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory %s: %s\n  scope %s", safeLine(e.ID), e.State, e.Scope)
	if e.Scope == memory.User {
		fmt.Fprintf(&b, " of %s%s", orNobody(e.Owner.User), pick(e.Owner.Tenant != "", " of "+safeLine(e.Owner.Tenant), ""))
	}
	fmt.Fprintf(&b, "\n  source %s, author %s, created %s\n", orDash(safeLine(e.Source)), orDash(safeLine(e.Author)), stampOrDash(e.Created))
	fmt.Fprintf(&b, "  file %s\n  hash %s\n", safeLine(e.File), orDash(e.Hash))
	if e.By != "" {
		fmt.Fprintf(&b, "  decided by %s at %s\n", safeLine(e.By), stampOrDash(e.At))
	}
	if e.Problem != "" {
		fmt.Fprintf(&b, "  BUT %s\n", safeLine(e.Problem))
	}
	if e.Text != "" {
		b.WriteString("  text:\n    " + strings.ReplaceAll(exactLines(e.Text), "\n", "\n    ") + "\n")
	}
	return b.String()
}

// nextOfMemory says what to type to decide on an entry.
func nextOfMemory(e *memory.Entry, flags memoryFlags) string {
	if e.State != memory.Proposed || e.Hash == "" {
		return ""
	}
	id := quoteArgument(e.ID)
	return fmt.Sprintf("it counts for nothing yet\nto let it count: holdfast memory confirm%s %s --hash %s\nto drop it:      holdfast memory forget%s %s\n",
		flags.again(), id, e.Hash, flags.again(), id)
}
