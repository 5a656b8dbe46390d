package skill

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxArchive bounds an archive, in bytes: packing makes nothing larger by much.
const maxArchive = MaxSize + 1<<20

// unpack writes what an archive holds into root and returns the name of its one
// folder, and the notes on what was passed over.
func unpack(ctx context.Context, archive string, root *os.Root) (top string, notes []string, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", nil, unfit(fmt.Sprintf("the archive cannot be read: %s", oneLine(explain(err).Error())), err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", nil, unfit("the archive cannot be read", err)
	case !info.Mode().IsRegular():
		return "", nil, unfit("the archive is not a regular file", nil)
	case info.Size() > maxArchive:
		return "", nil, unfit(fmt.Sprintf("the archive has %d bytes; at most %d are allowed", info.Size(), maxArchive), nil)
	}
	u := &unpacking{ctx: ctx, root: root, seen: map[string]seen{}}
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0) // a shorter file is neither
	switch b := magic[:n]; {
	case bytes.HasPrefix(b, []byte("PK")):
		err = u.zip(f, info.Size())
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		err = u.tarGzip(f)
	default:
		err = errors.New("it is neither a .zip nor a .tar.gz file")
	}
	if err == nil && u.top == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", nil, unfit("the archive is refused: "+oneLine(err.Error()), err)
	}
	return u.top, noteOf("what macOS adds to an archive was passed over", u.litter), nil
}

// unpacking is what an archive has come to so far.
type unpacking struct {
	ctx     context.Context //nolint:containedctx // of one call
	root    *os.Root
	top     string          // the folder that everything lies in
	seen    map[string]seen // by what a file system may take a path for
	litter  []string        // that was passed over
	entries int
	files   int
	size    int64
}

// seen is a path that an archive has.
type seen struct {
	name string
	dir  bool
}

func (u *unpacking) zip(f *os.File, size int64) error {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return err
	}
	for _, e := range z.File {
		mode := e.Mode()
		name, isDir := strings.CutSuffix(e.Name, "/")
		switch {
		case e.Flags&1 != 0:
			return fmt.Errorf("%.80q is encrypted", e.Name)
		case mode.Type() != 0 && mode.Type() != fs.ModeDir, mode.IsDir() != isDir:
			return fmt.Errorf("%.80q is neither a file nor a folder", e.Name)
		}
		if taken, err := u.admit(name, isDir); err != nil {
			return err
		} else if !taken || isDir {
			continue
		}
		r, err := e.Open()
		if err != nil {
			return fmt.Errorf("%.80q: %w", e.Name, err)
		}
		if err := errors.Join(u.write(name, r, mode), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// maxTail bounds what may follow the last entry of an unpacked tar file.
const maxTail = 1 << 20

func (u *unpacking) tarGzip(f *os.File) error {
	g, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	defer g.Close()
	// Headers count, too: some hold long texts, and none is a file.
	in := &io.LimitedReader{R: g, N: 2*MaxSize + maxTail}
	t := tar.NewReader(in)
	for {
		e, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return u.drain(in)
		case err != nil && in.N == 0:
			return fmt.Errorf("it unpacks to over %d bytes", MaxSize)
		case err != nil:
			return err
		}
		name, isDir := strings.CutSuffix(strings.TrimPrefix(e.Name, "./"), "/")
		switch {
		case e.Typeflag == tar.TypeXGlobalHeader:
			if u.entries++; u.entries > 2*MaxFiles {
				return tooMany()
			}
			continue
		case e.Typeflag == tar.TypeDir:
			if name == "" || name == "." {
				continue // the folder that was packed
			}
			isDir = true
		case e.Typeflag != tar.TypeReg || isDir:
			return fmt.Errorf("%.80q is neither a file nor a folder", e.Name)
		}
		if taken, err := u.admit(name, isDir); err != nil {
			return err
		} else if !taken || isDir {
			continue
		}
		if err := u.write(name, t, e.FileInfo().Mode()); err != nil {
			return err
		}
	}
}

// drain reads to the end of the archive, where its checksum is.
func (u *unpacking) drain(in *io.LimitedReader) error {
	in.N = min(in.N, maxTail)
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if in.N == 0 {
		return errors.New("something follows its end")
	}
	return nil
}

func tooMany() error { return fmt.Errorf("it holds over %d files and folders", 2*MaxFiles) }

// admit judges an entry's path, and makes the folders that it needs. One that is
// not taken is passed over.
func (u *unpacking) admit(name string, isDir bool) (taken bool, err error) {
	if err := u.ctx.Err(); err != nil {
		return false, err
	}
	if u.entries++; u.entries > 2*MaxFiles {
		return false, tooMany()
	}
	if err := checkPath(name); err != nil {
		return false, fmt.Errorf("%.80q: %w", name, err)
	}
	if isLitter(name) {
		u.litter = append(u.litter, name)
		return false, nil
	}
	if err := u.place(name, isDir); err != nil {
		return false, err
	}
	twice, err := u.note(name, isDir)
	switch {
	case err != nil:
		return false, err
	case twice && !isDir:
		return false, fmt.Errorf("it holds %.80q twice", name)
	case isDir:
		return true, u.mkdir(name)
	}
	return true, u.mkdir(path.Dir(name))
}

// place refuses a path that does not lie in the one folder, or is hidden in it.
func (u *unpacking) place(name string, isDir bool) error {
	top, _, deeper := strings.Cut(name, "/")
	hidden := hiddenIn(name)
	switch {
	case hidden != "":
		return fmt.Errorf("%.80q is hidden (%.80q begins with a dot): pack the skill without it", name, hidden)
	case !deeper && !isDir:
		return fmt.Errorf("%.80q lies beside the folder of the skill: everything lies in one folder, which is named like the skill", name)
	case u.top == "" && !legalName(top):
		return fmt.Errorf("its folder %.80q is not named like a skill", top)
	case u.top != "" && top != u.top:
		return fmt.Errorf("it holds two folders, %.80q and %.80q", u.top, top)
	}
	u.top = top
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := u.note(dir, true); err != nil {
			return err
		}
	}
	return nil
}

// note remembers a path. Two that differ only in case or in the way that
// characters are composed are one on some file systems.
func (u *unpacking) note(name string, isDir bool) (twice bool, err error) {
	key := norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
	was, there := u.seen[key]
	switch {
	case there && was.name != name:
		return false, fmt.Errorf("%.80q and %.80q are one name on some file systems", was.name, name)
	case there && was.dir != isDir:
		return false, fmt.Errorf("%.80q is a file and a folder", name)
	}
	u.seen[key] = seen{name, isDir}
	return there, nil
}

func (u *unpacking) mkdir(name string) error {
	if err := u.root.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("%.80q: %w", name, explain(err))
	}
	return nil
}

// write unpacks one file. What counts is what comes out, whatever the archive
// says of it.
func (u *unpacking) write(name string, r io.Reader, mode fs.FileMode) error {
	if u.files++; u.files > MaxFiles {
		return fmt.Errorf("it holds over %d files", MaxFiles)
	}
	permissions := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		permissions = 0o755
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
	if err != nil {
		return fmt.Errorf("%.80q: %w", name, explain(err))
	}
	n, err := io.Copy(f, io.LimitReader(r, MaxSize-u.size+1))
	if u.size += n; err == nil && u.size > MaxSize {
		err = fmt.Errorf("it unpacks to over %d bytes", MaxSize)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
