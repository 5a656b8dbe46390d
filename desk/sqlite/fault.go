package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-run/holdfast/kernel"
)

// fault is what may be shown of an error of the storage in the file at path.
func fault(path string, err error) error { return faultOf("the desk's file", path, err) }

func faultOf(file, path string, err error) error {
	if err == nil || kernel.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	what, hint := describe(path, err)
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: file + " " + what, Hint: hint, Err: err}
}

// describe says what is wrong with the file, and what to do.
func describe(path string, err error) (what, hint string) {
	code := 0
	if e, ok := errors.AsType[*driver.Error](err); ok {
		code = e.Code() & 0xff // without what SQLite adds to it
	}
	switch {
	case code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return "cannot grow: its disk is full", hintFull
	case errors.Is(err, syscall.EFBIG):
		return "cannot grow: " + tooLarge, hintTooLarge
	case code == sqlite3.SQLITE_IOERR || code == sqlite3.SQLITE_CANTOPEN:
		return unreached(path, code)
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
	}
	return "cannot be read or written", hintUnreached
}

const (
	hintFull      = "free some space on that disk, and try again"
	tooLarge      = "this process may not write a larger file"
	hintTooLarge  = "raise the limit on the size of files (ulimit -f), and try again"
	hintUnreached = "check the path, the disk and the rights"
)

// room is the least space that SQLite needs beside a desk: an index of 32 KiB, which
// it makes to read the file too, and the log of a small transaction.
const room = 64 << 10

// unreached is for what SQLite calls an I/O error, or a file that cannot be opened, also
// where only the space for its index or its log is missing.
func unreached(path string, code int) (what, hint string) {
	var most unix.Rlimit
	var disk unix.Statfs_t
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &most) == nil && sizeOf(path)+room > most.Cur {
		return "cannot grow: " + tooLarge, hintTooLarge
	}
	if unix.Statfs(filepath.Dir(path), &disk) == nil && disk.Blocks > 0 && disk.Bavail*uint64(disk.Bsize) < room {
		return "cannot grow: its disk is full", hintFull
	}
	if code == sqlite3.SQLITE_CANTOPEN {
		return "cannot be opened", "its folder must be there and be writable: SQLite keeps a log beside the file"
	}
	return "cannot be read or written", hintUnreached
}

// sizeOf is the size of a file or of the log beside it, whichever is larger.
func sizeOf(path string) uint64 {
	var most int64
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			most = max(most, info.Size())
		}
	}
	return uint64(most)
}

// regular refuses what is no file, such as a folder. What is not there passes.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the desk is to be a file, and this is none", Hint: "name a file, not a folder or a device"}
	}
	return nil
}
