//go:build linux || darwin

package files

import (
	"context"
	"errors"
	"io"
	"path"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// lookup says whether a write that was cut short is in place, by what lies
// there. Nothing notes what a file was before, so that it goes by this:
//
//   - The file holds the very content: present. It does not matter who wrote it.
//     The receipt lacks what was replaced, and the file is made durable first.
//   - There is no such file: absent. Had it been written and then deleted, it would be
//     written again.
//   - There is a draft of the call: absent. The file holds something else, and
//     the step that would have put the draft there used it up.
//   - Anything else: unknown. The file may be the old one, and may be
//     what someone made of the new one, which must not be overwritten.
//
// What cannot be looked at is unknown too, by way of the error.
func (w *Workspace) lookup(ctx context.Context, c tool.Call, in writeArguments) (kernel.Presence, written, error) {
	name, at, err := w.target(in)
	if err != nil {
		return "", written{}, err
	}
	if at.info == nil {
		return kernel.Absent, written{}, nil
	}
	switch same, err := w.holds(ctx, at, in.Content); {
	case err != nil:
		return "", written{}, explainOpen(name, err)
	case same:
		return kernel.Present, receiptOf(name, in.Content), nil
	}
	drafts, err := w.draftsOf(ctx, path.Dir(at.name), c.Key)
	switch {
	case err != nil:
		return "", written{}, failed(name, err)
	case len(drafts) > 0:
		return kernel.Absent, written{}, nil
	}
	return kernel.PresenceUnknown, written{}, nil
}

// holds reports whether the file at a place has that content, which is durable
// then.
func (w *Workspace) holds(ctx context.Context, at place, content string) (bool, error) {
	f, size, err := w.openRegular(at)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if size != int64(len(content)) {
		return false, nil
	}
	held, err := io.ReadAll(untilDone{ctx, io.LimitReader(f, size+1)})
	if err != nil || string(held) != content {
		return false, err
	}
	return true, errors.Join(f.Sync(), w.syncAbove(at.name, true))
}
