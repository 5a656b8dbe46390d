//go:build linux || darwin

// Package sandbox confines the programs that are started: the files that they
// reach, the network, and what they may use up.
//
// There are two ways, both of Linux. Landlock takes rights from the thread that
// starts a program, which inherits that: nothing stands between host and
// program, and a library needs no helper. Bubblewrap (bwrap) is a program that
// gives another one a file system, processes and a network of its own. What
// each holds back, and what it does not, is docs/sandbox.md.
package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/internal/room"
)

// Kind is a way to confine a program.
type Kind string

// The kinds.
const (
	None       Kind = "none"
	Landlock   Kind = "landlock"
	Bubblewrap Kind = "bwrap"
)

// Plan says what a program may reach.
type Plan struct {
	// Require refuses to start a program with less than a kind, which is then
	// the one that is used. None and empty: the best that there is.
	Require Kind
	Network bool // leave the network alone
	// Workspace is the one place that the program may change, but for Write. It
	// is absolute, as are the following.
	Workspace string
	Read      []string // more to read and to run
	Write     []string // more to change
	Protect   []string // not to be reached, wherever it lies
	Limits    Limits
}

// Limits are what a program may use up. 0: as much as the host.
type Limits struct {
	CPU       int   // seconds of a process
	Memory    int64 // bytes of address space of a process
	FileSize  int64 // bytes of a file that is written
	Processes int   // threads that the user may have beyond those of now; root has no limit
	OpenFiles int   // of a process
}

// Machine is what a machine offers.
type Machine struct {
	ABI     int  // of Landlock; 0: there is none
	signals bool // Landlock can hold back signals from a thread of this process
	bwrap   string
	system  []string // see systemPaths
	// NoLandlock and NoBwrap say why one is not to be had; nil: it is.
	NoLandlock, NoBwrap error
	NoLimits            error // why no limit can be set
}

// Confined is a program that is ready to be started, once. Close it afterwards.
type Confined struct {
	process.Command
	Held string // what holds: "landlock(abi 7): files, tcp, signals", "none"

	release []func()
	status  *status
}

// Close removes what the program was lent.
func (c *Confined) Close() {
	for _, f := range slices.Backward(c.release) {
		f()
	}
	c.release = nil
}

// LessError says that the machine does not offer what a plan requires.
type LessError struct {
	Kind Kind
	Why  string
	Hint string
}

func (e *LessError) Error() string {
	return "the sandbox requires " + string(e.Kind) + ", and " + e.Why
}

// TemporaryError says that there is no place for a program's temporary files. It
// hides the system's error, which is about no file of the program's.
type TemporaryError struct {
	Dir string // which TMPDIR names, or the system's own
	Why string
}

func (e *TemporaryError) Error() string {
	return "the temporary folder " + strconv.Quote(e.Dir) + " cannot be written to: " + e.Why
}

func noTemporary(err error) error {
	why := err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		why = errno.Error()
	}
	if full, _ := room.Why(err); full != "" {
		why = full
	}
	return &TemporaryError{Dir: os.TempDir(), Why: why}
}

// Confine makes c a program under the plan, or fails with a *LessError, or with a
// *TemporaryError. The
// program is looked up as c would be. granted are files besides that it may
// read.
func (m *Machine) Confine(p Plan, c process.Command, granted ...string) (*Confined, error) {
	reach, err := m.reach(p, c, granted)
	if err != nil {
		return nil, err
	}
	out := &Confined{Command: c}
	kind := m.choose(p)
	if err := m.enough(p, kind); err != nil {
		return nil, err
	}
	switch kind {
	case Landlock:
		err = m.landlock(p, reach, out)
	case Bubblewrap:
		err = m.bubblewrap(p, reach, out)
	default:
		out.Held = string(None)
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	m.limit(p.Limits, out)
	return out, nil
}

// choose returns the kind to be used: that which is required, if it is to be
// had, else the one that holds back more. Landlock that leaves the
// network open where it is not to be is less than what was required.
func (m *Machine) choose(p Plan) Kind {
	landlock := m.NoLandlock == nil && (p.Network || m.ABI >= abiTCP)
	switch p.Require {
	case Landlock:
		if landlock {
			return Landlock
		}
	case Bubblewrap:
		if m.NoBwrap == nil {
			return Bubblewrap
		}
	default:
		if m.NoBwrap == nil {
			return Bubblewrap
		}
		if m.NoLandlock == nil {
			return Landlock
		}
	}
	return None
}

// abiTCP is the first version of Landlock that knows of the network.
const abiTCP = 4

// enough refuses a plan that requires a kind and would have less: another one, or
// not the limits that it sets.
func (m *Machine) enough(p Plan, kind Kind) error {
	switch {
	case p.Require == None || p.Require == "":
		return nil
	case kind != p.Require:
		return m.less(p)
	case p.Limits != (Limits{}) && m.NoLimits != nil:
		return &LessError{
			Kind: p.Require, Why: "the limits that are set cannot be had: " + m.NoLimits.Error(),
			Hint: "let this process use ptrace, or take sandbox.limits out",
		}
	}
	return nil
}

func (m *Machine) less(p Plan) error {
	e := &LessError{Kind: p.Require, Hint: "holdfast doctor says what this machine has; sandbox: {require: none} takes the best of that"}
	switch {
	case p.Require == Bubblewrap:
		e.Why = m.NoBwrap.Error()
	case m.NoLandlock != nil:
		e.Why = m.NoLandlock.Error()
	default:
		e.Why = "its version here, " + strconv.Itoa(m.ABI) + ", cannot hold back TCP, which needs " + strconv.Itoa(abiTCP) + " (Linux 6.7)"
	}
	return e
}

// String says what the machine has, in words for people.
func (m *Machine) String() string {
	words := make([]string, 0, 3)
	for _, part := range []struct {
		there   string
		missing error
	}{{"bubblewrap", m.NoBwrap}, {"Landlock version " + strconv.Itoa(m.ABI), m.NoLandlock}, {"resource limits", m.NoLimits}} {
		if part.missing != nil {
			part.there = "not there: " + part.missing.Error()
		}
		words = append(words, part.there)
	}
	return strings.Join(words, "; ")
}

// limit adds the limits and says so. Where nothing is required and none can be
// set, none is, and nothing is said.
func (m *Machine) limit(l Limits, out *Confined) {
	limits := l.resources()
	if len(limits) == 0 || m.NoLimits != nil {
		return
	}
	out.Limits = limits
	if out.Held == string(None) {
		out.Held += ": limits"
	} else {
		out.Held += ", limits"
	}
}

// lend makes a directory for the program's temporary files, which is gone after
// it. It is its home, too: tools that keep a cache there work.
func (c *Confined) lend() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-program-")
	if err != nil {
		return "", noTemporary(err)
	}
	c.release = append(c.release, func() { _ = removeAll(dir) })
	return filepath.EvalSymlinks(dir)
}

// removeAll removes a tree whose folders may have been made unwritable.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // a folder is to be searched
		}
		return err
	})
	return os.RemoveAll(dir)
}

// setEnv returns env in which name has the value.
func setEnv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	return append(env, name+"="+value)
}

func lookEnv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
