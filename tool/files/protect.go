//go:build linux || darwin

package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// guard knows the files that belong to the host. The zero value knows none.
//
// A file is known by its path, with the links on the way to it resolved, and
// by what it is: under another name (a hard link, another spelling on a file
// system that folds case) it is the same file. Paths are compared without case,
// since one that is not there yet has nothing else to be known by.
type guard struct {
	paths []string // absolute, the part that exists without symbolic links
}

func newGuard(protect []string) (guard, error) {
	var g guard
	for _, p := range protect {
		if !filepath.IsAbs(p) {
			return guard{}, &kernel.Error{
				Code: kernel.CodeConfiguration, Message: "a protected path is not absolute: " + strconv.Quote(p),
			}
		}
		p = filepath.Clean(p)
		g.paths = append(g.paths, p)
		if resolved := resolveExisting(p); resolved != p {
			g.paths = append(g.paths, resolved)
		}
	}
	return g, nil
}

// resolveExisting resolves the symbolic links of the part of a path that
// exists.
func resolveExisting(p string) string {
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(resolved, rest)
		}
		if dir == filepath.Dir(dir) {
			return p
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// covers reports whether an absolute path without links is protected, by its
// spelling alone.
func (g guard) covers(name string) bool {
	for _, p := range g.paths {
		if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) &&
			(len(name) == len(p) || name[len(p)] == '/' || p == "/") {
			return true
		}
	}
	return false
}

// held is what of the protected paths is there, at one moment.
type held []struct {
	path string
	info fs.FileInfo
}

func (g guard) look() held {
	h := make(held, len(g.paths))
	n := 0
	for _, p := range g.paths {
		if info, err := os.Stat(p); err == nil { // else there is nothing to be the same file
			h[n].path, h[n].info = p, info
			n++
		}
	}
	return h[:n]
}

// has reports whether something that exists is one of the protected files, or
// lies in a protected directory under any of its names.
func (h held) has(info fs.FileInfo) bool {
	for _, own := range h {
		if os.SameFile(own.info, info) || own.info.IsDir() && severalNames(info) && within(own.path, info) {
			return true
		}
	}
	return false
}

// severalNames reports whether a file has more than one hard link.
func severalNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && (!ok || stat.Nlink > 1)
}

// within reports whether a directory holds the same file, at any depth. What
// cannot be looked at might.
func within(dir string, info fs.FileInfo) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() {
			return nil
		}
		other, err := e.Info()
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(other, info) {
			return found
		}
		return nil
	}) != nil
}

// allow refuses a place that is the host's: a protected file, one below a
// protected directory, or a draft of a write. name is what the model calls it.
func (w *Workspace) allow(name string, at place) error {
	h := w.guard.look()
	if isDraft(path.Base(at.name)) || w.guard.covers(filepath.Join(w.real, at.name)) ||
		at.info != nil && h.has(at.info) || w.below(h, at.name) {
		return belongsToHost(name)
	}
	return nil
}

// below reports whether one of the directories above a place is protected
// under another spelling.
func (w *Workspace) below(h held, name string) bool {
	for dir := path.Dir(name); len(h) > 0; dir = path.Dir(dir) {
		if info, err := w.root.Lstat(dir); err == nil && h.has(info) {
			return true
		}
		if dir == "." {
			break
		}
	}
	return false
}

func belongsToHost(name string) error {
	return invalid(strconv.Quote(name) + " belongs to the host; the file tools do not reach it")
}
