package skill_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-run/holdfast/tool/skill"
)

// An installation that is killed before any one of its changes to the disk leaves
// the old skill or the new one, each of them whole, and nothing that the next
// installation minds.
func TestKilledInstallation(t *testing.T) {
	for name, replace := range map[string]bool{"new": false, "in the place of another": true} {
		t.Run(name, func(t *testing.T) {
			fresh := write(t, zipped(t, append([]entry{{name: "one/new", text: "new"}}, good...)...))
			var changes []string
			for n := 1; ; n++ {
				dir, before := t.TempDir(), ""
				if replace {
					old, _, err := skill.Install(t.Context(), write(t, zipped(t, good...)), dir, skill.InstallOptions{})
					if err != nil {
						t.Fatal(err)
					}
					before = old.Digest
				}
				change, killed := killAt(t, n, fresh, dir)
				if !killed {
					break
				}
				changes = append(changes, change)
				afterKill(t, change, before, fresh, dir)
			}
			if len(changes) < 10 || replace != slices.Contains(changes, "renameat2") {
				t.Errorf("it was killed before %q", changes)
			}
		})
	}
}

// afterKill looks at a folder of skills as a killed installation left it.
func afterKill(t *testing.T, change, before, archive, dir string) {
	t.Helper()
	found := ""
	for _, e := range open(t, dir).Entries() {
		if e.Name != "one" || e.State != skill.OK {
			t.Fatalf("killed before %s, it left %+v", change, e)
		}
		found = e.Skill.Digest
	}
	long := time.Now().Add(-48 * time.Hour)
	drafts, err := filepath.Glob(filepath.Join(dir, ".install-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, draft := range drafts {
		if err := os.Chtimes(draft, long, long); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := skill.Install(t.Context(), archive, dir, skill.InstallOptions{Replace: true})
	if err != nil || left(t, dir) != "one" {
		t.Fatalf("killed before %s, the next one: %v, it left %q", change, err, left(t, dir))
	}
	if found != before && found != s.Digest {
		t.Errorf("killed before %s, it left a mixture", change)
	}
}

// killAt installs an archive in another process, which is killed before the n-th
// of its changes to the disk. It was not killed where it makes fewer.
func killAt(t *testing.T, n int, archive, dir string) (change string, killed bool) {
	t.Helper()
	runtime.LockOSThread() // who traces a process is a thread
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{archiveVariable + "=" + archive, folderVariable + "=" + dir, "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := &traced{pid: cmd.Process.Pid, left: n, inside: map[int]bool{}}
	for over := false; !over; {
		over = child.next(t)
	}
	if child.left > 0 && child.status.ExitStatus() != 0 {
		t.Fatalf("the installation ended with %d", child.status.ExitStatus())
	}
	return child.last, child.left == 0
}

// traced is a process that stops before and after each of its system calls.
type traced struct {
	pid    int
	left   int          // changes to the disk, the last of which it does not live to make
	last   string       // of them
	set    bool         // to trace its threads too
	inside map[int]bool // threads that are in a system call
	status syscall.WaitStatus
}

// next lets one thread go on from where it has stopped, until the process is over.
func (c *traced) next(t *testing.T) (over bool) {
	t.Helper()
	var status syscall.WaitStatus
	thread, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
	signal := 0
	switch s := status.StopSignal(); {
	case err != nil:
		t.Fatal(err)
	case !status.Stopped():
		c.status = status
		return thread == c.pid
	case !c.set:
		c.set = true
		if err := syscall.PtraceSetOptions(c.pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
			t.Fatal(err)
		}
	case s == syscall.SIGTRAP|0x80:
		if c.inside[thread] = !c.inside[thread]; c.inside[thread] {
			c.count(t, changeOf(thread))
		}
	case s != syscall.SIGTRAP && s != syscall.SIGSTOP:
		signal = int(s)
	}
	if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	return false
}

// count kills the process when it is about to make its last change.
func (c *traced) count(t *testing.T, change string) {
	t.Helper()
	if change == "" || c.left == 0 {
		return
	}
	c.last = change
	if c.left--; c.left > 0 {
		return
	}
	if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// changeOf names the system call that a thread is about to make, if it changes
// what is on the disk.
func changeOf(thread int) string {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(thread, &r) != nil {
		return "" // it is gone
	}
	if r.Orig_rax == unix.SYS_OPENAT && r.Rdx&unix.O_CREAT == 0 {
		return ""
	}
	return map[uint64]string{
		unix.SYS_OPENAT: "openat", unix.SYS_MKDIRAT: "mkdirat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_FSYNC: "fsync", unix.SYS_RENAME: "rename",
		unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_MKDIR: "mkdir", unix.SYS_RMDIR: "rmdir", unix.SYS_UNLINK: "unlink",
	}[r.Orig_rax]
}
