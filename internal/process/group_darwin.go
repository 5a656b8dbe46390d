package process

import (
	"os/exec"
	"syscall"
)

// attributes put a program into a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the leader and ends the group. The system has no way to wait
// without freeing the leader's number; while others of the group live it stays
// theirs. What Wait reports of the program is in its ProcessState; that some
// output was lost to the drain is no failure.
func (g *group) reap(cmd *exec.Cmd) {
	_ = cmd.Wait()
	g.sweep()
}
