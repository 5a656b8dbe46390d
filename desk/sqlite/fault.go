package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-run/holdfast/kernel"
)

// fault is what may be shown of an error of the storage.
func fault(err error) error {
	if err == nil || kernel.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	what, hint := describe(err)
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the desk's file " + what, Hint: hint, Err: err}
}

// describe says what is wrong with the file, and what to do.
func describe(err error) (what, hint string) {
	code := 0
	if e, ok := errors.AsType[*driver.Error](err); ok {
		code = e.Code() & 0xff // without what SQLite adds to it
	}
	switch {
	case code == sqlite3.SQLITE_NOTADB:
		return "is no SQLite database", "name another file; this one was left as it is"
	case code == sqlite3.SQLITE_CORRUPT:
		return "is damaged", "keep it as it is, and restore a copy of it elsewhere"
	case code == sqlite3.SQLITE_READONLY || errors.Is(err, syscall.EROFS):
		return "or its folder is read-only", "make both writable, or name another file: a desk notes who looks at it, too"
	case code == sqlite3.SQLITE_PERM || errors.Is(err, fs.ErrPermission):
		return "may not be used by this user", "check the owner and the mode of the file and of its folder"
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED:
		return "is locked by another program", "wait until that is done with it, and try again"
	case code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return "cannot grow: its disk is full", "free some space on that disk, and try again"
	case code == sqlite3.SQLITE_CANTOPEN:
		return "cannot be opened", "its folder must be there and be writable: SQLite keeps a log beside the file"
	}
	return "cannot be read or written", "check the path, the disk and the rights"
}

// regular refuses what is no file, such as a folder. What is not there passes.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the desk is to be a file, and this is none", Hint: "name a file, not a folder or a device"}
	}
	return nil
}
