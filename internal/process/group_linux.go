package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a program into a session and group of its own, let it die with
// its host, and make a held one wait before its first instruction.
func attributes(held bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Ptrace: held}
}

func isMainThread() bool { return unix.Gettid() == unix.Getpid() }

// release limits a program that is held before its first instruction, and lets
// it go. It must be called by the thread that started it.
func release(pid int, limits map[int]uint64) error {
	if err := await(pid, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT); err != nil {
		return err
	}
	for resource, most := range limits {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return err
		}
	}
	return syscall.PtraceDetach(pid)
}

// askOthers sends SIGTERM to those of a group that do not lead it. Who joins it
// meanwhile is not asked, and has the grace to end by itself.
func askOthers(leader int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == leader {
			continue
		}
		if group, err := unix.Getpgid(pid); err == nil && group == leader {
			_ = unix.Kill(pid, unix.SIGTERM) // it may have ended
		}
	}
}

// reap waits for the leader and ends the group before the leader's number,
// which is the group's too, is free to be used again. What Wait reports of the
// program is in its ProcessState; that some output was lost to the drain is no
// failure.
func (g *group) reap(cmd *exec.Cmd) {
	_ = await(g.leader, unix.WEXITED|unix.WNOWAIT) // else Wait waits
	g.sweep()
	_ = cmd.Wait()
}

func await(pid, options int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
