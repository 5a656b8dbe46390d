package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-run/holdfast/kernel"
)

// Backup writes a copy of the journal, as it stands at one instant, to a file
// that must not be there yet, with mode 0600. Others may go on writing, though the
// log of the journal is not shortened meanwhile. The copy is whole and durable
// when Backup returns nil, and in one piece: it needs no log. Otherwise there is
// no file of that name.
//
// It fails with CONFIGURATION for a target that cannot be used, CONFLICT for one
// that is there, LOCAL_STORAGE, or the context's error.
func (p *pool) Backup(ctx context.Context, target string) error {
	t, err := locate(target)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(t.path); err == nil {
		return isThere(t)
	}
	part, err := newPart(t)
	if err != nil {
		return t.fault(err)
	}
	err = p.reading(func() error { return p.backup(ctx, part, t) })
	if removed := os.Remove(part); err == nil && removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return t.fault(removed)
	}
	return err
}

// newPart makes an empty file of ours beside the target.
func newPart(t file) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(t.path), "."+filepath.Base(t.path)+".part-*") // 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// backup copies the journal to the part, and gives it the target's name too.
func (p *pool) backup(ctx context.Context, part string, t file) error {
	if err := vacuumInto(ctx, p.file, part); err != nil {
		if to := (file{t.name, part}); to.isCramped(err) {
			return to.fault(err) // the journal's own disk is only read
		}
		return err
	}
	if err := syncFile(part); err != nil {
		return t.fault(err)
	}
	if err := rename(part, t.path); errors.Is(err, fs.ErrExist) {
		return isThere(t)
	} else if err != nil {
		return t.fault(err)
	}
	if err := syncFolder(filepath.Dir(t.path)); err != nil {
		return errors.Join(t.fault(err), os.Remove(t.path))
	}
	return nil
}

// vacuumInto needs a connection of its own: on those that only read SQLite
// writes no other file either.
func vacuumInto(ctx context.Context, f file, part string) (err error) {
	db, err := sql.Open("sqlite", f.dsn("ro", Options{}.withDefaults(), "trusted_schema(0)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, part)
	return err
}

// rename gives a file a name that is free, and ErrExist for one that is not.
// A link never takes the place of another file; where the file system has none,
// looking first has to do.
func rename(part, target string) error {
	if os.Link(part, target) == nil {
		return nil
	}
	if _, err := os.Lstat(target); err == nil {
		return fs.ErrExist
	}
	return os.Rename(part, target)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func isThere(t file) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("there is a file at %s already", t.name),
		Hint:    "choose another name for the backup: nothing is written over",
	}
}
