package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// guarded refuses a journal that somebody else can rewrite, as LOCAL_STORAGE:
// its file or what SQLite keeps beside it may be written by the group or by
// others, or its folder is one in which they may replace files. It also refuses
// one with several names. What is not there is not looked at.
func (f file) guarded() error {
	paths := []string{f.path}
	if target, err := filepath.EvalSymlinks(f.path); err == nil && target != f.path {
		paths = append(paths, target)
	}
	for _, path := range paths {
		if err := f.guardedName(path); err != nil {
			return err
		}
		for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
			if err := f.guardedFile(name); err != nil {
				return err
			}
		}
		if err := f.guardedFolder(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

func (f file) guardedFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.fault(err)
	}
	if info.Mode().Perm()&0o022 == 0 {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s is open to others: %s may be written by more than its owner (mode %04o)", f.name, filepath.Base(path), info.Mode().Perm()),
		Hint:    "look at who could have changed it, and then take the right away: chmod go-w " + path,
	}
}

// guardedName refuses a file that has several names: SQLite keeps a log beside
// each, and whoever opens it by one does not see what was written by another.
func (f file) guardedName(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.fault(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink < 2 {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s has %d names (hard links), and would have a log beside each", f.name, stat.Nlink),
		Hint:    "keep one name and remove the others while nothing uses the file; holdfast db backup makes a copy",
	}
}

func (f file) guardedFolder(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.fault(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !replaceable(info.Mode(), ok && owner.Gid == owner.Uid) {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeLocalStorage,
		Message: fmt.Sprintf("the journal %s is open to others: they may replace files in its folder (mode %04o)", f.name, info.Mode().Perm()),
		Hint:    "keep the journal in a folder of its own, or take the right away: chmod go-w " + dir,
	}
}

// replaceable says whether others than its owner may replace files in a folder
// of that mode. They may not where the folder is sticky, which lets everyone
// create files and nobody touch another's, nor where only the private group of
// the owner may write, which by convention has the owner's number.
func replaceable(mode fs.FileMode, private bool) bool {
	open := mode.Perm() & 0o022
	if private {
		open &= 0o002
	}
	return open != 0 && mode&fs.ModeSticky == 0
}

// tables are what a journal of the newest schema has.
func tables() []string {
	return []string{"runs", "events", "seals", "effects", "resolutions", "approvals", "votes", "signals", "notices"}
}

// checkObjects refuses a schema with tables, views or triggers that are not
// ours: they could show us anything, or change what we write. Only of tables does
// SQLite make some itself, whose names begin with sqlite_. With complete it
// also refuses one that lacks a table.
func checkObjects(ctx context.Context, q querier, f file, complete bool) error {
	type object struct{ kind, name string }
	found, err := collect(ctx, q, func(row scanner) (o object, err error) { return o, row.Scan(&o.kind, &o.name) },
		`SELECT type, name FROM sqlite_schema WHERE type <> 'index' AND NOT (type = 'table' AND name GLOB 'sqlite_*') ORDER BY type, name`)
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, name := range tables() {
		missing[name] = true
	}
	for _, o := range found {
		if o.kind != "table" || !missing[o.name] {
			return &kernel.Error{
				Code:    kernel.CodeLocalStorage,
				Message: fmt.Sprintf("the journal %s holds a %s that is not ours: %.60q", f.name, o.kind, o.name),
				Hint:    "another program changed it: find out which, and restore a backup; the file was left as it is",
			}
		}
		delete(missing, o.name)
	}
	if complete && len(missing) > 0 {
		return errIncomplete
	}
	return nil
}

// errIncomplete is a schema that lacks something; describe has the words.
var errIncomplete = errors.New("a table is missing")
