package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) sessionsCommand() *cobra.Command {
	return group("sessions", "List and show conversations, and what was taken out of them", "sessions ls, sessions show SESSION or sessions archive ID",
		a.sessionsListCommand(), a.sessionsShowCommand(), a.sessionsArchiveCommand())
}

func (a *app) sessionsListCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the sessions of a journal, the one that something happened in last first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listSessions(cmd.Context(), flags)
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneArray)
	return cmd
}

func (a *app) sessionsShowCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session: its runs, and the history that its next run begins with",
		Args:  exactly(1, "one SESSION", "holdfast sessions ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showSession(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneObject)
	return cmd
}

func (a *app) sessionsArchiveCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "archive ID",
		Short: "Show what a compaction took out of a session's history, word for word",
		Args:  exactly(1, "one ID", "a summary names its archive, and holdfast sessions show lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showArchive(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneObject)
	return cmd
}

// sessionLine is a line of `sessions ls --json`.
type sessionLine struct {
	ID        string    `json:"id"`
	Tenant    string    `json:"tenant"`
	User      string    `json:"user"`
	Runs      int       `json:"runs"`
	LastRun   string    `json:"last_run"`
	State     string    `json:"state"` // of the last run
	Stop      string    `json:"stop"`
	Question  string    `json:"question"` // the first one
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// newSession is the line of a session with these runs, the latest first.
func newSession(runs []journal.Head) sessionLine {
	last, first := &runs[0], &runs[len(runs)-1]
	line := sessionLine{
		ID: last.Session, Tenant: last.Tenant, User: last.User, Runs: len(runs), LastRun: last.Run,
		State: string(last.State), Stop: string(last.Stop), Question: first.Question, StartedAt: first.StartedAt,
	}
	for i := range runs {
		if runs[i].UpdatedAt.After(line.UpdatedAt) {
			line.UpdatedAt = runs[i].UpdatedAt
		}
	}
	return line
}

// sessionsOf groups runs, the latest first, by their sessions. A session belongs
// to one tenant and user.
func sessionsOf(heads []journal.Head) [][]journal.Head {
	type key struct {
		id    string
		owner journal.Owner
	}
	at := map[key]int{}
	var all [][]journal.Head
	for i := range heads {
		k := key{heads[i].Session, heads[i].Owner()}
		n, known := at[k]
		if !known {
			n = len(all)
			at[k] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], heads[i])
	}
	return all
}

func (a *app) listSessions(ctx context.Context, flags journalFlags) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	heads, err := reader.Heads(ctx, journal.Query{User: flags.who.user, Tenant: flags.who.tenant})
	if err != nil {
		return err
	}
	list := []sessionLine{}
	for _, runs := range sessionsOf(heads) {
		list = append(list, newSession(runs))
	}
	slices.SortStableFunc(list, func(a, b sessionLine) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	if flags.json {
		return writeJSON(a.stdout, list)
	}
	return a.table("SESSION\tRUNS\tUPDATED\tLAST RUN\tUSER\tQUESTION", func(d *display) {
		for i := range list {
			s := &list[i]
			d.printf("%s\t%d\t%s\t%s\t%s\t%s\n", safeLine(s.ID), s.Runs, stampOrDash(s.UpdatedAt), pick(s.Stop != "", s.Stop, s.State),
				orDash(safeLine(s.User)), previewIn(s.Question, maxListed))
		}
	})
}

// findSession returns the runs, oldest first, of the one session of that id that
// is there for whoever looks.
func findSession(ctx context.Context, j journal.Reader, who identity, id string) ([]journal.Head, error) {
	heads, err := j.Heads(ctx, journal.Query{Session: id, User: who.user, Tenant: who.tenant})
	if err != nil {
		return nil, err
	}
	switch all := sessionsOf(heads); {
	case id == "" || len(all) == 0:
		return nil, noSession(id)
	case len(all) > 1:
		return nil, &kernel.Error{Code: kernel.CodeConflict, Message: fmt.Sprintf("several owners have a session %.200q", id), Hint: "say whose with --tenant and --user"}
	default:
		slices.Reverse(all[0])
		return all[0], nil
	}
}

// checkSession refuses what no session is called, as engine.Start does; empty is
// a new one.
func checkSession(id string) error {
	err := (&engine.Start{Session: id, Question: "?"}).Check()
	if bad, ok := errors.AsType[*kernel.Error](err); ok {
		said := *bad
		said.Hint = "holdfast sessions ls lists what is there; a new one may have any such name"
		return &said
	}
	return err
}

// notSession is the error for the id of something else where a session is meant that
// is not there; nil where it may be that of one.
func notSession(id string) error {
	if mistaken(id, ofSession) != "" {
		return noSession(id)
	}
	return nil
}

func noSession(id string) error {
	return listedBy(&kernel.Error{Code: kernel.CodeNotFound, Message: fmt.Sprintf("there is no session %.200q", id)}, id, ofSession)
}

