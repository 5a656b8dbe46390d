package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/holdfast-run/holdfast/internal/room"
	"github.com/holdfast-run/holdfast/kernel"
)

// noRoom is the error of a file that was not written for want of room; nil: it was
// for something else.
func noRoom(what string, err error) error {
	why, hint := room.Why(err)
	if why == "" {
		return nil
	}
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: what + " cannot be written: " + why, Hint: hint, Err: err}
}

// temporary makes a folder for a command that works in one, and refuses one on a
// disk that has less room than the command needs.
func temporary(pattern string, bytes uint64) (dir string, err error) {
	why, hint := room.Full(os.TempDir(), bytes)
	if why == "" {
		if dir, err = os.MkdirTemp("", pattern); err == nil {
			return dir, nil
		}
		why, hint = room.Why(err)
	}
	if why == "" {
		why, hint = err.Error(), "set TMPDIR to a folder that is there and can be written to"
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			why = e.Err.Error()
		}
	} else {
		hint += "; or set TMPDIR to a folder on another disk"
	}
	return "", &kernel.Error{
		Code: kernel.CodeLocalStorage, Message: fmt.Sprintf("the temporary folder %.200q cannot be written to: %s", os.TempDir(), why),
		Hint: hint, Err: err,
	}
}
