package cli

import "golang.org/x/sys/unix"

// flushInput throws away what was typed at a terminal and not read, a line that
// is not finished included.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
