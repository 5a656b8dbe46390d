//go:build linux || darwin

package program

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// drain is how long output is awaited from a process that has left the group
// of a program that has ended.
const drain = 250 * time.Millisecond

// ending says who ended a program.
type ending int

const (
	byItself ending = iota
	byTime
	byCaller
	unseen // someone else in this process took its exit status
)

// execution is a program's run.
type execution struct {
	exitCode       int
	signal         string
	ended          ending
	elapsed        time.Duration
	stdout, stderr capture
}

// execute runs argv until it ends or has to. An error means that it was never
// started.
func (p *programs) execute(ctx context.Context, argv []string, timeout time.Duration) (execution, error) {
	x := execution{stdout: capture{limit: p.config.MaxOutput}, stderr: capture{limit: p.config.MaxOutput}}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // the end of ctx ends the group, not only its leader
	cmd.Dir, cmd.Env = p.config.Dir, p.env
	cmd.Stdout, cmd.Stderr = &x.stdout, &x.stderr
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = drain

	// Linux takes the end of the thread that started a program for the end of
	// its host, so this thread stays until the program has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun := time.Now()
	if err := p.start(cmd); err != nil {
		return x, err
	}
	g := &group{leader: cmd.Process.Pid}
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.reap(cmd)
	}()
	if !waitFor(done, own.Done(), p.closed) {
		x.ended = byTime
		if own.Err() == nil || errors.Is(ctx.Err(), context.Canceled) {
			x.ended = byCaller
		}
		g.end(p.config.Grace, done, p.closed)
	}
	x.elapsed = time.Since(begun)
	x.settle(cmd.ProcessState)
	return x, nil
}

// start starts cmd unless the tool is closed.
func (p *programs) start(cmd *exec.Cmd) error {
	select {
	case <-p.closed:
		return os.ErrClosed
	default:
		return cmd.Start()
	}
}

// waitFor reports whether done came, or came too, when it stops waiting.
func waitFor(done, giveUp, closed <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-giveUp:
	case <-closed:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// settle notes how the program ended.
func (x *execution) settle(state *os.ProcessState) {
	if state == nil {
		x.exitCode, x.ended = -1, unseen
		return
	}
	x.exitCode = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		x.signal = status.Signal().String()
	}
}

// group is a process group that its leader's exit ends.
type group struct {
	leader int
	mu     sync.Mutex
	over   bool // the number may belong to another group by now
}

// end asks the group to end, and after the grace, or once the tool is closed,
// makes it.
func (g *group) end(grace time.Duration, done, closed <-chan struct{}) {
	g.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	case <-closed:
	}
	g.signal(syscall.SIGKILL)
	<-done
}

func (g *group) signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		// The one error left is that nobody is there any more.
		_ = syscall.Kill(-g.leader, sig)
	}
}

// sweep kills who is left of the group, for good.
func (g *group) sweep() {
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}
