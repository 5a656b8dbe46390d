//go:build linux || darwin

package process

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// group is the process group of a program, which its leader's exit ends.
type group struct {
	leader int
	spared bool // asked to end by its own children's end alone
	begun  time.Time
	done   chan struct{} // closed once the leader was reaped, and the rest killed

	// Written before done is closed.
	state   *os.ProcessState
	elapsed time.Duration

	outputs []*output // to be hurried then

	mu   sync.Mutex
	over bool // the number may belong to another group by now
}

// group is the one of a program that is about to be started.
func (c Command) group() *group {
	return &group{done: make(chan struct{}), spared: c.Wrapper}
}

// launch starts cmd as the leader of g and reaps it once it ends.
func (c Command) launch(cmd *exec.Cmd, g *group) error {
	started := make(chan error, 1)
	go c.drive(cmd, g, started)
	return <-started
}

// drive starts and reaps on one thread. Linux takes the end of the thread that
// started a program for the end of its host, so this thread stays until the
// program has ended. One whose rights were changed is never used again: it ends
// with this goroutine, which leaves it locked.
func (c Command) drive(cmd *exec.Cmd, g *group, started chan<- error) {
	runtime.LockOSThread()
	if c.Thread == nil {
		defer runtime.UnlockOSThread()
	} else if isMainThread() {
		// The main thread cannot end, so it is kept from the goroutine that takes
		// over until that has another one.
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere)
			c.drive(cmd, g, started)
		}()
		<-elsewhere
		runtime.UnlockOSThread()
		return
	}
	g.begun = time.Now()
	err := c.start(cmd)
	if err == nil {
		g.leader = cmd.Process.Pid
		err = c.limit(g)
	}
	started <- err
	if g.leader == 0 {
		return
	}
	g.reap(cmd)
	g.state, g.elapsed = cmd.ProcessState, time.Since(g.begun)
	close(g.done)
	for _, o := range g.outputs {
		o.hurry()
	}
}

func (c Command) start(cmd *exec.Cmd) error {
	select {
	case <-c.Kill:
		return os.ErrClosed
	default:
	}
	if c.Thread != nil {
		if err := c.Thread(); err != nil {
			return err
		}
	}
	return cmd.Start()
}

// limit sets the limits of a program that was started but has not begun, and
// lets it begin. Where that fails it never does.
func (c Command) limit(g *group) error {
	if len(c.Limits) == 0 {
		return nil
	}
	err := release(g.leader, c.Limits)
	if err != nil {
		g.signal(syscall.SIGKILL)
	}
	return err
}

// result is that of a group that is done.
func (g *group) result(ended Ending) Result {
	r := Result{Ended: ended, Elapsed: g.elapsed}
	r.settle(g.state)
	return r
}

// end asks the group to end, and after the grace, or once kill is closed, makes
// it.
func (g *group) end(grace time.Duration, kill <-chan struct{}) {
	if grace > 0 {
		g.ask()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-g.done:
			return
		case <-timer.C:
		case <-kill:
		}
	}
	g.signal(syscall.SIGKILL)
	<-g.done
}

// ask sends SIGTERM.
func (g *group) ask() {
	if !g.spared {
		g.signal(syscall.SIGTERM)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		askOthers(g.leader)
	}
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
