package cli

import "golang.org/x/sys/unix"

// fileRead is FREAD of sys/fcntl.h: what was received.
const fileRead = 1

// flushInput throws away what was typed at a terminal and not read, a line that
// is not finished included.
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fileRead) }
