package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// incarnation tells a process from a later one of the same id: a digest of the
// machine's boot and of the namespace that process ids mean something in, and
// the tick at which the process began, or nothing for one that is dead and only
// not yet waited for. Empty for one that is not there, or not to be seen.
func incarnation(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// Behind the name, which may hold anything, come the state and, as the 20th
	// field from there, the start.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	began := fields[19]
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		began = nil
	}
	world := sha256.Sum256(append(boot, space...))
	return hex.EncodeToString(world[:4]) + "." + string(began)
}

// absent reports that there is no such process: also one of another user, whom
// the system may hide from /proc, is known by that.
func absent(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
