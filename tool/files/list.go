//go:build linux || darwin

package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/tool"
)

type pathArgument struct {
	Path string `json:"path"`
}

type listing struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	Omitted int     `json:"omitted_entries,omitempty"`
}

type entry struct {
	Name string `json:"name"`
	Type string `json:"type"` // file, dir, link, other
	Size *int64 `json:"size,omitempty"`
}

func (w *Workspace) list(ctx context.Context, _ tool.Call, in pathArgument) (listing, error) {
	name, err := checkPath(in.Path)
	if err != nil {
		return listing{}, err
	}
	at, err := w.find(name)
	if err != nil {
		return listing{}, err
	}
	dir, err := w.root.OpenFile(at.name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return listing{}, failed(name, err)
	}
	defer dir.Close()
	first, total, err := firstEntries(ctx, dir, func(e fs.DirEntry) bool {
		return isDraft(e.Name()) || w.guard.covers(path.Join(w.real, at.name, e.Name()))
	})
	if err != nil {
		return listing{}, failed(name, err)
	}
	l := listing{Path: name, Entries: []entry{}}
	size, protected := 0, w.guard.look()
	for _, e := range first {
		described, hidden := w.describe(at.name, e, protected)
		if hidden {
			total--
			continue
		}
		if size += len(e.Name()) + len(`{"name":"","type":"other","size":1234567890},`); size > maxListing {
			break
		}
		l.Entries = append(l.Entries, described)
	}
	l.Omitted = total - len(l.Entries)
	return l, nil
}

// firstEntries returns the MaxEntries entries that come first by name, and how
// many there are, without those that are hidden. Its memory does not grow with
// the directory.
func firstEntries(ctx context.Context, dir *os.File, hidden func(fs.DirEntry) bool) (first []fs.DirEntry, total int, err error) {
	byName := func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }
	for {
		batch, err := dir.ReadDir(MaxEntries)
		batch = slices.DeleteFunc(batch, hidden)
		total += len(batch)
		first = append(first, batch...)
		slices.SortFunc(first, byName)
		first = first[:min(len(first), MaxEntries)]
		if errors.Is(err, io.EOF) {
			return first, total, nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, 0, err
		}
	}
}

// describe says what an entry is. It is hidden where it is a protected file
// under another name.
func (w *Workspace) describe(dir string, e fs.DirEntry, h held) (described entry, hidden bool) {
	described = entry{Name: e.Name(), Type: "other"}
	switch e.Type() {
	case 0:
		described.Type = "file"
	case fs.ModeDir:
		described.Type = "dir"
	case fs.ModeSymlink:
		described.Type = "link"
		return described, false
	}
	// A file that is gone by now is listed without a size.
	info, err := w.root.Lstat(path.Join(dir, e.Name()))
	switch {
	case err != nil:
	case h.has(info):
		return entry{}, true
	case described.Type == "file":
		size := info.Size()
		described.Size = &size
	}
	return described, false
}
