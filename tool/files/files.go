//go:build linux || darwin

// Package files is three tools for the files of one directory, the workspace:
// list_files, read_file and write_file. Nothing outside it can be reached, by
// no path and no symbolic link, also while links change: every access goes
// through an os.Root.
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

	root *os.Root
	real string // absolute, without symbolic links
}

// Open opens a directory, which must exist: else CONFIGURATION.
func Open(dir string) (*Workspace, error) {
	refuse := func(err error) error {
		return &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: "the workspace cannot be opened: " + reason(err),
			Hint:    "Create the directory, or name another one as the workspace.",
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
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, refuse(err)
	}
	w := &Workspace{root: root, real: resolved}
	if err := w.define(); err != nil {
		_ = root.Close()
		return nil, err
	}
	return w, nil
}

// Tools returns the three tools.
func (w *Workspace) Tools() []tool.Tool { return []tool.Tool{w.List, w.Read, w.Write} }

// Close releases the directory. Calls after it fail and do nothing.
func (w *Workspace) Close() error { return w.root.Close() }
