package skill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two paths in one step. errors.ErrUnsupported: the file system
// has no such step.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EXDEV) {
		return errors.ErrUnsupported
	}
	return err
}
