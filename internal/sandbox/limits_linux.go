package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resources are the limits in the system's terms. No program leaves a dump of
// its memory.
func (l Limits) resources() map[int]uint64 {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	for resource, most := range map[int]int64{
		unix.RLIMIT_CPU:    int64(l.CPU),
		unix.RLIMIT_AS:     l.Memory,
		unix.RLIMIT_FSIZE:  l.FileSize,
		unix.RLIMIT_NOFILE: int64(l.OpenFiles),
	} {
		if most > 0 {
			limits[resource] = uint64(most)
		}
	}
	if l.Processes > 0 {
		limits[unix.RLIMIT_NPROC] = threads(os.Getuid()) + uint64(l.Processes)
	}
	return limits
}

// threads counts those of a user: the system's limit is on all of them.
func threads(uid int) uint64 {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	var n uint64
	for _, dir := range processes {
		info, err := os.Stat(dir)
		if err != nil {
			continue // it has ended
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
			continue
		}
		n += threadsOf(dir)
	}
	return n
}

func threadsOf(dir string) uint64 {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if count, ok := strings.CutPrefix(line, "Threads:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 1
}
