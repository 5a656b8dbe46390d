package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// file is the place of a journal.
type file struct {
	name string // as the caller wrote it, for messages
	path string // absolute, so that a later chdir does not move new connections
}

// locate checks a path without touching the file.
func locate(path string) (file, error) {
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		return file{}, &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: fmt.Sprintf("%q is no path of a journal file", path),
			Hint:    "name a file on a local disk",
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return file{}, &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the current folder is gone", Err: err}
	}
	return file{name: path, path: abs}, nil
}

// stat says whether the file exists and its size, and refuses what is no file.
func (f file) stat() (size int64, exists bool, err error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, f.fault(err)
	case !info.Mode().IsRegular():
		return 0, false, &kernel.Error{
			Code:    kernel.CodeLocalStorage,
			Message: fmt.Sprintf("%s is not a regular file", f.name),
			Hint:    "name a file, not a folder or a device",
		}
	}
	return info.Size(), true, nil
}

// create makes an empty file, and its folders, unless it is there. A file that
// is there is not even opened: to close a descriptor of it would drop the locks
// that this process holds on it through SQLite. While the file is empty, sync is
// called for the folders that lead to it.
func (f file) create(sync func(dir string) error) error {
	size, exists, err := f.stat()
	if err != nil || size > 0 {
		return err
	}
	if !exists {
		if err := f.createEmpty(); err != nil {
			return f.fault(err)
		}
	}
	// A name survives a crash of the machine when its folder was synced. All
	// folders up to the root are, since whoever made some of them may have been
	// killed before this.
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		if err := sync(dir); err != nil {
			return f.fault(err)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (f file) createEmpty() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	created, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return created.Close()
}

// syncFolder makes the names in a folder durable. A folder that may not be read
// is not one that this user has just made, and some file systems keep folders
// in their own way: neither is a failure.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// inspect returns the version of the schema in the file, through a connection
// that cannot write. A file that is not ours is an error.
func (f file) inspect(ctx context.Context, o Options) (version int, err error) {
	db, err := sql.Open("sqlite", f.readerDSN(o))
	if err != nil {
		return 0, err
	}
	version, err = schemaVersion(ctx, db, f, len(migrations()))
	return version, errors.Join(err, db.Close())
}

// writable refuses a connection that SQLite has opened for reading only, as it
// does by itself where the file's mode allows no more.
func (f file) writable(connection any) error {
	c, ok := connection.(interface {
		IsReadOnly(schema string) (bool, error)
	})
	if !ok {
		return &kernel.Error{Code: kernel.CodeInternal, Message: "the SQLite driver does not say whether a file is read-only"}
	}
	readOnly, err := c.IsReadOnly("main")
	if err != nil || !readOnly {
		return err
	}
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s is read-only", f.name),
		Hint:    hintReadOnly,
	}
}

// writerDSN is for a connection that writes an existing file.
func (f file) writerDSN(o Options) string {
	return f.dsn("rw", o,
		"foreign_keys(1)",
		"trusted_schema(0)",
		"synchronous(FULL)",
		fmt.Sprintf("journal_size_limit(%d)", maxLog), // give back what a burst took
	)
}

// readerDSN is for a connection that reads an existing file.
func (f file) readerDSN(o Options) string {
	return f.dsn("ro", o, "trusted_schema(0)", "query_only(1)")
}

func (f file) dsn(mode string, o Options, pragmas ...string) string {
	query := url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"},
		// First, so that the other pragmas wait for locks too.
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds())}, pragmas...),
	}
	uri := url.URL{Scheme: "file", Path: f.path, RawQuery: query.Encode()}
	return uri.String()
}
