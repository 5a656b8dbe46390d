package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// deskDraft is a draft as the desk prints it.
type deskDraft struct {
	ID       string           `json:"draft_id"`
	Session  string           `json:"session"`
	Revision int              `json:"revision"`
	Subject  string           `json:"subject"`
	Body     string           `json:"body"`
	Hash     string           `json:"content_hash"`
	Status   desk.DraftStatus `json:"status"`
	Created  time.Time        `json:"created_at"`
	Expires  time.Time        `json:"expires_at"`
	Ticket   *string          `json:"ticket_id"`
}

func newDeskDraft(d *desk.Draft) deskDraft {
	return deskDraft{
		ID: d.ID, Session: d.Session, Revision: d.Revision, Subject: d.Subject, Body: d.Body, Hash: d.Hash,
		Status: d.Status(time.Now()), Created: d.Created, Expires: d.Expires, Ticket: orNoText(d.Ticket),
	}
}

func (a *app) deskDraftsCommand(flags *deskFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "drafts",
		Short: "List the person's own drafts",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				all, err := db.Drafts(ctx, who)
				if err != nil {
					return err
				}
				list := make([]deskDraft, len(all))
				for i := range all {
					list[i] = newDeskDraft(&all[i])
				}
				return writeJSON(a.stdout, list)
			})
		},
	}
}

func (a *app) deskShowDraftCommand(flags *deskFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show-draft ID",
		Short: "Show a draft, with the hash that a confirmation is bound to",
		Args:  a.oneID(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				d, err := db.Draft(ctx, who, args[0])
				if err != nil {
					return err
				}
				return writeJSON(a.stdout, newDeskDraft(&d))
			})
		},
	}
}

func (a *app) deskEditDraftCommand(flags *deskFlags) *cobra.Command {
	var subject, body string
	cmd := &cobra.Command{
		Use:   "edit-draft ID",
		Short: "Change a draft; it then has to be confirmed anew, and has an hour for that",
		Args:  a.oneID(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"subject", "body"} {
				if !cmd.Flags().Changed(name) {
					return a.deskUsage(flags, told{"--" + name + " is missing", "give the whole draft: --subject and --body; holdfast desk show-draft shows what it says now"},
						told{"缺少 --" + name, "请给出整份草稿：--subject 和 --body；holdfast desk show-draft 显示现在的内容"})
				}
			}
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				flags.conflict = conflictSubmitted()
				d, err := db.Edit(ctx, who, args[0], subject, body)
				if err != nil {
					return err
				}
				return writeJSON(a.stdout, newDeskDraft(&d))
			})
		},
	}
	cmd.Flags().StringVar(&subject, "subject", "", "the new title, a `TEXT` of at most 120 characters")
	cmd.Flags().StringVar(&body, "body", "", "the new body, a `TEXT` of at most 4000 characters")
	return cmd
}

func (a *app) deskApproveCommand(flags *deskFlags) *cobra.Command {
	var hash string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Confirm a draft as it is shown: one ticket comes of it, however often it is confirmed",
		Long: "Approve shows the exact draft on standard error and reads one line from standard input: `yes` confirms, anything\n" +
			"else and the end of the input cancel, which is exit code 0. With --hash nothing is asked: the draft is confirmed if it\n" +
			"still has that hash.",
		Args: a.oneID(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			asks := !cmd.Flags().Changed("hash")
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				return a.confirmDraft(ctx, flags, db, who, args[0], hash, asks)
			})
		},
	}
	cmd.Flags().StringVar(&hash, "hash", "", "confirm without a question the draft that has this `HASH`")
	return cmd
}

func (a *app) confirmDraft(ctx context.Context, flags *deskFlags, db *sqlite.DB, who desk.Identity, id, hash string, asks bool) error {
	if asks {
		d, err := db.Draft(ctx, who, id)
		if err != nil {
			return err
		}
		hash = d.Hash
		if d.Status(time.Now()) != desk.DraftPending { // a yes would be for nothing: Confirm says why
			return a.confirmAs(ctx, db, who, id, hash)
		}
		if yes, err := a.confirms(ctx, flags, &d); err != nil {
			return err
		} else if !yes {
			return writeJSON(a.stdout, struct {
				Cancelled bool   `json:"cancelled"`
				Draft     string `json:"draft_id"`
				Notice    string `json:"notice"`
			}{true, d.ID, a.deskSay(flags, noticeCancelled)})
		}
	}
	return a.confirmAs(ctx, db, who, id, hash)
}

// confirmAs confirms the draft that has the hash.
func (a *app) confirmAs(ctx context.Context, db *sqlite.DB, who desk.Identity, id, hash string) error {
	c, err := db.Confirm(ctx, who, id, hash)
	if err != nil {
		return err
	}
	return writeJSON(a.stdout, struct {
		Ticket  string `json:"ticket_id"`
		Draft   string `json:"draft_id"`
		Already bool   `json:"already_submitted"`
	}{c.Ticket, c.Draft, c.Already})
}

// indented sets a text apart from what is said about it, line by line.
func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// confirms shows a draft and reads the person's answer.
func (a *app) confirms(ctx context.Context, flags *deskFlags, d *desk.Draft) (bool, error) {
	ctx, stop := untilInterrupted(ctx, func() {}) // before anybody can have seen the question
	defer stop()
	_, err := fmt.Fprintf(a.stderr, "%s %s, %s %d\n%s: %s\n\n%s\n\n%s: %s\n%s ",
		a.deskSay(flags, wordDraft), safeLine(d.ID), a.deskSay(flags, wordRevision), d.Revision, a.deskSay(flags, wordSubject), exactLines(d.Subject), indented(exactLines(d.Body)),
		a.deskSay(flags, wordExpires), d.Expires.Local().Format(time.RFC3339), a.deskSay(flags, askConfirm))
	if err != nil {
		return false, &kernel.Error{Code: kernel.CodeInternal, Message: "the draft cannot be shown: standard error cannot be written to", Hint: "nothing was confirmed", Err: err}
	}
	type read struct {
		line string
		err  error
	}
	answer := make(chan read, 1)
	go func() { // a read of standard input ends with the process
		line, err := bufio.NewReader(io.LimitReader(a.stdin, 64)).ReadString('\n')
		answer <- read{line, err}
	}()
	select {
	case r := <-answer:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return false, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "standard input cannot be read", Hint: "nothing was confirmed; --hash confirms without a question", Err: r.err}
		}
		return r.line == "yes\n" || r.line == "yes" || r.line == "yes\r\n", nil
	case <-ctx.Done():
		return false, a.deskInterrupted(flags, told{"interrupted; nothing was confirmed", ""}, told{"已中断，什么也没有确认", ""})
	}
}
