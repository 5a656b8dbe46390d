//go:build linux || darwin

package program

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/internal/sandbox"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Confinement is a way to confine programs.
type Confinement string

// The ways. Landlock and Bubblewrap are of Linux.
const (
	Unconfined Confinement = "none"
	Landlock   Confinement = "landlock"
	Bubblewrap Confinement = "bwrap"
)

// Sandbox says what programs may reach and use up: they read and run what is
// installed, change the working directory (Config.Dir), and have a place of
// their own for temporary files, which is their home and is gone afterwards.
// What it does not hold back is docs/sandbox.md. The zero value takes the best
// that the machine has, and denies the network.
//
// Each result says what held, as "landlock(abi 7): files, tcp, signals, limits"
// or "none".
type Sandbox struct {
	// Require refuses to start a program under anything but this. Unconfined or
	// empty: bubblewrap, or else Landlock, or else nothing.
	Require Confinement
	Network bool     // leave the network alone
	Read    []string // absolute paths besides, to read and to run
	Write   []string // absolute paths besides, to change
	Limits  Limits
}

// Limits bound what a program uses up, on Linux. 0: no limit but the host's.
type Limits struct {
	CPU       time.Duration // of one process, from 1 s to 12 h, rounded up to seconds
	Memory    int64         // bytes of address space of one process, at least 16 MiB
	FileSize  int64         // bytes of a file that is written
	Processes int           // beyond what the user runs already; root is not limited
	OpenFiles int           // of one process, at least 16
}

// The least of some limits: with less nothing starts.
const (
	minMemory    = 16 << 20
	minOpenFiles = 16
)

// check judges a sandbox. nil is none.
func (s *Sandbox) check() error {
	if s == nil {
		return nil
	}
	l := s.Limits
	absolute := func(paths []string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return !filepath.IsAbs(p) || hasNUL(p) })
	}
	switch {
	case !slices.Contains([]Confinement{"", Unconfined, Landlock, Bubblewrap}, s.Require):
		return configuration("a sandbox must require none, landlock or bwrap")
	case !absolute(s.Read), !absolute(s.Write):
		return configuration("the paths of a sandbox must be absolute")
	case l.CPU < 0, l.CPU > maxTimeout, l.CPU > 0 && l.CPU < time.Second:
		return configuration("the CPU limit of a sandbox must be from 1s to 12h")
	case l.Memory < 0, l.Memory > 0 && l.Memory < minMemory:
		return configuration("the memory limit of a sandbox must be at least 16 MiB")
	case l.FileSize < 0, l.Processes < 0:
		return configuration("the limits of a sandbox must not be negative")
	case l.OpenFiles < 0, l.OpenFiles > 0 && l.OpenFiles < minOpenFiles:
		return configuration("the limit of open files of a sandbox must be at least 16")
	}
	return nil
}

// plan is the sandbox in the terms of what makes it.
func (p *programs) plan(s *Sandbox) sandbox.Plan {
	l := s.Limits
	return sandbox.Plan{
		Require: sandbox.Kind(s.Require), Network: s.Network,
		Workspace: p.config.Dir, Read: s.Read, Write: s.Write, Protect: p.config.Protect,
		Limits: sandbox.Limits{
			CPU: int((l.CPU + time.Second - 1) / time.Second), Memory: l.Memory, FileSize: l.FileSize,
			Processes: l.Processes, OpenFiles: l.OpenFiles,
		},
	}
}

// Confiner is what the tool that New returns implements.
type Confiner interface {
	// Confinement says what would hold a program back, as its results would, or
	// why it would not be started. It starts nothing but what finds out what the
	// machine has. A program that is not configured is NOT_FOUND.
	Confinement(program string) (held string, err error)
}

var _ Confiner = (*programs)(nil)

// Confinement implements Confiner.
func (p *programs) Confinement(name string) (string, error) {
	entry, ok := p.config.Programs[name]
	if !ok {
		return "", &kernel.Error{Code: kernel.CodeNotFound, Message: "there is no program " + strconv.Quote(name), Hint: "name one of the configured ones"}
	}
	if entry.Sandbox == nil {
		return string(sandbox.None), nil
	}
	box, err := p.confine(entry, process.Command{Argv: entry.Argv, Dir: p.config.Dir, Env: p.env})
	if err != nil {
		return "", explainStart(name, err)
	}
	defer box.Close()
	return box.Held, nil
}

func (p *programs) confine(entry Entry, c process.Command) (*sandbox.Confined, error) {
	return p.machine().Confine(p.plan(entry.Sandbox), c, entry.Argv[1:]...)
}

// start runs a program in its sandbox, and says what held. An error means that
// it has not begun.
func (p *programs) start(ctx context.Context, entry Entry, c process.Command) (process.Result, string, error) {
	if entry.Sandbox == nil {
		r, err := c.Run(ctx)
		return r, string(sandbox.None), err
	}
	box, err := p.confine(entry, c)
	if err != nil {
		return process.Result{}, "", err
	}
	defer box.Close()
	r, err := box.Run(ctx)
	if err == nil {
		err = box.NeverBegan(r)
	}
	return r, box.Held, err
}

// explainBox is the failure of a program whose sandbox is not to be had; nil: of
// some other one.
func explainBox(name string, err error) error {
	var why, hint string
	if less, ok := errors.AsType[*sandbox.LessError](err); ok {
		why, hint = less.Error(), less.Hint
	} else if tmp, ok := errors.AsType[*sandbox.TemporaryError](err); ok {
		why, hint = tmp.Error(), "set TMPDIR to a folder that can be written to: a program gets a folder of its own there"
	} else {
		return nil
	}
	message := "program " + strconv.Quote(name) + " was not started: " + why
	return &tool.Error{
		Code: kernel.CodeConfiguration, Disposition: kernel.DidNotHappen, Message: message + ". " + hint,
		Err: &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: hint},
	}
}
