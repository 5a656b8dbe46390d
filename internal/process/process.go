//go:build linux || darwin

// Package process starts programs for the tools, hooks and servers of an agent.
//
// A program is started by its argument vector, without a shell, in a session and
// process group of its own, without a terminal, and sees the environment that it is given and no other:
// [Environment] makes a short one. When it ends, by itself or not, what is left
// of its group is killed. A process that has left the group on purpose (setsid)
// escapes that, but holds nobody up by the pipes that it keeps open. On Linux a
// program dies with its host, however that ends.
//
// [Command.Run] runs a program to its end and keeps the head and the tail of its
// output. [Command.Start] gives one that lives on, with pipes.
package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// Drain bounds the wait for output, after a program has ended, from what has left
// its group and holds a pipe open.
const Drain = 250 * time.Millisecond

// Command is a program to start. It may be started more than once, and from
// several goroutines.
type Command struct {
	// Argv is the program and its arguments. A name without a slash is looked
	// up in the host's PATH, a relative path starts from Dir.
	Argv []string
	Dir  string   // working directory; empty: the host's own
	Env  []string // KEY=value, all that the program sees of any environment
	// Stdin is what Run gives the program to read; nil: nothing.
	Stdin []byte
	// MaxOutput is how much of the head and of the tail of each output is
	// kept, in bytes: twice that at most. It must be positive.
	MaxOutput int
	// Grace is the time from SIGTERM to SIGKILL. 0: SIGKILL at once.
	Grace time.Duration
	// Kill, once closed, lets nothing start any more, and makes Run kill the
	// group at once, also during the grace. nil: never.
	Kill <-chan struct{}

	// Files are 3, 4 and so on in the program. They stay the caller's to close.
	Files []*os.File
	// Thread, if there is one, is called on the thread that is about to start
	// the program, which inherits what that does to the thread's own rights. The
	// thread does nothing else, and ends with the program. An error of it is
	// that of the start.
	Thread func() error
	// Wrapper says that Argv[0] stands around the program and that SIGTERM would
	// end it before that: only the others of the group are asked to end. It is
	// for Linux; elsewhere it does nothing.
	Wrapper bool
	// Limits are resource limits (RLIMIT_…) that hold from the program's first
	// instruction on, for it and for each of its children. Where the host's own
	// hard limit is lower, that one stays. Linux alone has them: elsewhere one
	// is an error that is errors.ErrUnsupported. The system must permit ptrace.
	Limits map[int]uint64
}

// Ending says who ended a program.
type Ending int

// The endings.
const (
	ByItself Ending = iota // also by a signal that somebody else sent
	ByTime                 // the deadline of Run's context has passed
	ByCaller               // the context was cancelled, Kill was closed, or Stop was called
	Unseen                 // someone else in this process took its exit status
)

// Result is how a program ended.
type Result struct {
	ExitCode int    // -1: ended by a signal, or unseen
	Signal   string // the signal's name where one ended it: "killed", …
	Ended    Ending
	Elapsed  time.Duration
	Stdout   Output // of Run alone
	Stderr   Output
}

// Run runs the program until it ends, or until ctx does: then its group is
// asked to end, and killed after the grace. An error means that it was never
// started: os.ErrClosed where Kill was closed, the cause of ctx where that was
// over, else as of (*exec.Cmd).Start. Run returns at most the grace and Drain
// after the leader's end or that of ctx.
func (c Command) Run(ctx context.Context) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	g := c.group()
	stdout, err := g.keep(c.MaxOutput)
	if err != nil {
		return Result{}, err
	}
	stderr, err := g.keep(c.MaxOutput)
	if err != nil {
		stdout.begin(err)
		return Result{}, err
	}
	cmd := c.command()
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.Stdout, cmd.Stderr = stdout.theirs, stderr.theirs
	err = c.launch(cmd, g)
	stdout.begin(err)
	stderr.begin(err)
	if err != nil {
		return Result{}, err
	}
	ended := ByItself
	if !waitFor(g.done, ctx.Done(), c.Kill) {
		ended = ByCaller
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			ended = ByTime
		}
		g.end(c.Grace, c.Kill)
	}
	r := g.result(ended)
	r.Stdout, r.Stderr = stdout.all(), stderr.all()
	return r, nil
}

// command is the program without its files.
func (c Command) command() *exec.Cmd {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // the end of a context ends the group, not only its leader
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean all of the host's
	}
	cmd.ExtraFiles = c.Files
	cmd.SysProcAttr = attributes(len(c.Limits) > 0)
	cmd.WaitDelay = Drain
	return cmd
}

// waitFor reports whether done came, or came too, when it stops waiting.
func waitFor(done, giveUp, kill <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-giveUp:
	case <-kill:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// settle notes how the program ended.
func (r *Result) settle(state *os.ProcessState) {
	if state == nil {
		r.ExitCode, r.Ended = -1, Unseen
		return
	}
	r.ExitCode = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal().String()
	}
}

// Environment is a short environment: of the host's variables PATH, HOME, LANG,
// LC_ALL, TMPDIR and TZ as far as they are there, and extra, which counts where
// both have one. It is never nil.
func Environment(extra map[string]string) []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"} {
		value, ok := os.LookupEnv(name)
		if _, given := extra[name]; ok && !given {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
