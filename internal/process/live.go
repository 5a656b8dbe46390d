//go:build linux || darwin

package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Process is a program that lives on. Its methods are safe for concurrent use.
type Process struct {
	// Stdin is what the program reads. Close it to tell the program that nothing
	// more comes.
	Stdin io.WriteCloser
	// Stdout is what the program writes. It ends, with io.EOF, when everything
	// that was written was read; a process that has left the group and holds
	// the pipe open delays that by at most Drain once the program has ended.
	Stdout io.ReadCloser

	group   *group
	stderr  *capture
	stopped atomic.Bool
}

// Start starts the program. An error means that it was never started, as of
// Run. Whoever starts a program stops it: a Process holds a thread, and files,
// until it has ended and both pipes are closed. Stdin of the Command and what
// becomes of its Kill later do not count.
func (c Command) Start() (*Process, error) {
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), ourIn.Close()
		return nil, err
	}
	p := &Process{Stdin: ourIn, stderr: newCapture(c.MaxOutput)}
	cmd := c.command()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, p.stderr
	p.group, err = c.launch(cmd)
	_, _ = theirIn.Close(), theirOut.Close() // the program has its own
	if err != nil {
		_, _ = ourIn.Close(), ourOut.Close()
		return nil, err
	}
	out := &output{file: ourOut, ended: p.group.done}
	p.Stdout = out
	go func() {
		<-p.group.done
		out.hurry()
	}()
	return p, nil
}

// Done is closed once the program has ended and its group was killed.
func (p *Process) Done() <-chan struct{} { return p.group.done }

// Wait waits for that and says how the program ended.
func (p *Process) Wait() Result {
	<-p.group.done
	ended := ByItself
	if p.stopped.Load() {
		ended = ByCaller
	}
	r := p.group.result(ended)
	r.Stderr = p.stderr.output()
	return r
}

// Stderr is what was kept of its standard error so far.
func (p *Process) Stderr() Output { return p.stderr.output() }

// Stop closes Stdin, asks the group to end, kills it after the grace (0: at
// once), and waits until it has ended. Stdout remains to be read and closed.
func (p *Process) Stop(grace time.Duration) Result {
	select {
	case <-p.group.done:
	default:
		p.stopped.Store(true)
	}
	_ = p.Stdin.Close() // only a pipe's end
	p.group.end(grace, nil)
	return p.Wait()
}

// output is the reading end of a pipe whose other end may outlive the program.
type output struct {
	file  *os.File
	ended <-chan struct{}
}

// Read reads what was written. Once the program has ended, it waits for more no
// longer than Drain.
func (o *output) Read(b []byte) (int, error) {
	select {
	case <-o.ended:
		o.hurry()
	default:
	}
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// Close closes the pipe. A read that is under way fails with os.ErrClosed.
func (o *output) Close() error { return o.file.Close() }

// hurry bounds the reads that are under way. That the pipe is closed by now is
// the one error, and its reader's affair.
func (o *output) hurry() { _ = o.file.SetReadDeadline(time.Now().Add(Drain)) }
