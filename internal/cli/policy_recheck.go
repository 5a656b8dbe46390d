package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) policyRecheckCommand() *cobra.Command {
	var flags journalFlags
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "recheck",
		Short: "Replay past decisions under the present rules, and list every difference",
		Long: "Recheck puts each call that the rules of a run decided on to the rules of the configuration as it is now, with the same\n" +
			"arguments, identity and effect class. It changes nothing. It exits with 2 when an answer differs.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.recheckPolicy(cmd.Context(), flags, since) },
	}
	flags.add(cmd, "the configuration `FILE` with the rules, which the journal stands beside (default ./holdfast.yaml)", onlyUser, onlyTenant, oneObject)
	cmd.Flags().DurationVar(&since, "since", 0, "only runs that were started within this `TIME`, such as 24h (default all)")
	return cmd
}

// rechecked is what `policy recheck --json` prints.
type rechecked struct {
	Policy      string             `json:"policy"` // hash of the present rules
	Looked      int                `json:"looked"` // decisions
	Differences []policyDifference `json:"differences"`
}

type policyDifference struct {
	Run    string    `json:"run"`
	Call   string    `json:"call"`
	At     time.Time `json:"at"`
	Tool   string    `json:"tool"`
	Args   string    `json:"args"`
	Then   string    `json:"then"`
	Now    string    `json:"now"`
	Rule   string    `json:"rule"` // that answers now
	Was    string    `json:"was"`  // the rule that answered then
	Policy string    `json:"policy"`
}

// exitDiffers is the exit code of a recheck that found differences.
const exitDiffers = 2

func (a *app) recheckPolicy(ctx context.Context, flags journalFlags, since time.Duration) error {
	b, _, err := a.openRules(flags.config)
	if err != nil {
		return err
	}
	defer b.release()
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	from := time.Time{}
	if since > 0 {
		from = time.Now().Add(-since)
	}
	out := rechecked{Policy: b.rules.Hash(), Differences: []policyDifference{}}
	err = pastDecisions(ctx, reader, flags.who, from, func(p *pastDecision) error {
		out.Looked++
		now, err := b.rules.Decide(ctx, p.request(b))
		answer := p.answered(now.Answer)
		if err == nil && answer != p.decided.Answer {
			out.Differences = append(out.Differences, policyDifference{
				Run: p.head.Run, Call: p.call.ID, At: p.at.UTC(), Tool: p.call.Name, Args: p.call.Arguments,
				Then: string(p.decided.Answer), Now: string(answer), Rule: now.Rule, Was: p.decided.Rule, Policy: p.decided.Policy,
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if flags.json {
		err = writeJSON(a.stdout, out)
	} else {
		newDisplay(a.stdout).rechecked(&out)
	}
	if err == nil && len(out.Differences) > 0 {
		err = exitError(exitDiffers)
	}
	return err
}

func (d *display) rechecked(r *rechecked) {
	for i := range r.Differences {
		x := &r.Differences[i]
		d.printf("%s  run %s, call %s: %s %s\n  then %s by %s (policy %.12s)\n  now  %s by %s\n", x.At.Format(time.RFC3339), safeLine(x.Run), safeLine(x.Call),
			safeLine(x.Tool), previewIn(x.Args, maxListed), x.Then, orDash(safeLine(x.Was)), safeLine(x.Policy), x.Now, safeLine(x.Rule))
	}
	d.printf("%d decisions, %d would be another one under the present rules (policy %.12s)\n", r.Looked, len(r.Differences), r.Policy)
}
