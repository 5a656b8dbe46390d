//go:build linux || darwin

package process

import (
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
	stderr  *kept
	stopped atomic.Bool
}

// Start starts the program. An error means that it was never started, as of
// Run. Whoever starts a program stops it: a Process holds a thread, and files,
// until it has ended and both pipes are closed. Stdin of the Command and what
// becomes of its Kill later do not count.
func (c Command) Start() (*Process, error) {
	g := c.group()
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := g.pipe()
	if err != nil {
		_, _ = theirIn.Close(), ourIn.Close()
		return nil, err
	}
	stderr, err := g.keep(c.MaxOutput)
	if err != nil {
		_, _, _, _ = theirIn.Close(), ourIn.Close(), out.Close(), theirOut.Close()
		return nil, err
	}
	cmd := c.command()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, stderr.theirs
	err = c.launch(cmd, g)
	_, _ = theirIn.Close(), theirOut.Close() // the program has its own
	stderr.begin(err)
	if err != nil {
		_, _ = ourIn.Close(), out.Close()
		return nil, err
	}
	return &Process{Stdin: ourIn, Stdout: out, group: g, stderr: stderr}, nil
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
	r.Stderr = p.stderr.all()
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
