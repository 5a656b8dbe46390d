//go:build linux || darwin

package process

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// output is the reading end of a pipe whose other end may outlive the program.
type output struct {
	file  *os.File
	ended <-chan struct{}
}

// pipe returns a pipe for an output of the program that g is to be of.
func (g *group) pipe() (ours *output, theirs *os.File, err error) {
	r, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ours = &output{file: r, ended: g.done}
	g.outputs = append(g.outputs, ours)
	return ours, theirs, nil
}

// Read reads what was written. Once the program has ended, it waits for more no
// longer than Drain. A host that is too busy to read for that long loses nothing
// of what is in the pipe.
func (o *output) Read(b []byte) (int, error) {
	select {
	case <-o.ended:
		o.hurry()
	default:
	}
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return o.rest(b)
	}
	return n, err
}

// rest reads what is there without a wait.
func (o *output) rest(b []byte) (n int, err error) {
	_ = o.file.SetReadDeadline(time.Time{}) // over, it would stand in the way
	raw, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if closed := raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b)
		return true
	}); closed != nil {
		return 0, closed
	}
	if n <= 0 || err != nil {
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the pipe. A read that is under way fails with os.ErrClosed.
func (o *output) Close() error { return o.file.Close() }

// hurry bounds the reads that are under way. That the pipe is closed by now is
// the one error, and its reader's affair.
func (o *output) hurry() { _ = o.file.SetReadDeadline(time.Now().Add(Drain)) }

// kept is an output of which the head and the tail are kept.
type kept struct {
	*capture
	ours   *output
	theirs *os.File
	done   chan struct{}
}

func (g *group) keep(limit int) (*kept, error) {
	ours, theirs, err := g.pipe()
	if err != nil {
		return nil, err
	}
	return &kept{capture: newCapture(limit), ours: ours, theirs: theirs, done: make(chan struct{})}, nil
}

// begin reads to the end, unless the program was not started.
func (k *kept) begin(notStarted error) {
	_ = k.theirs.Close() // the program has its own
	if notStarted != nil {
		_ = k.ours.Close()
		return
	}
	go func() {
		defer close(k.done)
		_, _ = io.Copy(k.capture, k.ours) // a read of a pipe ends, and does not fail
		_ = k.ours.Close()
	}()
}

// all waits for the end.
func (k *kept) all() Output {
	<-k.done
	return k.output()
}
