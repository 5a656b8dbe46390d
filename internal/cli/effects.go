package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
)

func (a *app) effectsCommand() *cobra.Command {
	return group("effects", "List, show and resolve what calls changed outside", "effects ls, effects show ID or effects resolve ID",
		a.effectsListCommand(), a.effectsShowCommand(), a.resolveCommand())
}

func (a *app) effectsListCommand() *cobra.Command {
	var flags journalFlags
	var unknown bool
	var run string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the ledger's effects, the latest claimed first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := journal.EffectQuery{Run: run}
			if unknown {
				q.State = journal.EffectUnknown
			}
			return a.listEffects(cmd.Context(), flags, q)
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneArray)
	cmd.Flags().BoolVar(&unknown, "unknown", false, "only those of which nobody knows whether they took place")
	cmd.Flags().StringVar(&run, "run", "", "only those of the run `ID`")
	return cmd
}

func (a *app) effectsShowCommand() *cobra.Command {
	var flags journalFlags
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an effect: the call, its key, what came of it, and who found out",
		Args:  exactly(1, "one ID", "holdfast effects ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showEffect(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, besideConfig, onlyUser, onlyTenant, oneObject)
	return cmd
}

// findEffect returns an effect that is there for whoever looks.
func findEffect(ctx context.Context, j journal.Reader, id string, there func(journal.Owner) bool) (journal.Effect, error) {
	e, err := j.Effect(ctx, id)
	if err == nil && !there(e.Owner()) {
		err = journal.NoEffect(id)
	}
	return e, listedBy(err, id, ofEffect)
}

func (a *app) listEffects(ctx context.Context, flags journalFlags, q journal.EffectQuery) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	found, err := reader.Effects(ctx, q)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := notRun(q.Run); err != nil {
			return err
		}
	}
	found = slices.DeleteFunc(found, func(e journal.Effect) bool { return !flags.who.sees(e.Owner()) })
	if flags.json {
		list := make([]effect, 0, len(found))
		for i := range found {
			list = append(list, newEffect(&found[i]))
		}
		return writeJSON(a.stdout, list)
	}
	return a.table("ID\tRUN\tSTATE\tTOOL\tCLASS\tCLAIMED\tARGUMENTS", func(d *display) {
		for i := range found {
			e := &found[i]
			d.printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safeLine(e.ID), safeLine(e.Run), e.State, safeLine(e.Tool), e.Class,
				stampOrDash(e.ClaimedAt), previewIn(string(e.Arguments), maxListed))
		}
	})
}

func (a *app) showEffect(ctx context.Context, flags journalFlags, id string) error {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return err
	}
	defer reader.Close()
	e, err := findEffect(ctx, reader, id, flags.who.sees)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, newEffect(&e))
	}
	d := newDisplay(a.stdout)
	d.effect(&e)
	if e.State == journal.EffectUnknown {
		d.printf("look whether it took place, under this key and by these arguments\n")
		d.sayFound(e.ID, flags.again())
	}
	return nil
}

// effect writes a row of the ledger and what people found out about it.
func (d *display) effect(e *journal.Effect) {
	d.printf("effect %s: %s\n", safeLine(e.ID), e.State)
	d.printf("  tool %s (effect %s)\n  run %s, call %s, session %s\n", safeLine(e.Tool), e.Class, safeLine(e.Run), safeLine(e.Call), safeLine(e.Session))
	d.printf("  of %s%s\n", orNobody(e.User), pick(e.Tenant != "", " of "+safeLine(e.Tenant), ""))
	d.printf("  key %s\n  fingerprint %s\n", safeLine(toolKey(e.Key)), safeLine(e.Fingerprint))
	d.printf("  attempt %d claimed at %s, settled at %s\n", e.Attempts, stampOrDash(e.ClaimedAt), stampOrDash(e.SettledAt))
	d.printf("  arguments:\n    %s\n", exactArguments(e.Arguments))
	if text := resultText(e); text != nil {
		d.printf("  result: %s\n", safeLines(*text))
	}
	for i := range e.Resolutions {
		r := &e.Resolutions[i]
		d.printf("  %s %s: %s%s%s\n", stampOrDash(r.At), orNobody(r.By), r.As, colon(r.Note),
			pick(r.Evidence != "", " (evidence SHA-256 "+safeLine(r.Evidence)+")", ""))
	}
}

// toolKey is a ledger's key as the tool was given it, without the word in front
// that says whose it is: the call's, or the tool's own.
func toolKey(key string) string {
	for _, whose := range []string{"call ", "key "} {
		if own, found := strings.CutPrefix(key, whose); found {
			return own
		}
	}
	return key
}

// effect is a row of the ledger as --json prints it.
type effect struct {
	ID          string       `json:"id"`
	Run         string       `json:"run"`
	State       string       `json:"state"`
	Session     string       `json:"session"`
	Tenant      string       `json:"tenant"`
	User        string       `json:"user"`
	Call        string       `json:"call"`
	Tool        string       `json:"tool"`
	Arguments   string       `json:"arguments"`
	Effect      string       `json:"effect"`
	Key         string       `json:"key"`
	Fingerprint string       `json:"fingerprint"`
	Attempts    int          `json:"attempts"`
	ClaimedAt   time.Time    `json:"claimed_at"`
	SettledAt   *time.Time   `json:"settled_at"`
	Result      *string      `json:"result"`
	Resolutions []resolution `json:"resolutions"`
}

type resolution struct {
	As       string    `json:"as"`
	By       string    `json:"by"`
	Note     string    `json:"note"`
	Evidence string    `json:"evidence"`
	Result   *string   `json:"result"`
	At       time.Time `json:"at"`
}

func newEffect(e *journal.Effect) effect {
	out := effect{
		ID: e.ID, Run: e.Run, State: string(e.State), Session: e.Session, Tenant: e.Tenant, User: e.User, Call: e.Call,
		Tool: e.Tool, Arguments: string(e.Arguments), Effect: string(e.Class), Key: e.Key, Fingerprint: e.Fingerprint,
		Attempts: e.Attempts, ClaimedAt: e.ClaimedAt.UTC(), SettledAt: orNull(e.SettledAt), Result: resultText(e), Resolutions: []resolution{},
	}
	for i := range e.Resolutions {
		r := &e.Resolutions[i]
		out.Resolutions = append(out.Resolutions, resolution{
			As: string(r.As), By: r.By, Note: r.Note, Evidence: r.Evidence, Result: textOf(r.Result), At: r.At.UTC(),
		})
	}
	return out
}

// resultText is what an effect's call came to, as the model is told it: as the
// tool returned it, or as somebody gave it with their finding. nil: not known.
func resultText(e *journal.Effect) *string {
	r, known := engine.EffectResult(e)
	if !known {
		return nil
	}
	return &r.Text
}

func textOf(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	s := string(b)
	return &s
}
