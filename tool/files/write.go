//go:build linux || darwin

package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

type writeArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// written is the receipt of a write. Created or Replaced is set, unless the
// write was cut short and its file found in place: then nobody knows.
type written struct {
	Path string `json:"path"`
	version
	Created  bool     `json:"created,omitempty"`
	Replaced *version `json:"replaced,omitempty"`
}

// version tells one content of a file from another.
type version struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // absent: over maxHashed
}

// write puts content in place in one step: a reader, and a crash, leave either
// the old file or the new one. Whatever fails before that step has changed
// nothing but missing directories. What the receipt says of the replaced file
// was read just before; a writer in between is not seen.
func (w *Workspace) write(ctx context.Context, c tool.Call, in writeArguments) (written, error) {
	name, at, err := w.target(in)
	if err != nil {
		return written{}, err
	}
	if err := w.dropDrafts(ctx, path.Dir(at.name), c.Key); err != nil {
		return written{}, failed(name, err)
	}
	receipt := receiptOf(name, in.Content)
	if at.info == nil {
		receipt.Created = true
	} else {
		old, err := w.version(ctx, at)
		if err != nil {
			return written{}, explainOpen(name, err)
		}
		receipt.Replaced = &old
	}
	made, err := w.makeParent(at.name)
	if err != nil {
		return written{}, failed(name, err)
	}
	draft := draftBeside(at.name, c.Key)
	if err := w.replace(ctx, name, at, draft, in.Content, made); err != nil {
		return written{}, err
	}
	return receipt, nil
}

// target judges what a write is about and finds its place. name is what the
// model calls it.
func (w *Workspace) target(in writeArguments) (name string, at place, err error) {
	if name, err = checkPath(in.Path); err != nil {
		return "", place{}, err
	}
	if base := in.Path[strings.LastIndexByte(in.Path, '/')+1:]; base == "" || base == "." {
		return "", place{}, invalid("path must name a file, not a directory")
	}
	if len(in.Content) > MaxContent {
		return "", place{}, invalid("content must have at most " + strconv.Itoa(MaxContent) + " bytes")
	}
	at, err = w.find(name)
	return name, at, err
}

// receiptOf is what is known of a write before it is done.
func receiptOf(name, content string) written {
	digest := sha256.Sum256([]byte(content))
	return written{Path: name, version: version{Size: int64(len(content)), SHA256: hex.EncodeToString(digest[:])}}
}

func irregular(name string) *tool.Error {
	return invalid(strconv.Quote(name) + " is not a regular file")
}

// version reads what is about to be replaced.
func (w *Workspace) version(ctx context.Context, at place) (version, error) {
	f, size, err := w.openRegular(at)
	if err != nil {
		return version{}, err
	}
	defer f.Close()
	if size > maxHashed {
		return version{Size: size}, nil
	}
	h := sha256.New()
	n, err := io.Copy(h, untilDone{ctx, f})
	if err != nil {
		return version{}, err
	}
	return version{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// untilDone is a reader that fails once its context has ended.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// makeParent creates the directories above name, and reports whether any was
// missing.
func (w *Workspace) makeParent(name string) (made bool, err error) {
	parent := path.Dir(name)
	if _, err := w.root.Lstat(parent); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, w.root.MkdirAll(parent, 0o755)
}

// replace writes content into a draft, makes it durable and renames it into its
// place.
func (w *Workspace) replace(ctx context.Context, name string, at place, draft, content string, newDirs bool) error {
	if err := w.fill(draft, content, at.info); err != nil {
		return failed(name, err)
	}
	err := ctx.Err()
	if err == nil {
		err = w.root.Rename(draft, at.name)
	}
	if err != nil {
		// A draft that was still there to be removed is not in place.
		if w.root.Remove(draft) == nil {
			return failed(name, err)
		}
		return inDoubt(name, "could not be put in place", err)
	}
	if err := w.syncAbove(at.name, newDirs); err != nil {
		return inDoubt(name, "is in place, but may not outlast a power failure", err)
	}
	return nil
}

func inDoubt(name, what string, err error) *tool.Error {
	return &tool.Error{
		Message:     strconv.Quote(name) + " " + what + ": " + reason(err),
		Disposition: kernel.InDoubt,
		Err:         err,
	}
}

// fill creates a durable file with the permissions of the one that it will
// replace. After an error there is no such file.
func (w *Workspace) fill(name, content string, old fs.FileInfo) (err error) {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, creationMode(old))
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = w.root.Remove(name)
		}
	}()
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	return f.Sync()
}

// creationMode is that of a new file, less the process's umask; a draft of an
// old file stays private until it has that file's mode.
func creationMode(old fs.FileInfo) fs.FileMode {
	if old != nil {
		return 0o600
	}
	return 0o666
}

// syncAbove makes a rename durable, and with newDirs every directory on the
// way.
func (w *Workspace) syncAbove(name string, newDirs bool) error {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if err := w.syncDir(dir); err != nil {
			return err
		}
		if !newDirs || dir == "." {
			return nil
		}
	}
}

func (w *Workspace) syncDir(name string) error {
	dir, err := w.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
