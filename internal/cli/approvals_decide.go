package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

const deciderUser = "the `NAME` of who decides; without it a rule that asks for a name refuses"

func (a *app) approveCommand() *cobra.Command {
	var flags journalFlags
	var hash string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Allow the call that an approval is about",
		Long: "Approve gives one person's yes. With --hash it counts only for the content that hash was shown with.\n" +
			"At a terminal and without --hash the content is shown first, and only the line yes allows.",
		Args: exactly(1, "one ID", "holdfast approvals ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.vote(cmd.Context(), flags, journal.Vote{Approval: args[0], Approve: true, Hash: hash})
		},
	}
	flags.add(cmd, besideConfig, deciderUser, onlyTenant, oneObject)
	cmd.Flags().StringVar(&hash, "hash", "", "the `HASH` that approvals show printed")
	return cmd
}

func (a *app) refuseCommand() *cobra.Command {
	var flags journalFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "refuse ID",
		Short: "Refuse the call that an approval is about",
		Long:  "Refuse gives one person's no, which is enough. The model is told the reason.",
		Args:  exactly(1, "one ID", "holdfast approvals ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkWords(cmd, "reason", reason); err != nil {
				return err
			}
			return a.vote(cmd.Context(), flags, journal.Vote{Approval: args[0], Reason: reason})
		},
	}
	flags.add(cmd, besideConfig, deciderUser, onlyTenant, oneObject)
	cmd.Flags().StringVar(&reason, "reason", "", "why, as a `TEXT` that the model is told (required)")
	return cmd
}

// vote gives a vote, and says what the approval is then.
func (a *app) vote(ctx context.Context, flags journalFlags, v journal.Vote) error {
	j, err := a.openJournal(ctx, flags)
	if err != nil {
		return err
	}
	defer j.Close()
	p, err := findApproval(ctx, j, flags.who, v.Approval)
	if err != nil {
		return err
	}
	if v.Approve && v.Hash == "" && p.State == journal.ApprovalOpen {
		allowed, err := a.confirm(ctx, j, &p)
		if err != nil {
			return err
		}
		if !allowed {
			return a.notDecided(flags, &p)
		}
		v.Hash = p.Hash
	}
	v.ID, v.By, v.At = "vote_"+ulid.Make().String(), flags.who.user, time.Now().UTC()
	if p, err = j.Decide(ctx, v); err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, newApproval(&p))
	}
	d := newDisplay(a.stdout)
	d.printf("approval %s: %s\n", safeLine(p.ID), p.State)
	if p.State == journal.ApprovalOpen {
		d.printf("it has %d of the %d votes that it needs\n", len(p.Votes), max(1, p.Approvers.Quorum))
		return nil
	}
	h, err := j.Head(ctx, p.Run)
	if err != nil {
		return err
	}
	d.goesOn(&h, flags)
	return nil
}

// confirm shows what would run and waits for the line yes, where a person sits
// at a terminal. Elsewhere the command line was the decision.
func (a *app) confirm(ctx context.Context, j journal.Reader, p *journal.Approval) (bool, error) {
	in, out := terminal(a.stdin), terminal(a.stderr)
	if in == nil || out == nil {
		return true, nil
	}
	risk, err := rating(ctx, j, p)
	if err != nil {
		return false, err
	}
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	line, err := newPerson(in, out, newDisplay(io.Discard)).ask(ctx, "\n"+describeApproval(p, risk, time.Now())+"type yes to allow; anything else leaves it open: ")
	if ctx.Err() != nil {
		err = &kernel.Error{Code: kernel.CodeCancelled, Message: "interrupted; nothing was decided"}
	}
	return line == "yes", err
}

func (a *app) notDecided(flags journalFlags, p *journal.Approval) error {
	if flags.json {
		return writeJSON(a.stdout, newApproval(p))
	}
	_, err := io.WriteString(a.stdout, "approval "+safeLine(p.ID)+" stays open; `holdfast approvals refuse` refuses it\n")
	return err
}

// maxWordsGiven bounds a reason or a note, in bytes.
const maxWordsGiven = 2000

// checkWords refuses a text that a person has to give and did not, or that
// cannot be kept.
func checkWords(cmd *cobra.Command, flag, text string) error {
	if strings.TrimSpace(text) == "" {
		return usage(fmt.Sprintf("%s needs --%s TEXT", commandName(cmd), flag), "say why, for the record")
	}
	return checkText("--"+flag, text)
}

// checkText refuses a text that cannot be kept as it is.
func checkText(name, text string) error {
	if len(text) > maxWordsGiven || !utf8.ValidString(text) {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%s is not valid UTF-8 of at most %d bytes", name, maxWordsGiven), Hint: "say it shorter"}
	}
	return nil
}
