//go:build linux || darwin

package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/tool"
)

type document struct {
	Path    string  `json:"path"`
	Size    int64   `json:"size"` // bytes of the file
	Binary  bool    `json:"binary,omitempty"`
	Content *string `json:"content,omitempty"` // absent: binary
	Omitted int64   `json:"omitted_bytes,omitempty"`
}

func (w *Workspace) read(_ context.Context, _ tool.Call, in pathArgument) (document, error) {
	name, err := checkPath(in.Path)
	if err != nil {
		return document{}, err
	}
	at, err := w.find(name)
	if err != nil {
		return document{}, err
	}
	f, size, err := w.openRegular(at)
	if err != nil {
		return document{}, explainOpen(name, err)
	}
	defer f.Close()
	head, tail, size, err := ends(f, size)
	if err != nil {
		return document{}, failed(name, err)
	}
	d := document{Path: name, Size: size}
	if !isText(head) || !isText(tail) {
		d.Binary = true
		return d, nil
	}
	content, omitted := tool.Excerpt(string(head), string(tail), size-int64(len(head)+len(tail)), MaxRead)
	d.Content, d.Omitted = &content, omitted
	return d, nil
}

var (
	errIrregular = errors.New("not a regular file")
	errProtected = errors.New("protected")
)

// openRegular opens a regular file for reading. It never waits for the other
// end of a pipe, and opens no device that was there when it looked.
func (w *Workspace) openRegular(at place) (*os.File, int64, error) {
	if at.info == nil {
		return nil, 0, fs.ErrNotExist
	}
	if !at.info.Mode().IsRegular() {
		return nil, 0, errIrregular
	}
	f, err := w.root.OpenFile(at.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errIrregular
	case w.guard.look().has(info): // a link came in between
		err = errProtected
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func explainOpen(name string, err error) error {
	switch {
	case errors.Is(err, errIrregular):
		return irregular(name)
	case errors.Is(err, errProtected):
		return belongsToHost(name)
	}
	return failed(name, err)
}

// ends reads a file of about that size: whole as head, or MaxRead/2 bytes of
// either end, cut between characters. It returns the size that fits them.
func ends(f *os.File, size int64) (head, tail []byte, _ int64, err error) {
	head, err = io.ReadAll(io.LimitReader(f, MaxRead+1))
	if err != nil {
		return nil, nil, 0, err
	}
	if len(head) <= MaxRead {
		return head, nil, int64(len(head)), nil
	}
	size = max(size, int64(len(head)))
	tail = make([]byte, MaxRead/2)
	n, err := f.ReadAt(tail, size-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, 0, err
	}
	head, tail = tool.TrimCut(head[:MaxRead/2], tail[:n])
	return head, tail, size, nil
}

// isText reports whether b is UTF-8 without NUL.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
