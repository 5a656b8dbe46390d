package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/eval"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// exitGate is the exit code of an evaluation that does not meet its gate.
const exitGate = 2

// builtinTasks names the suite that comes with the program.
const builtinTasks = "built-in"

// evalFlags are the flags of `desk eval`.
type evalFlags struct {
	*deskFlags
	config, mode, tasks, trials, out, against string
}

func (a *app) deskEvalCommand(common *deskFlags) *cobra.Command {
	flags := &evalFlags{deskFlags: common}
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Judge the desk's agent on labelled tasks by what it did; exits with 2 below the gate",
		Long: "Eval runs every task in a desk of its own, made anew, and judges it by the calls, the audit and the stored rows. With\n" +
			"--mode script each task plays its own fixed steps, which shows that the desk and the checks hold; what a model is worth\n" +
			"shows with --mode live, where it is the one of OPENAI_* or ANTHROPIC_*, or of the configuration -c, and costs money.\n" +
			"Standard output gets the results as one JSON object or, at a terminal, as a table.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("db") || cmd.Flags().Changed("user") {
				return a.deskUsage(common, told{"desk eval makes desks of its own, for the people of its tasks", "leave --db and --user out"},
					told{"desk eval 为每道任务各建一个工单台，使用任务自己的身份", "去掉 --db 和 --user"})
			}
			common.conflict = told{"任务的工单或制度与已有的编号相同", "请换一个编号"}
			return a.inLanguage(common, func() error { return a.deskEval(cmd.Context(), flags) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the configuration `FILE` that names the model of --mode live")
	f.StringVar(&flags.mode, "mode", modeScript, "script or live: the `MODE`")
	f.StringVar(&flags.tasks, "tasks", "", "the `FILE` of tasks, as JSON lines (default those that come with the program)")
	f.StringVar(&flags.trials, "trials", "1", "run each task `N` times, 1 to 1000")
	f.StringVar(&flags.out, "out", "", "the `FOLDER` for results.json, junit.xml, report.txt and the runs (default none)")
	f.StringVar(&flags.against, "against", "", "compare with the results.json in `FILE`, of the same tasks (default with nothing)")
	return cmd
}

// evalRoom is twice what the desks take that are open at one time.
const evalRoom = 8 << 20

func (a *app) deskEval(ctx context.Context, flags *evalFlags) error {
	c, err := a.evaluation(flags)
	if err != nil {
		return err
	}
	var earlier *eval.Report
	if flags.against != "" {
		if earlier, err = readReport(flags.against, c.Suite); err != nil {
			return err
		}
	}
	desks, err := temporary("holdfast-eval-", evalRoom)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(desks) }() // what is left there is in the way of nobody
	c.Open = freshDesks(desks)
	journal := ""
	if flags.out != "" {
		if err := os.MkdirAll(flags.out, 0o700); err != nil {
			return unmade("the folder of --out", err)
		}
		journal = filepath.Join(flags.out, "runs.db")
	}
	if c.Runtime, err = holdfast.Open(ctx, holdfast.Options{File: journal}); err != nil {
		return err
	}
	defer func() { _ = c.Runtime.Close() }() // every run has stopped
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	report, err := eval.Run(ctx, *c)
	if report == nil {
		return err
	}
	if earlier != nil && report.Complete {
		report.Compared = report.Against(earlier)
	}
	if err := errors.Join(err, a.tellReport(flags.out, report)); err != nil {
		return err
	}
	switch {
	case !report.Complete:
		return a.deskInterrupted(flags.deskFlags, told{"interrupted", "what was done so far is in the results"}, told{"已中断", "已完成的部分在结果里"})
	case !report.Gate.Met:
		return exitError(exitGate)
	}
	return nil
}

