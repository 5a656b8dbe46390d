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
	out.Env = setEnv(setEnv(out.Env, "TMPDIR", boxTmp), "HOME", boxHome)
	args := append(slices.Concat([]string{m.bwrap, "--json-status-fd", strconv.Itoa(statusFile)}, box(p, r)), "--chdir", out.Dir, "--", r.program)
	out.Argv = append(args, out.Argv[1:]...)
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
func box(p Plan, r *reach) []string {
	args := []string{
		"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
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
		args = append(args, show(path)...)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", boxTmp, "--dir", boxHome)
	for _, path := range r.read {
		args = append(args, "--ro-bind", resolved(path), path)
	}
	for _, path := range slices.Backward(r.write) {
		args = append(args, "--bind", path, path)
	}
	for _, path := range hidden(r) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		} else if err == nil {
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return append(args, "--remount-ro", "/")
}

// show has a system path in its place: a link stays one.
func show(path string) []string {
	if target, err := os.Readlink(path); err == nil && filepath.Dir(path) == "/" {
		return []string{"--symlink", target, path}
	}
	return []string{"--ro-bind", resolved(path), path}
}

// hidden are the protected paths that are in reach, those in another one left
// out.
func hidden(r *reach) []string {
	var found []string
	for _, path := range slices.Sorted(slices.Values(r.protect)) {
		if covers(slices.Concat(r.system, r.read, r.write), path) && !covers(found, path) {
			found = append(found, path)
		}
	}
	return found
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
		m.NoBwrap = err
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
