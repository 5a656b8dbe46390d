// Command remotedesk attaches the ticket desk to a ticket service, by hand: it is
// the service, with faults to switch on, and it is the desk that submits to it.
// What it prints is JSON; it exits with 3 where the outcome of a submission is
// unknown.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes are those of holdfast.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitUnknown = 3
)

// command is a subcommand: its flags and arguments are bound first.
type command struct {
	name, args, about string
	flags             func(*flag.FlagSet)
	run               func(ctx context.Context, args []string, out io.Writer) error
}

var (
	errUsage   = errors.New("usage")
	errUnknown = errors.New("the outcome is unknown")
	errNotSent = errors.New("the ticket was not sent")
)

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	all := append(serviceCommands(), deskCommands()...)
	for _, c := range all {
		if len(args) > 0 && c.name == args[0] {
			return report(c.start(ctx, args[1:], out, errs), errs)
		}
	}
	fmt.Fprintln(errs, "usage: remotedesk COMMAND [FLAGS] [ARGUMENTS]")
	for _, c := range all {
		fmt.Fprintf(errs, "  %s\n      %s\n", strings.TrimSpace(c.name+" [FLAGS] "+c.args), c.about)
	}
	return exitUsage
}

func (c command) start(ctx context.Context, args []string, out, errs io.Writer) error {
	set := flag.NewFlagSet("remotedesk "+c.name, flag.ContinueOnError)
	set.SetOutput(errs)
	set.Usage = func() {
		fmt.Fprintf(errs, "usage: remotedesk %s\n", strings.TrimSpace(c.name+" [FLAGS] "+c.args))
		set.PrintDefaults()
	}
	if c.flags != nil {
		c.flags(set)
	}
	if err := set.Parse(args); err != nil {
		return errUsage
	}
	if set.NArg() != len(strings.Fields(c.args)) {
		set.Usage()
		return errUsage
	}
	return c.run(ctx, set.Args(), out)
}

// report says what is wrong, and returns the code to exit with.
func report(err error, errs io.Writer) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNotSent):
		return exitFailure
	case errors.Is(err, errUnknown):
		return exitUnknown
	}
	e, ok := errors.AsType[*kernel.Error](err)
	if !ok {
		e = &kernel.Error{Code: kernel.CodeInternal, Message: "something went wrong that this program has no name for", Hint: "the cause: " + err.Error()}
		if errors.Is(err, context.Canceled) {
			e = &kernel.Error{Code: kernel.CodeCancelled, Message: "the command was interrupted", Hint: "remotedesk status DRAFT says how far a submission is"}
		}
	}
	_ = show(errs, map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message, "hint": e.Hint}})
	return exitFailure
}

// show writes v as a line of JSON.
func show(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
