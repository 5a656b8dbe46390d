// Package cli is the command line of Holdfast: what is written to stdout and
// stderr, in which form, and with which exit code. Others script against it.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
)

// app is what the commands need of the process they run in.
type app struct {
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer
	env     func(string) string
	exposed error // why programs may find keys in this process; nil: they do not
}

// Main runs one command line, args being what follows the program's name, and
// returns the exit code: 0 for a run that was answered or verified and for any
// other command that succeeded, 1 for every other stop and for errors, 2 for a
// command line that cannot be understood, 130 for an interrupt (SIGINT, SIGTERM
// or SIGHUP; a second one kills what runs, a third one the process). Errors go to stderr as one
// JSON object. Main takes over these signals and SIGPIPE of the process while
// it runs, and is not for concurrent use. Of the environment it only reads;
// Process also hides it.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return execute(args, &app{stdin: stdin, stdout: &output{w: stdout}, stderr: stderr, env: os.Getenv})
}

func execute(args []string, a *app) (code int) {
	defer func() {
		if v := recover(); v != nil {
			code = exitCode(panicked(), a.stderr)
		}
	}()
	// A reader that closes our output ends the output and not a run that is
	// under way: a failing write is enough to know. Notify, and not Ignore,
	// since child processes would inherit the latter.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteC()
	return exitCode(placed(cmd, a.stdout.failure(err)), a.stderr)
}

// panicked is the error of a panic under way. It says where, and not what: a
// panic's value may hold anything.
func panicked() error {
	place := "an unknown place"
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			place = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			break
		}
		if !more {
			break
		}
	}
	return &kernel.Error{Code: kernel.CodeInternal, Message: "the program panicked at " + place, Hint: "report it with this place; the journal holds the run up to there"}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Run tool-calling agents that act on real systems",
		Long: "Holdfast runs tool-calling agents that act on real systems:\n" +
			"every stop has a reason, every effect has a receipt, every claim has evidence.\n\n" +
			"Start with `holdfast demo`, which needs no key and no network.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage(fmt.Sprintf("unknown command %.80q", args[0]), "holdfast --help lists the commands")
		},
		PersistentPreRunE: checkGiven,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(wrongFlags)
	root.AddCommand(
		a.demoCommand(),
		a.demoDocsCommand(),
		a.runCommand(),
		a.runsCommand(),
		a.workCommand(),
		a.approvalsCommand(),
		a.effectsCommand(),
		a.memoryCommand(),
		a.skillsCommand(),
		a.sayCommand(),
		a.noticeCommand(),
		a.mcpCommand(),
		a.sessionsCommand(),
		a.journalCommand(),
		a.dbCommand(),
		a.deskCommand(),
		a.policyCommand(),
		a.selfcheckCommand(),
		a.doctorCommand(),
		a.versionCommand(),
	)
	return root
}

// wrongFlags is a command line whose flags cannot be understood.
func wrongFlags(cmd *cobra.Command, err error) error {
	return usage(flagProblem(err), cmd.CommandPath()+" --help lists the flags")
}

// flagProblem says what is wrong with a flag.
func flagProblem(err error) string {
	if bad, ok := errors.AsType[*strconv.NumError](err); ok {
		if what, _, found := strings.Cut(err.Error(), ": "); found && bad.Func != "ParseBool" {
			return what + ": it takes a whole number"
		}
		return fmt.Sprintf("a switch such as --json stands alone, or takes true or false, not %.40q", bad.Num)
	}
	return err.Error()
}

// noArguments refuses whatever is not a flag.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Sprintf("unexpected argument %.80q", args[0]), "see "+cmd.CommandPath()+" --help")
	}
	return nil
}
