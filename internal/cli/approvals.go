package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) approvalsCommand() *cobra.Command {
	return group("approvals", "List, show and decide what calls wait for a person", "approvals ls, approvals show ID, approvals approve ID or approvals refuse ID",
		a.approvalsListCommand(), a.approvalsShowCommand(), a.approveCommand(), a.refuseCommand())
}

const approvalUser = "only what the user `NAME` asked for, or may decide; the rest is not there"

func (a *app) approvalsListCommand() *cobra.Command {
	var flags journalFlags
	var all bool
	var run string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the open approvals, the latest asked first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := journal.ApprovalQuery{Run: run, State: journal.ApprovalOpen}
			if all {
				q.State = ""
			}
			return a.listApprovals(cmd.Context(), flags, q)
		},
	}
	flags.add(cmd, besideConfig, approvalUser, onlyTenant, oneArray)
	cmd.Flags().BoolVar(&all, "all", false, "also those that are decided, spent or over")
	cmd.Flags().StringVar(&run, "run", "", "only those of the run `ID`")
	return cmd
}

func (a *app) approvalsShowCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an approval: exactly what would run, who may decide, and who did",
		Args:  exactly(1, "one ID", "holdfast approvals ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showApproval(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, besideConfig, approvalUser, onlyTenant, oneObject)
	return cmd
}

// seesApproval reports whether an approval is there for whoever looks: what
// they asked for, and what they may decide.
func (w identity) seesApproval(p *journal.Approval) bool {
	if w.tenant != "" && w.tenant != p.Tenant {
		return false
	}
	return w.user == "" || w.user == p.User || mayDecide(p, w.user)
}

// mayDecide says whether the rule leaves the decision to someone. The journal
// has the last word on a vote.
func mayDecide(p *journal.Approval, by string) bool {
	from := deciders(p)
	return !(p.Approvers.NotAsker && by == p.User) && (len(from) == 0 || slices.Contains(from, by))
}

// deciders are the names of those who may decide; nil: anyone.
func deciders(p *journal.Approval) []string {
	if p.Escalated {
		return p.Approvers.Escalate
	}
	return p.Approvers.From
}

// findApproval returns an approval that is there for whoever looks.
func findApproval(ctx context.Context, j journal.Reader, w identity, id string) (journal.Approval, error) {
	p, err := j.Approval(ctx, id)
	if err == nil && !w.seesApproval(&p) {
		err = journal.NoApproval(id)
	}
	return p, listedBy(err, id, ofApproval)
}

func (a *app) listApprovals(ctx context.Context, flags journalFlags, q journal.ApprovalQuery) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	found, err := reader.Approvals(ctx, q)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := notRun(q.Run); err != nil {
			return err
		}
	}
	found = slices.DeleteFunc(found, func(p journal.Approval) bool { return !flags.who.seesApproval(&p) })
	if flags.json {
		list := make([]approval, 0, len(found))
		for i := range found {
			list = append(list, newApproval(&found[i]))
		}
		return writeJSON(a.stdout, list)
	}
	now := time.Now()
	return a.table("ID\tRUN\tSTATE\tTOOL\tASKED BY\tASKED\tEXPIRES", func(d *display) {
		for i := range found {
			p := &found[i]
			state := pick(p.State == journal.ApprovalOpen && over(p, now), "open, too late", string(p.State))
			d.printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safeLine(p.ID), safeLine(p.Run), state, safeLine(p.Tool),
				orDash(safeLine(p.User)), stampOrDash(p.Asked), stampOrDash(p.Expires))
		}
	})
}

func (a *app) showApproval(ctx context.Context, flags journalFlags, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	p, err := findApproval(ctx, reader, flags.who, id)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, newApproval(&p))
	}
	risk, err := rating(ctx, reader, &p)
	if err != nil {
		return err
	}
	d := newDisplay(a.stdout)
	d.printf("%s", describeApproval(&p, risk, time.Now()))
	if p.State == journal.ApprovalOpen {
		d.decide(&p, flags.again(), time.Now())
	}
	return nil
}

// decide says what to type to decide an approval.
func (d *display) decide(p *journal.Approval, again string, now time.Time) {
	if over(p, now) {
		d.printf("the time to decide is over: the run goes on as its rule says, with: holdfast work --once%s\n", again)
		return
	}
	id := quoteArgument(p.ID)
	if rule := &p.Approvers; rule.NotAsker || rule.Quorum > 1 || len(deciders(p)) > 0 {
		id += " --user NAME" // the rule asks who it is
	}
	d.printf("to allow it:  holdfast approvals approve%s %s --hash %s\n", again, id, p.Hash)
	d.printf("to refuse it: holdfast approvals refuse%s %s --reason TEXT\n", again, id)
}

