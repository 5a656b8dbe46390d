package skill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two paths in one step. errors.ErrUnsupported: the file system
// has no such step.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
