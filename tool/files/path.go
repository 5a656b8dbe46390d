//go:build linux || darwin

package files

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// maxLinks bounds the symbolic links on the way to a file.
const maxLinks = 40

// checkPath judges what a model wrote as a path and returns it in its
// shortest form.
func checkPath(name string) (string, error) {
	refuse := func(why string) (string, error) { return "", invalid("path must " + why) }
	switch {
	case strings.TrimSpace(name) == "":
		return refuse("not be blank")
	case len(name) > MaxPath:
		return refuse("have at most " + strconv.Itoa(MaxPath) + " bytes")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return refuse("not hold control characters")
	case filepath.IsAbs(name):
		return refuse("be relative to the workspace")
	case slices.Contains(strings.Split(name, "/"), ".."):
		return refuse("not hold ..")
	}
	return path.Clean(name), nil
}

// place is where a path leads.
type place struct {
	name string      // relative to the workspace, without symbolic links
	info fs.FileInfo // nil: nothing is there
}

// find resolves a checked path and refuses what belongs to the host.
func (w *Workspace) find(name string) (place, error) {
	at, err := w.resolve(name)
	if err != nil {
		return place{}, err
	}
	return at, w.allow(name, at)
}

// resolve follows the symbolic links of a checked path as long as they stay
// inside. What it returns may be outdated at once: it gives clear answers, and
// writes to a link's target instead of over the link. That nothing leaves the
// workspace is the doing of os.Root, whatever changes in between.
func (w *Workspace) resolve(name string) (place, error) {
	at := place{name: "."}
	ahead := strings.Split(name, "/")
	for links := 0; len(ahead) > 0; {
		elem := ahead[0]
		ahead = ahead[1:]
		switch elem {
		case "", ".":
			continue
		case "..":
			if at.name == "." {
				return place{}, leaves(name)
			}
			at.name = path.Dir(at.name)
			continue
		}
		next := path.Join(at.name, elem)
		info, err := w.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !slices.Contains(ahead, ".."):
			return place{name: path.Join(append([]string{next}, ahead...)...)}, nil
		case err != nil:
			return place{}, failed(name, err)
		case info.Mode().Type() != fs.ModeSymlink:
			at.name = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, failed(name, syscall.ELOOP)
		}
		target, err := w.root.Readlink(next)
		if err != nil {
			return place{}, failed(name, err)
		}
		if strings.HasPrefix(target, "/") {
			// A path from here to the outside begins with "..".
			if target, err = filepath.Rel(w.real, target); err != nil {
				return place{}, leaves(name)
			}
			at.name = "."
		}
		ahead = append(strings.Split(target, "/"), ahead...)
	}
	info, err := w.root.Lstat(at.name)
	if err != nil {
		return place{}, failed(name, err)
	}
	at.info = info
	return at, nil
}

func invalid(msg string) *tool.Error {
	return &tool.Error{Code: kernel.CodeInvalidArgument, Message: msg, Disposition: kernel.DidNotHappen}
}

func leaves(name string) *tool.Error {
	return invalid(strconv.Quote(name) + " leads out of the workspace")
}

// failed is an error after which nothing has changed.
func failed(name string, err error) *tool.Error {
	code := tool.CodeFailed
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = kernel.CodeNotFound
	case errors.Is(err, context.Canceled):
		code = kernel.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		code = tool.CodeTimeout
	}
	return &tool.Error{
		Code:        code,
		Message:     strconv.Quote(name) + ": " + reason(err),
		Disposition: kernel.DidNotHappen,
		Err:         err,
	}
}

// reason says in the operating system's words why, without its paths.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT.Error()
	case errors.Is(err, fs.ErrClosed):
		return "the workspace is closed"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return "out of time"
	}
	return "not accessible"
}
