package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// deskFlags are the flags of every command of the desk.
type deskFlags struct {
	db   string
	user string
	lang string
	// conflict is what CONFLICT means to this command, in Chinese.
	conflict told
}

func (a *app) deskCommand() *cobra.Command {
	flags := &deskFlags{}
	cmd := group("desk", "The ticket desk: ask about tickets, prepare drafts, confirm them", "desk init, desk ask, desk drafts and others",
		a.deskInitCommand(flags), a.deskAskCommand(flags), a.deskTicketsCommand(flags),
		a.deskDraftsCommand(flags), a.deskShowDraftCommand(flags), a.deskEditDraftCommand(flags), a.deskApproveCommand(flags), a.deskPoliciesCommand(flags),
		a.deskEvalCommand(flags), a.deskSearchCommand(flags),
	)
	cmd.Long = "The desk is an application that is built on Holdfast. Its people (alice, bob, mallory) are fixtures to try it with:\n" +
		"--user is no login, and whoever can run this program can name any of them."
	cmd.PersistentFlags().StringVar(&flags.db, "db", "desk.db", "the desk's `FILE`; its runs are kept beside it, in FILE.runs.db")
	cmd.PersistentFlags().StringVar(&flags.user, "user", "alice", "the `NAME` of who acts, among the fixtures")
	cmd.PersistentFlags().StringVar(&flags.lang, "lang", "", "the `LANGUAGE` of messages, en or zh (default that of LC_ALL, LC_MESSAGES or LANG)")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return a.inTheirLanguage(flags, wrongFlags(cmd, err))
	})
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.checkDeskGiven(flags, cmd) }
	a.speak(flags, cmd)
	return cmd
}

// runsOf is the journal beside a desk's file. A journal holds no tables of
// others, so that it is a file of its own; another name of the desk's file leads
// to the same one.
func runsOf(db string) string {
	if file, err := filepath.EvalSymlinks(db); err == nil && db != "" {
		db = file
	}
	return db + ".runs.db"
}

// desk carries do out on the open desk, for the person of the flags.
func (a *app) desk(ctx context.Context, flags *deskFlags, do func(ctx context.Context, db *sqlite.DB, who desk.Identity) error) error {
	return a.inLanguage(flags, func() error {
		who, err := desk.Fixture(flags.user)
		if err != nil {
			return err
		}
		db, err := sqlite.Open(ctx, flags.db, sqlite.Options{})
		if err != nil {
			return err
		}
		defer db.Close()
		return do(ctx, db, who)
	})
}

func (a *app) deskInitCommand(flags *deskFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make the desk's file, with fixtures to try it with; what is there stays",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.inLanguage(flags, func() error {
				db, err := sqlite.Create(cmd.Context(), flags.db, sqlite.Options{})
				if err != nil {
					return err
				}
				defer db.Close()
				if err := db.AddFixtures(cmd.Context()); err != nil {
					return err
				}
				return writeJSON(a.stdout, struct {
					File     string          `json:"file"`
					Fixtures []desk.Identity `json:"fixtures"`
					Notice   string          `json:"notice"`
				}{flags.db, desk.Fixtures(), a.deskSay(flags, noticeFixtures)})
			})
		},
	}
}

// deskTicket is a ticket as the desk prints it.
type deskTicket struct {
	ID      string            `json:"ticket_id"`
	Subject string            `json:"subject"`
	Status  desk.TicketStatus `json:"status"`
	Draft   *string           `json:"draft_id"`
	Created time.Time         `json:"created_at"`
}

func (a *app) deskTicketsCommand(flags *deskFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "tickets",
		Short: "List the person's own tickets",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				all, err := db.Tickets(ctx, who)
				if err != nil {
					return err
				}
				list := make([]deskTicket, len(all))
				for i, t := range all {
					list[i] = deskTicket{ID: t.ID, Subject: t.Subject, Status: t.Status, Draft: orNoText(t.Draft), Created: t.Created}
				}
				return writeJSON(a.stdout, list)
			})
		},
	}
}

func orNoText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