// session is what `sessions show --json` prints.
type session struct {
	sessionLine
	RunList  []head    `json:"run_list"`
	Archives []removed `json:"archives"`
	Notices  []waiting `json:"notices"` // that no model has seen, oldest first
	Messages []message `json:"messages"`
}

// waiting is a notice as JSON.
type waiting struct {
	ID   string    `json:"id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// removed is a compaction as JSON.
type removed struct {
	ID      string           `json:"id"`
	Run     string           `json:"run"`
	At      time.Time        `json:"at"`
	Removed int              `json:"removed"`
	Results int              `json:"results"`
	Summary kernel.SummaryBy `json:"summary"`
	Before  int64            `json:"before"`
	After   int64            `json:"after"`
}

func (a *app) showSession(ctx context.Context, flags journalFlags, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	runs, err := findSession(ctx, reader, flags.who, id)
	if err != nil {
		return err
	}
	history, taken, err := engine.ReadSession(ctx, reader, runs)
	if err != nil {
		return err
	}
	notices, err := reader.Notices(ctx, runs[0].SessionOf())
	if err != nil {
		return err
	}
	latest := slices.Clone(runs)
	slices.Reverse(latest)
	out := session{sessionLine: newSession(latest), RunList: []head{}, Archives: []removed{}, Notices: []waiting{}, Messages: newMessages(history)}
	now := time.Now()
	for _, h := range runs {
		out.RunList = append(out.RunList, newHead(h, now))
	}
	for _, r := range taken {
		out.Archives = append(out.Archives, removed{
			ID: r.Archive, Run: r.Run, At: r.At, Removed: r.Removed, Results: r.Spilled, Summary: r.Summary, Before: r.Before, After: r.After,
		})
	}
	for i := range notices {
		n := &notices[i]
		out.Notices = append(out.Notices, waiting{ID: n.ID, By: n.By, At: n.At, Text: n.Text})
	}
	if flags.json {
		return writeJSON(a.stdout, out)
	}
	out.show(newDisplay(a.stdout), history)
	return nil
}

func (s *session) show(d *display, history []kernel.Message) {
	d.printf("session %s", safeLine(s.ID))
	if s.Tenant != "" || s.User != "" {
		d.printf(", tenant %s, user %s", orDash(safeLine(s.Tenant)), orDash(safeLine(s.User)))
	}
	d.printf("\n")
	for i := range s.RunList {
		h := &s.RunList[i]
		d.printf("run %s: started %s, %s, %s\n", safeLine(h.Run), stampOrDash(h.StartedAt), pick(h.Stop != "", h.Stop, h.State), previewIn(h.Question, maxListed))
	}
	for i := range s.Archives {
		r := &s.Archives[i]
		d.printf("archive %s: %s and %s%s, from about %d to %d tokens\n", safeLine(r.ID), counted(int64(r.Removed), "message"), counted(int64(r.Results), "result"),
			pick(r.Summary != "", ", summary by "+string(r.Summary), ""), r.Before, r.After)
	}
	for i := range s.Notices {
		n := &s.Notices[i]
		d.printf("notice %s of %s waits: %s\n", safeLine(n.ID), orNobody(n.By), preview(n.Text))
	}
	d.printf("\nhistory\n")
	d.conversation(history)
}

// archived is what `sessions archive --json` prints.
type archived struct {
	ID       string           `json:"id"`
	Run      string           `json:"run"`
	Session  string           `json:"session"`
	Tenant   string           `json:"tenant"`
	User     string           `json:"user"`
	By       kernel.SummaryBy `json:"by"` // who wrote the summary; empty: results alone were shortened
	Summary  string           `json:"summary"`
	Messages []message        `json:"messages"` // that the summary stands for
	Results  []message        `json:"results"`  // whose middle was left out, whole
}

func (a *app) showArchive(ctx context.Context, flags journalFlags, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	found, err := engine.ReadArchive(ctx, reader, id)
	if err == nil && !flags.who.sees(found.Run.Owner()) {
		err = engine.NoArchive(id)
	}
	if err != nil {
		return listedBy(err, id, ofArchive)
	}
	h := &found.Run
	if flags.json {
		return writeJSON(a.stdout, archived{
			ID: found.ID, Run: h.Run, Session: h.Session, Tenant: h.Tenant, User: h.User, By: found.By, Summary: found.Compaction.Summary,
			Messages: newMessages(found.Removed), Results: newMessages(found.Results),
		})
	}
	d := newDisplay(a.stdout)
	d.printf("archive %s: taken out of session %s by run %s\n", safeLine(found.ID), safeLine(h.Session), safeLine(h.Run))
	if len(found.Removed) > 0 {
		d.printf("\n%s, for which a summary by %s stands\n", counted(int64(len(found.Removed)), "message"), found.By)
		d.conversation(found.Removed)
	}
	if len(found.Results) > 0 {
		d.printf("\n%s, shortened in the history\n", counted(int64(len(found.Results)), "result"))
		d.conversation(found.Results)
	}
	return nil
}
