package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/internal/process"
)

// home is where a program under bubblewrap has its home and its temporary
// files, in memory.
const (
	boxTmp  = "/tmp"
	boxHome = "/tmp/home"
)

// statusFile is the number of the file that bubblewrap writes its status to.
const statusFile = 3

// bubblewrap puts bwrap before the program.
func (m *Machine) bubblewrap(p Plan, r *reach, out *Confined) error {
	status, err := newStatus()
	if err != nil {
		return err
	}
	out.status = status
	out.release = append(out.release, status.close)
	out.Files = []*os.File{status.theirs}
	out.Env = setEnv(setEnv(out.Env, "TMPDIR", boxTmp), "HOME", r.home())
	// Of a folder that is a link only what it leads to is there. What the
	// program's own name leads to is left to the program.
	program := filepath.Join(resolved(filepath.Dir(r.program)), filepath.Base(r.program))
	args := slices.Concat([]string{m.bwrap, "--json-status-fd", strconv.Itoa(statusFile)}, box(p, r, out))
	out.Argv = slices.Concat(args, []string{"--chdir", resolved(out.Dir), "--", program}, out.Argv[1:])
	out.Wrapper = true
	out.Held = heldByBubblewrap(p)
	return nil
}

func heldByBubblewrap(p Plan) string {
	if p.Network {
		return "bwrap: files, processes"
	}
	return "bwrap: files, network, processes"
}

// box are the arguments that make the place for the program.
func box(p Plan, r *reach, out *Confined) []string {
	args := []string{
		"--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL",
	}
	if os.Geteuid() == 0 {
		// A workspace of somebody else's stays one.
		args = append(args, "--cap-add", "CAP_DAC_OVERRIDE")
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, path := range r.system {
		args = append(args, r.show(path, out)...)
	}
	wide, narrow := r.mounts()
	args = append(append(args, wide...), "--proc", "/proc", "--dev", "/dev")
	if os.Geteuid() == 0 {
		// The settings of the machine are files that root may write without any
		// capability, and bubblewrap takes their folder for one that nobody may.
		args = append(args, "--remount-ro", "/proc")
	}
	if !covers(r.write, boxTmp) {
		args = append(args, "--tmpfs", boxTmp, "--dir", boxHome)
	}
	args = append(args, narrow...)
	for _, path := range hidden(r) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		} else if err == nil {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	if !covers(r.write, "/") {
		args = append(args, "--remount-ro", "/")
	}
	return args
}

// home is a folder in memory, unless the program may change all temporary files.
func (r *reach) home() string {
	if covers(r.write, boxTmp) {
		return boxTmp
	}
	return boxHome
}

// mounts are the paths of the plan, what holds others before them: wide are
// those that hold the places which bubblewrap makes anew.
func (r *reach) mounts() (wide, narrow []string) {
	for _, group := range []struct {
		how   string
		paths []string
	}{{"--ro-bind-try", r.read}, {"--bind", r.write}} {
		for _, path := range slices.Sorted(slices.Values(group.paths)) {
			mount := []string{group.how, resolved(path), path}
			if within(boxTmp, path) || within("/proc", path) || within("/dev", path) {
				wide = append(wide, mount...)
			} else {
				narrow = append(narrow, mount...)
			}
		}
	}
	return wide, narrow
}

// maxCopied bounds a file that is copied, in bytes.
const maxCopied = 128 << 10

// show has a system path in its place. A mount costs a fifth of a millisecond,
// so a link to another such path stays a link, and a small file becomes a copy.
func (r *reach) show(path string, out *Confined) []string {
	target := resolved(path)
	if target != path && covers(r.system, target) {
		return []string{"--symlink", target, path}
	}
	if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() && info.Size() <= maxCopied {
		if file, err := os.Open(target); err == nil {
			out.release = append(out.release, func() { _ = file.Close() })
			out.Files = append(out.Files, file)
			return []string{"--file", strconv.Itoa(statusFile + len(out.Files) - 1), path}
		}
	}
	return []string{"--ro-bind-try", target, path}
}

// hidden are the protected paths that are in reach, those in another one left
// out.
func hidden(r *reach) []string {
	return slices.DeleteFunc(outermost(r.protect), func(path string) bool {
		return !covers(slices.Concat(r.system, r.read, r.write), path)
	})
}

// lookBubblewrap tries whether bwrap does its work here: that needs user
// namespaces, which not every system permits.
func (m *Machine) lookBubblewrap(try func(process.Command) error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		m.NoBwrap = errors.New("bubblewrap (bwrap) is not installed")
		return
	}
	if path, err = filepath.Abs(path); err != nil {
		m.NoBwrap = err
		return
	}
	dir, err := os.MkdirTemp("", "holdfast-look-")
	if err != nil {
		m.NoBwrap = noTemporary(err)
		return
	}
	defer func() { _ = os.Remove(dir) }()
	probe := *m
	probe.bwrap = path
	c, err := probe.Confine(Plan{Require: Bubblewrap, Workspace: dir}, process.Command{Argv: []string{"true"}, Dir: dir, Env: process.Environment(nil), MaxOutput: 1 << 10})
	if err == nil {
		defer c.Close()
		err = try(c.Command)
	}
	if err != nil {
		m.NoBwrap = errors.New("bubblewrap (bwrap) does not work here: " + err.Error())
		return
	}
	m.bwrap = path
}

// status is what bubblewrap says of its work.
type status struct{ ours, theirs *os.File }

func newStatus() (*status, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &status{ours, theirs}, nil
}

func (s *status) close() { _, _ = s.theirs.Close(), s.ours.Close() }

// read returns what was said. Nobody holds the pipe open but bubblewrap, which
// has ended.
func (s *status) read() string {
	_ = s.theirs.Close()
	_ = s.ours.SetReadDeadline(time.Now().Add(process.Drain))
	said, err := io.ReadAll(s.ours)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	return string(said)
}

// NeverBegan says why the program of a run that returned r was never executed;
// nil: it was, or nobody knows.
func (c *Confined) NeverBegan(r process.Result) error {
	if c.status == nil || r.Ended != process.ByItself || r.ExitCode != 1 || strings.Contains(c.status.read(), `"exit-code"`) {
		return nil
	}
	return errors.New(strings.TrimSpace(r.Stderr.Last(300)))
}
