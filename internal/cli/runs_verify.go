package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) runsVerifyCommand() *cobra.Command {
	var flags journalFlags
	var all bool
	var head string
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Prove that nothing of a run was altered, moved or left out",
		Long: "Verify computes the hash chains anew: of the run, or of every run with --all, and of the chain over all runs.\n" +
			"With --head the chain must still lead through a head that `holdfast journal head` printed before.\n" +
			"It names the first record or seal that does not hold, and exits with 1. docs/recovery.md says what this does not prove.",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return usage("runs verify takes exactly one RUN, or --all", "holdfast runs ls lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var kept *journal.SealedHead
			if cmd.Flags().Changed("head") {
				h, err := journal.ParseHead(head)
				if err != nil {
					return err
				}
				kept = &h
			}
			return a.verifyRuns(cmd.Context(), flags, args, kept)
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneObject)
	cmd.Flags().BoolVar(&all, "all", false, "every run; with --user or --tenant every run of these")
	cmd.Flags().StringVar(&head, "head", "", "a head that was kept elsewhere, as `SEQ:HASH`")
	return cmd
}

// verified is what `runs verify --json` prints.
type verified struct {
	OK      bool   `json:"ok"`
	Runs    int64  `json:"runs"`
	Records int64  `json:"records"`
	Seals   int64  `json:"seals"`
	Head    string `json:"head"`
	Flaw    *flaw  `json:"flaw"`
}

// flaw is the first thing found wrong.
type flaw struct {
	What string `json:"what"`
	Run  string `json:"run"`          // empty: the chain over all runs
	Seq  int64  `json:"seq"`          // of the record, or of the seal; 0: neither
	Seal bool   `json:"seal"`         // it is a seal
	ID   string `json:"id,omitempty"` // of the effect or the approval
	Text string `json:"text"`
	Hint string `json:"hint"`
}

func (a *app) verifyRuns(ctx context.Context, flags journalFlags, args []string, kept *journal.SealedHead) error {
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	var r journal.Report
	if len(args) == 0 {
		r, err = flags.who.verifyAll(ctx, reader, kept)
	} else {
		r, err = flags.who.verifyOne(ctx, reader, args[0], kept)
	}
	if err != nil {
		return err
	}
	return a.reportVerified(flags, &r)
}

// verifyAll checks every run that is there for the identity. A flaw of the
// chain over all runs is everybody's.
func (w identity) verifyAll(ctx context.Context, j journal.Reader, kept *journal.SealedHead) (journal.Report, error) {
	if w == (identity{}) {
		return journal.VerifyAll(ctx, j, kept)
	}
	var sum journal.Report
	heads, err := j.Heads(ctx, journal.Query{User: w.user, Tenant: w.tenant})
	if err != nil {
		return sum, err
	}
	for i := range heads {
		r, err := journal.Verify(ctx, j, heads[i].Run, kept)
		if err != nil {
			return sum, err
		}
		r.Runs, r.Records = r.Runs+sum.Runs, r.Records+sum.Records
		if sum = r; r.Flaw != nil {
			break
		}
	}
	return sum, nil
}

// verifyOne checks a run that is there for the identity. To whoever operates
// the journal that includes one of which only a seal is left.
func (w identity) verifyOne(ctx context.Context, j journal.Reader, run string, kept *journal.SealedHead) (journal.Report, error) {
	if w != (identity{}) {
		if _, err := findRun(ctx, j, run, w.sees); err != nil {
			return journal.Report{}, err
		}
	}
	r, err := journal.Verify(ctx, j, run, kept)
	return r, listedBy(err, run, ofRun)
}

func newVerified(r *journal.Report) verified {
	out := verified{OK: r.Flaw == nil, Runs: r.Runs, Records: r.Records, Seals: r.Seals, Head: r.Head.String()}
	if f := r.Flaw; f != nil {
		out.Flaw = &flaw{What: string(f.What), Run: f.Run, Seq: f.Seq, Seal: f.Seal, ID: f.ID, Text: f.String(), Hint: f.Hint}
	}
	return out
}

func (a *app) reportVerified(flags journalFlags, r *journal.Report) error {
	out := newVerified(r)
	var err error
	if flags.json {
		err = writeJSON(a.stdout, out)
	} else {
		newDisplay(a.stdout).verified(&out)
	}
	if err == nil && !out.OK {
		err = exitError(exitFailure)
	}
	return err
}

func (d *display) verified(v *verified) {
	if f := v.Flaw; f != nil {
		d.printf("WRONG  %s\n       %s\n", safeLine(f.Text), safeLine(f.Hint))
		return
	}
	d.printf("verified: %s of %s; %s, the last is %s\n", counted(v.Records, "record"), counted(v.Runs, "run"), counted(v.Seals, "seal"), v.Head)
}
