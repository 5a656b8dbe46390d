package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock by what they are for.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readAny  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// What a file itself can be granted; the rest is for what a folder holds.
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeAny  = writeFile | readAny | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	// What nobody is granted: a device would be a way around all of this.
	withheld = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// The versions that brought what is not in the first.
const (
	abiRefer    = 2
	abiTruncate = 3
	abiIoctl    = 5
	abiScope    = 6
)

// fixedSignals is the bit of LANDLOCK_CREATE_RULESET_ERRATA that says that a
// confined thread may signal the other threads of its process, as the Go runtime
// does.
const fixedSignals = 1 << 1

// lookLandlock asks the kernel for its version.
func (m *Machine) lookLandlock() {
	abi, err := createRuleset(nil, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errors.Is(err, unix.ENOSYS):
		m.NoLandlock = errors.New("this kernel has no Landlock")
	case errors.Is(err, unix.EOPNOTSUPP):
		m.NoLandlock = errors.New("this kernel has Landlock switched off")
	case err != nil:
		m.NoLandlock = fmt.Errorf("this kernel refuses Landlock: %w", err)
	default:
		m.ABI = abi
		errata, err := createRuleset(nil, unix.LANDLOCK_CREATE_RULESET_ERRATA)
		m.signals = abi >= abiScope && err == nil && errata&fixedSignals != 0
	}
}

// The devices and the facts about the machine that programs want. Of /proc that
// is what speaks of no process.
func deviceFiles() []string {
	return existing([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
}

func machineFiles() []string {
	return existing([]string{
		"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel/cap_last_cap",
		"/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/random",
		"/proc/sys/kernel/threads-max", "/proc/sys/vm/max_map_count", "/proc/sys/vm/overcommit_memory", "/proc/uptime", "/proc/version",
		"/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
	})
}

// landlock takes the rights from the thread that is to start the program.
func (m *Machine) landlock(p Plan, r *reach, out *Confined) error {
	tmp, err := out.lend()
	if err != nil {
		return err
	}
	out.Env = setEnv(setEnv(out.Env, "TMPDIR", tmp), "HOME", tmp)
	set, err := m.ruleset(p, r, tmp)
	if err != nil {
		return fmt.Errorf("the rules of Landlock: %w", err)
	}
	out.release = append(out.release, func() { _ = unix.Close(set) })
	out.Thread = func() error { return restrict(set) }
	out.Held = m.heldByLandlock(p, r.leaks)
	return nil
}

func (m *Machine) heldByLandlock(p Plan, leaks bool) string {
	held := []string{"files"}
	var without []string
	if m.ABI < abiTruncate {
		without = append(without, "truncation")
	}
	if leaks {
		without = append(without, "the host's own in reach")
	}
	if len(without) > 0 {
		held[0] += " (without " + strings.Join(without, ", ") + ")"
	}
	if !p.Network && m.ABI >= abiTCP {
		held = append(held, "tcp")
	}
	if m.signals {
		held = append(held, "signals")
	}
	return "landlock(abi " + strconv.Itoa(m.ABI) + "): " + strings.Join(held, ", ")
}

// ruleset returns the descriptor of the rules.
func (m *Machine) ruleset(p Plan, r *reach, tmp string) (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: m.known(writeAny | withheld | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)}
	if !p.Network && m.ABI >= abiTCP {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if m.ABI >= abiScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if m.signals {
		attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
	}
	set, err := createRuleset(&attr, 0)
	if err != nil {
		return 0, err
	}
	for _, granted := range []struct {
		paths []string
		right uint64
	}{
		{r.system, readAny}, {r.read, readAny}, {machineFiles(), readAny},
		{r.write, writeAny}, {[]string{tmp}, writeAny}, {deviceFiles(), writeFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		for _, path := range granted.paths {
			if err := allow(set, path, m.known(granted.right)); err != nil {
				_ = unix.Close(set)
				return 0, &os.PathError{Op: "allow", Path: path, Err: err}
			}
		}
	}
	return set, nil
}

// known are those of rights that the kernel's version knows of.
func (m *Machine) known(rights uint64) uint64 {
	for abi, right := range map[int]uint64{
		abiRefer: unix.LANDLOCK_ACCESS_FS_REFER, abiTruncate: unix.LANDLOCK_ACCESS_FS_TRUNCATE, abiIoctl: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if m.ABI < abi {
			rights &^= right
		}
	}
	return rights
}

// allow adds the rights on path, as far as they make sense on a file. What is
// gone by now needs none.
func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= writeFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // a struct of this call
	return failure(errno)
}

func createRuleset(attr *unix.LandlockRulesetAttr, flags uintptr) (int, error) {
	var size uintptr
	if attr != nil {
		size = unsafe.Sizeof(*attr)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, flags) //nolint:gosec // a struct of the caller's
	return int(fd), failure(errno)
}

// restrict takes the rights from the calling thread, for good, and what only
// root may do.
func restrict(set int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0)
	return failure(errno)
}

// dropCapabilities leaves root the one to pass over the modes of files, so that
// a workspace of somebody else's stays one. Without new privileges no program
// gets the others back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	kept := data[0].Permitted & (1 << unix.CAP_DAC_OVERRIDE)
	data[0] = unix.CapUserData{Effective: kept, Permitted: kept}
	data[1] = unix.CapUserData{}
	return unix.Capset(&header, &data[0])
}

func failure(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