// evaluation reads what is to be evaluated: nothing runs where any of it is wrong.
func (a *app) evaluation(flags *evalFlags) (*eval.Config, error) {
	switch {
	case flags.mode != modeScript && flags.mode != modeLive:
		return nil, a.wrongFlag(flags.deskFlags, told{"--mode is script or live", "leave it out for script"}, told{"--mode 只能是 script 或 live", "不写就是 script"})
	case flags.mode == modeScript && flags.config != "":
		return nil, a.wrongFlag(flags.deskFlags, told{"-c names the model of --mode live", "leave it out, or write --mode live"}, told{"-c 指定的是 --mode live 的模型", "去掉它，或者写 --mode live"})
	}
	trials, err := strconv.Atoi(flags.trials)
	if err != nil || trials < 1 || trials > eval.MaxTrials {
		return nil, a.outOfRange(flags.deskFlags, "--trials", flags.trials, fmt.Sprintf("a whole number from 1 to %d", eval.MaxTrials), fmt.Sprintf(" 1 到 %d 的整数", eval.MaxTrials))
	}
	c := &eval.Config{Mode: flags.mode, Trials: trials, Versions: readBuild()}
	if c.Suite, err = readTasks(flags.tasks); err != nil {
		return nil, err
	}
	if flags.mode == modeScript {
		c.Model, c.Notice = eval.Scripted, a.deskSay(flags.deskFlags, noticeScript)
		return c, c.Suite.Scriptable()
	}
	m, timeout, err := a.liveModel(flags.config)
	if err != nil {
		return nil, err
	}
	if m.Info().Scripted {
		c.Notice = a.deskSay(flags.deskFlags, noticeScript)
	}
	c.Model, c.Timeout = func(*eval.Task) (model.Model, error) { return m, nil }, timeout
	return c, nil
}

// liveModel is the model of the environment or of a configuration, with the time
// for one request to it.
func (a *app) liveModel(config string) (model.Model, time.Duration, error) {
	c, err := a.readConfig(config)
	if err != nil {
		return nil, 0, err
	}
	if err := c.Complete(a.env); err != nil {
		return nil, 0, err
	}
	m, err := buildModel(c.Model)
	return m, c.RequestTimeout, err
}

// readReport reads what is to be compared with, which is of these tasks.
func readReport(file string, s *eval.Suite) (*eval.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("the earlier report %.200q cannot be read", file), Hint: "name a results.json with --against", Err: err}
	}
	defer f.Close()
	r, err := eval.ReadReport(f)
	if err != nil {
		return nil, err
	}
	return r, r.Fits(s)
}

// readTasks reads a file of tasks, or the suite that comes with the program.
func readTasks(file string) (*eval.Suite, error) {
	if file == "" {
		return eval.Parse(builtinTasks, desk.LabelledTasks())
	}
	unreadable := func(err error) error {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("the file of tasks %.200q cannot be read", file), Hint: "name a regular file with --tasks", Err: err}
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, unreadable(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, eval.MaxFile+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return eval.Parse(filepath.Base(file), data)
}

// freshDesks makes desks in files of their own, and removes each when it is
// closed.
func freshDesks(folder string) func(context.Context) (*eval.Desk, error) {
	return func(ctx context.Context) (*eval.Desk, error) {
		dir, err := os.MkdirTemp(folder, "")
		if err != nil {
			return nil, unmade("a folder for a desk", err)
		}
		db, err := sqlite.Create(ctx, filepath.Join(dir, "desk.db"), sqlite.Options{})
		if err != nil {
			return nil, err
		}
		if err := db.AddFixtures(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return &eval.Desk{
			Tickets: db, Drafts: db, Policies: db, Finder: db, Audit: db, AddTicket: db.AddTicket,
			Close: func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) },
		}, nil
	}
}

// tellReport writes the results into the folder, where there is one, and to
// standard output.
func (a *app) tellReport(folder string, r *eval.Report) error {
	if folder != "" {
		for name, write := range map[string]func(io.Writer) error{
			"results.json": func(w io.Writer) error { return writeJSON(w, r) }, "junit.xml": r.WriteJUnit, "report.txt": r.WriteTable,
		} {
			var b bytes.Buffer
			err := write(&b)
			if err == nil {
				err = replaceFile(filepath.Join(folder, name), b.Bytes(), 0o600)
			}
			if err != nil {
				return unmade(name, err)
			}
		}
	}
	if terminal(a.stdout.w) != nil {
		return r.WriteTable(a.stdout)
	}
	return writeJSON(a.stdout, r)
}

func unmade(what string, err error) error {
	if full := noRoom(what, err); full != nil {
		return full
	}
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: what + " cannot be written", Hint: "look at the path, the disk and the rights", Err: err}
}
