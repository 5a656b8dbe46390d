//go:build linux || darwin

package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A write makes a draft beside its place and renames it. The draft of a write
// that was killed in between stays; tools neither show nor touch drafts, and
// Open removes those that no write under way can own.
const (
	draftPrefix = ".holdfast-"
	draftSuffix = ".tmp"
	staleAfter  = time.Hour // far beyond the time of any write
	maxSwept    = 10_000    // entries that Open looks at for drafts
)

// draftRandom is what stands between: the length of rand.Text.
const draftRandom = 26

func draftBeside(name string) string {
	return path.Join(path.Dir(name), draftPrefix+rand.Text()+draftSuffix)
}

// isDraft reports whether a file's name is one of a draft, in any case.
func isDraft(name string) bool {
	if len(name) != len(draftPrefix)+draftRandom+len(draftSuffix) {
		return false
	}
	name = strings.ToUpper(name)
	random, ok := strings.CutPrefix(name, strings.ToUpper(draftPrefix))
	random, ok2 := strings.CutSuffix(random, strings.ToUpper(draftSuffix))
	return ok && ok2 && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// sweep removes the stale drafts among the first maxSwept entries of the
// workspace, the upper directories first. It follows no links. A draft that
// stays for whatever reason is hidden all the same, so that errors do not
// matter.
func (w *Workspace) sweep(now time.Time) {
	seen := 0
	for ahead := []string{"."}; len(ahead) > 0 && seen < maxSwept; ahead = ahead[1:] {
		entries, err := w.firstOf(ahead[0], maxSwept-seen)
		if err != nil {
			continue
		}
		seen += len(entries)
		for _, e := range entries {
			switch name := path.Join(ahead[0], e.Name()); {
			case e.IsDir() && !w.guard.covers(path.Join(w.real, name)):
				ahead = append(ahead, name)
			case e.Type().IsRegular() && isDraft(e.Name()):
				w.removeStale(name, now)
			}
		}
	}
}

// firstOf returns up to n entries of a directory.
func (w *Workspace) firstOf(name string, n int) ([]fs.DirEntry, error) {
	dir, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return entries, nil
}

func (w *Workspace) removeStale(name string, now time.Time) {
	info, err := w.root.Lstat(name)
	if err == nil && now.Sub(info.ModTime()) >= staleAfter {
		_ = w.root.Remove(name)
	}
}
