package process

import (
	"errors"
	"os/exec"
	"syscall"
)

// attributes put a program into a session and group of its own.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// isMainThread: no thread's rights can be changed here.
func isMainThread() bool { return false }

func release(int, map[int]uint64) error { return errors.ErrUnsupported }

func askOthers(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// reap waits for the leader and ends the group. The system has no way to wait
// without freeing the leader's number; while others of the group live it stays
// theirs. What Wait reports of the program is in its ProcessState; that some
// output was lost to the drain is no failure.
func (g *group) reap(cmd *exec.Cmd) {
	_ = cmd.Wait()
	g.sweep()
}
