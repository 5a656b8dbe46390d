//go:build linux || darwin

// Package files is three tools for the files of one directory, the workspace:
// list_files, read_file and write_file. Nothing outside it can be reached, by
// no path and no symbolic link, also while links change: every access goes
// through an os.Root. Files that belong to the host can be protected from the
// tools, also inside.
package files

import (
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// The tools' names.
const (
	ListName  = "list_files"
	ReadName  = "read_file"
	WriteName = "write_file"
)

// Bounds of the tools. A result that keeps to them fits into maxResult, even
// where JSON needs six bytes for one.
const (
	MaxEntries = 500       // entries of a listing
	maxListing = 32 << 10  // bytes of a listing
	MaxRead    = 32 << 10  // bytes shown of a file: its head and its tail
	MaxContent = 1 << 20   // bytes of a file to write
	MaxPath    = 1024      // bytes of a path
	maxHashed  = 256 << 20 // bytes of a replaced file whose digest is taken
	maxResult  = 256 << 10
	timeout    = 30 * time.Second
)

// Workspace is an open directory and the three tools for it. It is safe for
// concurrent use.
type Workspace struct {
	List, Read, Write tool.Tool

	root  *os.Root
	real  string // absolute, without symbolic links
	guard guard
}

// Options say what of a workspace the tools leave alone. The zero value is
// ready.
type Options struct {
	// Protect are absolute paths of files and directories that belong to the
	// host, such as its configuration and its journal; they need not exist yet.
	// A directory stands for all that is below it. The tools neither read,
	// write nor list them, under whatever name: links of both kinds are seen
	// through, and case does not count. The rule is about these tools: a
	// program that may run is not bound by it.
	Protect []string
}

// Open opens a directory, which must exist. It removes the drafts that writes
// left behind when they were killed, a week or more ago, among the first 10,000
// entries. A directory that cannot be opened and a relative path in
// Protect are CONFIGURATION.
func Open(dir string, o Options) (*Workspace, error) {
	refuse := func(err error) error {
		return &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: "the workspace cannot be opened: " + reason(err),
			Hint:    "create the directory, or name another one as the workspace",
			Err:     err,
		}
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, refuse(err)
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil, refuse(err)
	}
	guard, err := newGuard(o.Protect)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, refuse(err)
	}
	w := &Workspace{root: root, real: resolved, guard: guard}
	if err := w.define(); err != nil {
		_ = root.Close()
		return nil, err
	}
	w.sweep(time.Now())
	return w, nil
}

// Tools returns the three tools.
func (w *Workspace) Tools() []tool.Tool { return []tool.Tool{w.List, w.Read, w.Write} }

// Close releases the directory. Calls after it fail and do nothing.
func (w *Workspace) Close() error { return w.root.Close() }
