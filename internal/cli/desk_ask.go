package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// The modes of `desk ask`.
const (
	modeScript = "script"
	modeLive   = "live"
)

// maxDeskQuestion bounds a question at the desk, in characters.
const maxDeskQuestion = 6000

// askFlags are the flags of `desk ask`. Limits are texts, so that every value
// out of range is told in the same way.
type askFlags struct {
	*deskFlags
	config, mode, scenario, session string
	steps, calls, deadline, timeout string
	chosenScenario, fixedTime       bool
	limits                          kernel.Limits
	requestTimeout                  time.Duration
}

func (a *app) deskAskCommand(common *deskFlags) *cobra.Command {
	flags := &askFlags{deskFlags: common}
	cmd := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "Ask the desk's agent about a ticket, or for a draft",
		Long: "Ask runs the desk's agent for the person of --user. With --mode script the model is a fixed script, which plays the\n" +
			"same whatever it is asked; with --mode live it is the one of OPENAI_* or ANTHROPIC_*, or of the configuration -c.\n" +
			"What became of the question is read from what is stored: status is answered, draft_prepared or\n" +
			"draft_already_submitted (exit code 0), or says what went wrong (exit code 1).",
		Args: a.oneQuestion(common),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.session == "" {
				return a.deskUsage(common, told{"--session is missing", "name what the drafts belong to: the same content in the same session is the same draft"},
					told{"缺少 --session", "请写明草稿属于哪个会话：同一会话里同样的内容是同一份草稿"})
			}
			flags.chosenScenario, flags.fixedTime = cmd.Flags().Changed("scenario"), cmd.Flags().Changed("timeout")
			return a.desk(cmd.Context(), common, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				return a.deskAsk(ctx, flags, db, who, args[0])
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the configuration `FILE` that names the model of --mode live")
	f.StringVar(&flags.mode, "mode", modeScript, "script or live: the `MODE`")
	f.StringVar(&flags.scenario, "scenario", desk.ScenarioExplain, "explain or draft: the `SCRIPT` to play in --mode script")
	f.StringVar(&flags.session, "session", "", "the `ID` of what drafts belong to; with --mode live also of the conversation")
	defaults := desk.Limits()
	f.StringVar(&flags.steps, "max-steps", strconv.Itoa(defaults.Turns), "at most `N` requests to the model")
	f.StringVar(&flags.calls, "max-tool-calls", strconv.Itoa(defaults.Calls), "at most `N` calls")
	f.StringVar(&flags.deadline, "deadline", defaults.Deadline.String(), "the `TIME` for the whole question, such as 30s; a number is seconds")
	f.StringVar(&flags.timeout, "timeout", "15s", "the `TIME` for one request to the model")
	return cmd
}

func (a *app) deskAsk(ctx context.Context, flags *askFlags, db *sqlite.DB, who desk.Identity, question string) error {
	flags.conflict = conflictSession()
	if err := a.checkAsk(flags); err != nil {
		return err
	}
	question, err := a.readText(question, "the question", "ask something shorter")
	if err == nil {
		question, err = desk.Text(question, "the question", maxDeskQuestion)
	}
	if err == nil {
		flags.session, err = desk.Line(flags.session, "the session", desk.MaxSession)
	}
	if err != nil {
		return err
	}
	kept, err := a.deskChoose(flags)
	if err != nil {
		return err
	}
	agent, err := kept.agent(a.env, db)
	if err != nil {
		return err
	}
	agent.Limits = flags.limits
	start := holdfast.Start{Agent: agent, Question: question, Tenant: who.Tenant, User: who.User}
	if start.Config, err = json.Marshal(kept); err != nil {
		return err
	}
	if flags.mode == modeLive {
		start.Session = flags.session // a script does not go on with a conversation
	}
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	taken, err := a.deskTakeUp(ctx, flags, db, who)
	if err != nil {
		return err
	}
	rt, err := holdfast.Open(ctx, holdfast.Options{File: runsOf(flags.db)})
	if err != nil {
		return err
	}
	defer rt.Close()
	return a.deskRun(ctx, flags, rt, db, who, start, taken)
}

// deskRun runs one question to its stop and reports what came of it.
func (a *app) deskRun(ctx context.Context, flags *askFlags, rt *holdfast.Runtime, db *sqlite.DB, who desk.Identity, start holdfast.Start, taken []deskTaken) error {
	trace := &deskTrace{}
	run, err := follow(ctx, rt, start, trace.see)
	if err != nil {
		return err
	}
	interrupted := ctx.Err() != nil
	result, err := desk.ResultOf(context.WithoutCancel(ctx), db, who, run)
	if err != nil {
		return err
	}
	out := a.newDeskReport(flags, start.Agent.Model.Info(), who, run, trace, result)
	out.Trace, out.Taken = append(out.Trace, trace.entries...), append(out.Taken, taken...)
	if err := writeJSON(a.stdout, out); err != nil {
		return err
	}
	switch {
	case a.stdout.unread():
		return &kernel.Error{Code: kernel.CodeInternal, Message: "nobody reads standard output; the run is in the journal",
			Hint: "look at holdfast desk drafts, and at: holdfast runs show --db " + quoteArgument(runsOf(flags.db)) + " " + run.Head.Run}
	case interrupted:
		return a.deskInterrupted(flags.deskFlags, told{"interrupted", "look at holdfast desk drafts before you try again"}, told{"已中断", "重试之前请先查看：holdfast desk drafts"})
	case result.Status == desk.NeedsClarification:
		return exitError(exitWaiting)
	case !result.Status.Done():
		return exitError(exitFailure)
	}
	return nil
}

// checkAsk reads the limits: what is wrong with them is CONFIGURATION.
func (a *app) checkAsk(f *askFlags) error {
	if err := a.checkMode(f); err != nil {
		return err
	}
	f.limits = desk.Limits()
	for _, n := range []struct {
		name, text string
		into       *int
	}{{"--max-steps", f.steps, &f.limits.Turns}, {"--max-tool-calls", f.calls, &f.limits.Calls}} {
		v, err := strconv.Atoi(n.text)
		if err != nil || v < 1 || v > 1_000_000 {
			return a.outOfRange(f.deskFlags, n.name, n.text, "a whole number from 1 to 1000000", " 1 到 1000000 的整数")
		}
		*n.into = v
	}
	for _, d := range []struct {
		name, text string
		into       *time.Duration
	}{{"--deadline", f.deadline, &f.limits.Deadline}, {"--timeout", f.timeout, &f.requestTimeout}} {
		v, ok := seconds(d.text)
		if !ok || v <= 0 || v > 24*time.Hour {
			return a.outOfRange(f.deskFlags, d.name, d.text, "a time above 0 and at most 24h, such as 30s", "大于 0、不超过 24h 的时间，例如 30s")
		}
		*d.into = v
	}
	return nil
}

func (a *app) checkMode(f *askFlags) error {
	switch {
	case f.mode != modeScript && f.mode != modeLive:
		return a.wrongFlag(f.deskFlags, told{"--mode is script or live", "leave it out for script"}, told{"--mode 只能是 script 或 live", "不写就是 script"})
	case f.mode == modeLive && f.chosenScenario:
		return a.wrongFlag(f.deskFlags, told{"--scenario belongs to --mode script: a live model plays no script", "leave one of the two out"},
			told{"--scenario 只用于 --mode script：真实模型不演脚本", "两者去掉一个"})
	case f.mode == modeScript && !slices.Contains(desk.Scenarios(), f.scenario):
		return a.wrongFlag(f.deskFlags, told{"--scenario is explain or draft", "leave it out for explain"}, told{"--scenario 只能是 explain 或 draft", "不写就是 explain"})
	case f.mode == modeScript && f.config != "":
		return a.wrongFlag(f.deskFlags, told{"-c names the model of --mode live", "leave it out, or write --mode live"}, told{"-c 指定的是 --mode live 的模型", "去掉它，或者写 --mode live"})
	}
	return nil
}

// seconds reads a duration such as 1m30s, or a plain number of seconds.
func seconds(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	d, err := time.ParseDuration(text + "s")
	return d, err == nil
}

// deskChoose says what answers: a script, or the model that the environment or
// the configuration names.
func (a *app) deskChoose(flags *askFlags) (*deskKept, error) {
	choice := &deskChoice{Session: flags.session, Timeout: flags.requestTimeout}
	if flags.mode == modeScript {
		choice.Scenario = flags.scenario
		return &deskKept{Desk: choice}, nil
	}
	c, err := a.readConfig(flags.config)
	if err != nil {
		return nil, err
	}
	if err := c.Complete(a.env); err != nil {
		return nil, err
	}
	if !flags.fixedTime {
		choice.Timeout = c.RequestTimeout
	}
	kept, err := c.Stored()
	return &deskKept{Desk: choice, Config: kept}, err
}
