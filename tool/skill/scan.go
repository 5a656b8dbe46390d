package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// scan reads a skill: all of its bytes count, those of SKILL.md are kept.
func scan(root *os.Root, folder string) (*Skill, error) {
	w := &walk{root: root, folder: folder}
	if err := fs.WalkDir(root.FS(), folder, w.visit); err != nil {
		return nil, explain(err)
	}
	if w.manifest == nil {
		return nil, errors.New("there is no " + ManifestName)
	}
	if err := w.unchanged(); err != nil {
		return nil, err
	}
	s, err := parse(folder, w.manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	s.Notes = append(append(s.Notes, w.notes...), noteOf("names that begin with a dot are no part of the skill", w.hidden)...)
	s.Digest = digestOf(w.files)
	s.Files = slices.DeleteFunc(w.files, func(f File) bool { return f.Path == ManifestName })
	return s, nil
}

// walk is a reading of one skill.
type walk struct {
	root     *os.Root
	folder   string
	files    []File
	infos    []fs.FileInfo // of files
	manifest []byte
	entries  int
	size     int64
	notes    []string
	hidden   []string // names that begin with a dot
}

func (w *walk) visit(name string, e fs.DirEntry, err error) error {
	if err != nil || name == w.folder {
		return err
	}
	inside := strings.TrimPrefix(name, w.folder+"/")
	if w.entries++; w.entries > 2*MaxFiles {
		return fmt.Errorf("there are over %d files and folders", 2*MaxFiles)
	}
	if isHidden(e.Name()) {
		return w.passOver(inside, e)
	}
	if err := checkPath(inside); err != nil {
		return fmt.Errorf("the file %.80q: %w", inside, err)
	}
	switch {
	case e.IsDir():
		return nil
	case !e.Type().IsRegular() && inside == ManifestName:
		return errors.New(ManifestName + " is not a regular file")
	case !e.Type().IsRegular():
		w.notes = append(w.notes, fmt.Sprintf("%.80q is not a regular file, and no part of the skill", inside))
		return nil
	case len(w.files) == MaxFiles:
		return fmt.Errorf("there are over %d files", MaxFiles)
	}
	return w.take(name, inside)
}

// passOver leaves out what is hidden, all that lies below it too.
func (w *walk) passOver(inside string, e fs.DirEntry) error {
	if !isLitter(inside) {
		w.hidden = append(w.hidden, inside)
	}
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// take reads a file for its digest.
func (w *walk) take(name, inside string) error {
	f, info, err := openRegular(w.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	read := io.LimitReader(f, MaxSize-w.size+1)
	var n int64
	if inside == ManifestName {
		if w.manifest, err = io.ReadAll(io.LimitReader(read, MaxManifest+1)); err != nil {
			return err
		}
		if len(w.manifest) > MaxManifest {
			return fmt.Errorf("%s is over %d bytes: move details into files of their own", ManifestName, MaxManifest)
		}
		n = int64(len(w.manifest))
		h.Write(w.manifest)
	} else if n, err = io.Copy(h, read); err != nil {
		return err
	}
	if w.size += n; w.size > MaxSize {
		return fmt.Errorf("its files are over %d bytes", MaxSize)
	}
	w.files = append(w.files, File{Path: inside, Size: n, Digest: hex.EncodeToString(h.Sum(nil))})
	w.infos = append(w.infos, info)
	return nil
}

// unchanged refuses a skill that somebody wrote to while it was read: what was
// read may be of both states.
func (w *walk) unchanged() error {
	for i, before := range w.infos {
		now, err := w.root.Lstat(path.Join(w.folder, w.files[i].Path))
		if err != nil || !os.SameFile(before, now) || now.Size() != w.files[i].Size || !now.ModTime().Equal(before.ModTime()) {
			return fmt.Errorf("%s changed while it was read", w.files[i].Path)
		}
	}
	return nil
}

// digestOf is the digest of the files of a skill, which are in order. Paths
// hold no line breaks.
func digestOf(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d %s\n", f.Digest, f.Size, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

var errIrregular = errors.New("not a regular file")

// openRegular opens a regular file for reading, and waits for nobody at the
// other end of a pipe.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// checkPath judges the path of a file inside a skill: relative, with slashes,
// in its shortest form, and nothing in it that a reader cannot see.
func checkPath(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unseen):
		return errors.New("the path holds characters that do not show")
	case len(name) > MaxPath:
		return fmt.Errorf("the path has over %d bytes", MaxPath)
	case strings.ContainsRune(name, '\\'):
		return errors.New("the path holds a backslash")
	case strings.HasPrefix(name, "/"):
		return errors.New("the path is absolute")
	case slices.Contains(strings.Split(name, "/"), ".."):
		return errors.New("the path leads upwards by two dots")
	case path.Clean(name) != name || name == ".":
		return errors.New("the path is not in its shortest form")
	}
	return nil
}

// unseen reports characters that control, or do not show.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// explain is an error without the paths of this machine.
func explain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s cannot be read: %w", path.Base(e.Path), e.Err)
	}
	return err
}
