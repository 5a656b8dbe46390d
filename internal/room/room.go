//go:build linux || darwin

// Package room tells a file that cannot be written for want of space from one
// that cannot be written for any other reason.
//
// The system says so by itself ([Why]), but what stands between it and the caller
// may not pass that on: SQLite calls a shortage of space for its index an I/O
// error, and a log that cannot be made a file that cannot be opened. For those
// there is a look at the disk ([Short]).
package room

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Needed is the space that SQLite must find beside a file of its own: an index
// of 32 KiB, which it makes to read the file too, the log of a small
// transaction, and as much again for what others write meanwhile.
const Needed = 64 << 10

const (
	full     = "its disk is full"
	hintFull = "free some space on that disk, and try again"
)

// Why says what an error of the system tells about the want of space, and what
// can be done; both are empty for any other error.
func Why(err error) (what, hint string) {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return full, hintFull
	case errors.Is(err, syscall.EDQUOT):
		return "this user's share of its disk is used up", hintFull
	case errors.Is(err, syscall.EFBIG):
		return tooLarge("")
	}
	return "", ""
}

// Short says what is in the way of files at path, or with a name that begins
// with it, that grow by so many bytes, and what can be done; both are empty where
// nothing is, or nobody knows. Neither the files nor their folder must be there.
// It looks at the disk as it is now: ask it only about a write that has failed,
// or as a warning.
func Short(path string, bytes uint64) (what, hint string) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && largest(path)+bytes > limit.Cur {
		return tooLarge(fmt.Sprintf(" than %d KiB", limit.Cur>>10))
	}
	return Full(path, bytes)
}

// Full does the same for files that come to so many bytes together, however large
// each of them may be.
func Full(path string, bytes uint64) (what, hint string) {
	const readOnly = 1 // ST_RDONLY of Linux, MNT_RDONLY of macOS
	disk, ok := diskOf(path)
	switch {
	case !ok || disk.Blocks == 0: // no disk at all, such as /proc
		return "", ""
	case disk.Flags&readOnly != 0: // it has no room by its nature, and that is not what is in the way
		return "", ""
	case disk.Bavail*uint64(disk.Bsize) < bytes:
		return full, hintFull
	case disk.Files > 0 && disk.Ffree == 0: // some file systems count none
		return "its disk has no room for one more file", "remove some files on that disk, and try again"
	}
	return "", ""
}

func tooLarge(than string) (what, hint string) {
	return "this process may not write a larger file" + than, "raise the limit on the size of files (ulimit -f), and try again"
}

// largest is the size of the largest file with a name that begins with path.
func largest(path string) uint64 {
	var most int64
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err == nil {
			most = max(most, info.Size())
		}
	}
	return uint64(most)
}

// diskOf looks at the disk of a file that may be still to be made, as may the
// folders on the way to it.
func diskOf(path string) (disk unix.Statfs_t, ok bool) {
	for {
		err := unix.Statfs(path, &disk)
		parent := filepath.Dir(path)
		if !errors.Is(err, syscall.ENOENT) || parent == path {
			return disk, err == nil
		}
		path = parent
	}
}
