package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a program into a group of its own, and let it die with its
// host.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the leader and ends the group before the leader's number,
// which is the group's too, is free to be used again. What Wait reports of the
// program is in its ProcessState; that some output was lost to the drain is no
// failure.
func (g *group) reap(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, g.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.sweep()
	_ = cmd.Wait()
}
