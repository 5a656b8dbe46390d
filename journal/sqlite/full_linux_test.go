package sqlite

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate gives a process its own mounts, as its own root.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// mountSmall puts a disk of one megabyte at dir.
func mountSmall(dir string) error {
	return syscall.Mount("small", dir, "tmpfs", 0, "size=1m,mode=700")
}