// over reports whether the time to decide is.
func over(p *journal.Approval, now time.Time) bool {
	return !p.Expires.IsZero() && !now.Before(p.Expires)
}

// describeApproval is all there is to know about an approval, for whoever
// decides it.
func describeApproval(p *journal.Approval, risk string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "approval %s: %s\n  tool %s\n%s%s", safeLine(p.ID), p.State, toolAndEffect(p), risk, describeAsk(p, now))
	for i := range p.Votes {
		v := &p.Votes[i]
		fmt.Fprintf(&b, "  %s %s: %s%s\n", stampOrDash(v.At), orNobody(v.By), pick(v.Approve, "approved", "refused"), colon(v.Reason))
	}
	return b.String()
}

func toolAndEffect(p *journal.Approval) string {
	return fmt.Sprintf("%s (effect %s)", safeLine(p.Tool), safeLine(string(p.Effect)))
}

// describeAsk is what is asked, behind the tool: who wishes it, who may decide,
// until when, and exactly what would run. The arguments are the call's own
// bytes, laid out and escaped, never shortened.
func describeAsk(p *journal.Approval, now time.Time) string {
	var b strings.Builder
	if p.Reason != "" {
		fmt.Fprintf(&b, "  reason: %s\n", safeLine(p.Reason))
	}
	fmt.Fprintf(&b, "  run %s, call %s, session %s\n", safeLine(p.Run), safeLine(p.Call), safeLine(p.Session))
	fmt.Fprintf(&b, "  asked for by %s%s\n", orNobody(p.User), pick(p.Tenant != "", " of "+safeLine(p.Tenant), ""))
	fmt.Fprintf(&b, "  to be decided by %s\n", describeDeciders(p))
	if !p.Expires.IsZero() {
		left := "which is over"
		if !over(p, now) {
			left = "in " + p.Expires.Sub(now).Round(time.Second).String()
		}
		fmt.Fprintf(&b, "  until %s (%s)\n", stampOrDash(p.Expires), left)
	}
	fmt.Fprintf(&b, "  hash %s\n  arguments:\n    %s\n", safeLine(p.Hash), exactArguments(p.Arguments))
	return b.String()
}

// describeDeciders says who may decide.
func describeDeciders(p *journal.Approval) string {
	n := max(1, p.Approvers.Quorum)
	from := deciders(p)
	who := "anyone"
	switch {
	case len(from) > 0:
		who = pick(n == 1, "one of ", fmt.Sprintf("%d of ", n)) + safeLine(strings.Join(from, ", "))
	case n > 1:
		who = fmt.Sprintf("%d people", n)
	}
	if p.Approvers.NotAsker {
		who += ", but not by who asked"
	}
	return who + pick(p.Escalated, " (nobody did in time before)", "")
}

// approval is an approval as --json prints it.
type approval struct {
	ID        string     `json:"id"`
	Run       string     `json:"run"`
	State     string     `json:"state"`
	Session   string     `json:"session"`
	Tenant    string     `json:"tenant"`
	User      string     `json:"user"`
	Call      string     `json:"call"`
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments"`
	Effect    string     `json:"effect"`
	Reason    string     `json:"reason"`
	Hash      string     `json:"hash"`
	Approvers approvers  `json:"approvers"`
	Escalated bool       `json:"escalated"`
	AskedAt   time.Time  `json:"asked_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	DecidedAt *time.Time `json:"decided_at"`
	Votes     []vote     `json:"votes"`
}

type approvers struct {
	NotAsker bool     `json:"not_asker"`
	Quorum   int      `json:"quorum"`
	From     []string `json:"from"`
	Escalate []string `json:"escalate"`
}

type vote struct {
	By      string    `json:"by"`
	Approve bool      `json:"approve"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

func newApproval(p *journal.Approval) approval {
	out := approval{
		ID: p.ID, Run: p.Run, State: string(p.State), Session: p.Session, Tenant: p.Tenant, User: p.User,
		Call: p.Call, Tool: p.Tool, Arguments: string(p.Arguments), Effect: string(p.Effect), Reason: p.Reason, Hash: p.Hash,
		Approvers: approvers{
			NotAsker: p.Approvers.NotAsker, Quorum: max(1, p.Approvers.Quorum),
			From: append([]string{}, p.Approvers.From...), Escalate: append([]string{}, p.Approvers.Escalate...),
		},
		Escalated: p.Escalated, AskedAt: p.Asked.UTC(), ExpiresAt: orNull(p.Expires), DecidedAt: orNull(p.Decided), Votes: []vote{},
	}
	for i := range p.Votes {
		v := &p.Votes[i]
		out.Votes = append(out.Votes, vote{By: v.By, Approve: v.Approve, Reason: v.Reason, At: v.At.UTC()})
	}
	return out
}
