//go:build linux || darwin

package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

const extension = ".md"

// open opens the folder of the entries; nil: there is none. Everything in it is
// reached through the os.Root, so that no link leads out. A project's folder is
// no link itself, whatever it was before: who works in the project may have
// changed it.
func (s *shelf) open() (root *os.Root, release func(), err error) {
	there, err := s.look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, func() {}, nil
	case err != nil:
		return nil, nil, s.unreached("the folder cannot be looked at", err)
	case s.scope == Project && there.Mode().Type() == fs.ModeSymlink:
		return nil, nil, isLink(s.files)
	}
	root, err = s.enter()
	if err != nil {
		return nil, nil, s.unreached("the folder cannot be opened", err)
	}
	release = func() { _ = root.Close() } // only a descriptor of a folder
	if s.scope != Project {
		return root, release, nil
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(there, opened) {
		release()
		return nil, nil, isLink(s.files)
	}
	return root, release, nil
}

func (s *shelf) look() (info fs.FileInfo, err error) {
	if s.root == "" {
		return os.Lstat(s.files)
	}
	err = s.within(func(root *os.Root, way string) error {
		info, err = root.Lstat(way)
		return err
	})
	return info, err
}

func (s *shelf) enter() (folder *os.Root, err error) {
	if s.root == "" {
		return os.OpenRoot(s.files)
	}
	err = s.within(func(root *os.Root, way string) error {
		folder, err = root.OpenRoot(way)
		return err
	})
	return folder, err
}

// within calls do with the folder of the project and the way from there.
func (s *shelf) within(do func(root *os.Root, way string) error) error {
	way, err := filepath.Rel(s.root, s.files)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root, way)
}

// make makes the folder, and those that it lies in.
func (s *shelf) make() error {
	mode := s.mode(0o700, 0o755)
	var err error
	if s.root == "" {
		err = os.MkdirAll(s.files, mode)
	} else {
		err = s.within(func(root *os.Root, way string) error { return root.MkdirAll(way, mode) })
	}
	if err != nil {
		return s.unreached("the folder cannot be made", err)
	}
	return nil
}

// unreached says why the folder cannot be come to: where the system alone could,
// a link on the way leads out of the project.
func (s *shelf) unreached(what string, err error) error {
	inside, err1 := filepath.EvalSymlinks(s.root)
	to, err2 := filepath.EvalSymlinks(filepath.Dir(s.files))
	if s.root == "" || err1 != nil || err2 != nil || to == inside || strings.HasPrefix(to, strings.TrimSuffix(inside, "/")+"/") {
		return broken(what, err)
	}
	return misconfigured("a link on the way to the project's memory "+strconv.Quote(s.files)+" leads out of the project",
		"name the folder itself: what lies outside of a project is not the project's memory")
}

// isLink refuses the folder of a project that is, or has just become, a link.
func isLink(folder string) error {
	return misconfigured("the project's memory "+strconv.Quote(folder)+" is a symbolic link", "name the folder itself: a link in a project may lead anywhere")
}

// names are those of the entries that have a file, less the extension. What
// begins with a dot and what is no Markdown file is none.
func names(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, broken("the folder cannot be read", err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(maxListed + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, broken("the folder cannot be read", err)
	}
	if len(all) > maxListed {
		return nil, broken(fmt.Sprintf("%s has over %d files", root.Name(), maxListed), nil)
	}
	var found []string
	for _, name := range all {
		if base, ok := strings.CutSuffix(name, extension); ok && base != "" && base[0] != '.' {
			found = append(found, base)
		}
	}
	return found, nil
}

// checkName judges a file's name: it stands in ids, on screens and in requests.
func checkName(name string) error {
	if len(name) > 100 || !kernel.IsName(name) || strings.ContainsAny(name, `/\"`) {
		return errors.New("its name is not printable text of at most 100 bytes without quotes and slashes")
	}
	return nil
}

// showName is a name that may hold anything.
func showName(name string) string {
	if checkName(name) == nil {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// read reads the file of an entry. An error that is no *kernel.Error says what
// is wrong with the file; fs.ErrNotExist is one.
func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name + extension)
	switch {
	case err != nil:
		return nil, plain(err)
	case info.Mode().Type() == fs.ModeSymlink:
		return nil, errors.New("it is a symbolic link")
	}
	// Whatever it has become by now: no pipe keeps us waiting.
	f, err := root.OpenFile(name+extension, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, plain(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes: its text may have %d, and its front matter %d", info.Size(), MaxText, maxFile-MaxText)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case len(b) > maxFile:
		return nil, errors.New("it grew while it was read")
	}
	return b, nil
}

// plain is an error of the system without the paths in it.
func plain(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return errors.New("it cannot be read")
}
