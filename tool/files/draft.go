//go:build linux || darwin

package files

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A write makes a draft beside its place and renames it. The draft of a write
// that was killed in between stays: as long as it is there, its write is not in
// place, which is what a lookup goes by. Tools neither show nor touch drafts.
// The next write of the same call removes it, and Open does once nobody can be
// expected to ask any more.
const (
	draftPrefix = ".holdfast-"
	draftSuffix = ".tmp"
	staleAfter  = 7 * 24 * time.Hour
	maxSwept    = 10_000 // entries that Open looks at for drafts
)

// Between the two stand as many characters of the key of the call, and as many
// of chance.
const draftPart = 13

// draftBeside names a draft of a call with that key; an empty key is no key.
func draftBeside(name, key string) string {
	return path.Join(path.Dir(name), draftStem(key)+rand.Text()[:draftPart]+draftSuffix)
}

// draftStem is what the names of the drafts of a call begin with.
func draftStem(key string) string {
	if key == "" {
		return draftPrefix + rand.Text()[:draftPart]
	}
	sum := sha256.Sum256([]byte(key))
	return draftPrefix + base32.StdEncoding.EncodeToString(sum[:])[:draftPart]
}

// draftsOf returns the drafts in a directory that writes of a call with that key have left
// behind. A directory that is not there holds none, and nor does an empty key.
func (w *Workspace) draftsOf(ctx context.Context, dir, key string) (found []string, err error) {
	if key == "" {
		return nil, nil
	}
	d, err := w.root.Open(dir)
	if err != nil {
		return nil, missingIsFine(err)
	}
	defer d.Close()
	for stem := draftStem(key); err == nil; err = cmp.Or(err, ctx.Err()) {
		var batch []fs.DirEntry
		batch, err = d.ReadDir(MaxEntries)
		for _, e := range batch {
			if isDraft(e.Name()) && strings.HasPrefix(e.Name(), stem) {
				found = append(found, path.Join(dir, e.Name()))
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return found, nil
}

// dropDrafts removes the drafts of earlier writes of a call, so that none of them gets
// into its place any more.
func (w *Workspace) dropDrafts(ctx context.Context, dir, key string) error {
	drafts, err := w.draftsOf(ctx, dir, key)
	for _, d := range drafts {
		err = errors.Join(err, missingIsFine(w.root.Remove(d)))
	}
	return err
}

func missingIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isDraft reports whether a file's name is one of a draft, in any case.
func isDraft(name string) bool {
	if len(name) != len(draftPrefix)+2*draftPart+len(draftSuffix) {
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
