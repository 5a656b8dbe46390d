package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-run/holdfast/internal/room"
	"github.com/holdfast-run/holdfast/kernel"
)

const hintReadOnly = "make the file and its folder writable, or choose another file"

// fault turns any failure into one of the module's errors, which names the
// file. An error that is typed already, or a context's, passes as it is.
func (f file) fault(err error) error {
	if typed, ok := errors.AsType[*kernel.Error](err); ok {
		return typed
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	what, hint := f.describe(err)
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s %s", f.name, what),
		Hint:    hint,
		Err:     err,
	}
}

// describe says what is wrong with the file and what an operator can do.
func (f file) describe(err error) (what, hint string) {
	if what, hint := f.cramped(err); what != "" {
		return "cannot grow: " + what, hint
	}
	switch code := resultCode(err) & 0xff; {
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED:
		return "is locked by another program", "wait until that program is done with the file, or stop it, and try again"
	case code == sqlite3.SQLITE_READONLY || errors.Is(err, syscall.EROFS):
		return "is read-only", hintReadOnly
	case code == sqlite3.SQLITE_PERM || errors.Is(err, fs.ErrPermission):
		return "may not be used by this user", "check the owner and the mode of the file and of its folder"
	case code == sqlite3.SQLITE_CANTOPEN:
		return "cannot be opened", "the folder must exist and be writable: SQLite keeps a log beside the file"
	case code == sqlite3.SQLITE_NOTADB:
		return "is not a SQLite database", "choose another file; this one was left as it is"
	case code == sqlite3.SQLITE_CORRUPT:
		return "is damaged", "keep the file as it is and restore a backup of it elsewhere"
	case code == sqlite3.SQLITE_IOERR:
		return "cannot be read or written", "check the disk for faults"
	case errors.Is(err, errIncomplete) || code == sqlite3.SQLITE_ERROR || code == sqlite3.SQLITE_CONSTRAINT:
		return "does not hold what its version says", "it was changed by another program: restore a backup"
	}
	return "cannot be used", "check the file, its folder and its disk"
}

// cramped says what room an error is for want of; empty: none. Of some SQLite
// tells only that it failed: there is a look at the disk then, unless what failed
// was to read the file or to lock it.
func (f file) cramped(err error) (what, hint string) {
	if what, hint = room.Why(err); what != "" {
		return what, hint
	}
	switch code := resultCode(err); {
	case code == sqlite3.SQLITE_FULL: // the disk, as far as a journal goes: nothing bounds its pages
		return room.Why(syscall.ENOSPC)
	case code == sqlite3.SQLITE_IOERR_READ || code == sqlite3.SQLITE_IOERR_LOCK || code == sqlite3.SQLITE_IOERR_RDLOCK || code == sqlite3.SQLITE_IOERR_UNLOCK:
		return "", ""
	case code&0xff == sqlite3.SQLITE_IOERR || code&0xff == sqlite3.SQLITE_CANTOPEN:
		return room.Short(f.path, room.Needed)
	}
	return "", ""
}

func (f file) isCramped(err error) bool {
	what, _ := f.cramped(err)
	return what != ""
}

// resultCode returns SQLite's extended result code, 0 for any other error.
func resultCode(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// needsRecovery says that a connection which cannot write found a transaction
// that a crash left half done: one that can write will roll it back.
func needsRecovery(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY_CANTINIT:
		return true
	}
	return false
}

// ofOneAppend says that a failed statement is the fault of its append alone,
// not of the file.
func ofOneAppend(err error) bool {
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return true
	}
	return false
}
