package cli

import (
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
)

// output is a standard output that remembers how it failed. A reader that went
// away is no failure: what is written after that is dropped. Any other failure
// is the command's, whatever else became of it. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	w    io.Writer
	gone bool // nobody reads any more
	err  error
}

// Write fails for good once it has failed.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone || o.err != nil {
		return len(b), o.err
	}
	n, err := o.w.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, syscall.EPIPE):
		o.gone = true
		return len(b), nil
	}
	o.err = unwritable("", err)
	return n, o.err
}

// unread reports whether something that was written has no reader.
func (o *output) unread() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone
}

// failure is the error of the command whose own result is err.
func (o *output) failure(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, said := errors.AsType[exitError](err); o.err != nil && (err == nil || said) {
		return o.err
	}
	return err
}

// unwritable is the error of an output that does not take what it is given. run
// is what can be shown again; empty: nothing.
func unwritable(run string, err error) error {
	e := &kernel.Error{Code: kernel.CodeInternal, Message: "standard output cannot be written to", Hint: "look at where it goes: a disk may be full", Err: err}
	if run != "" {
		e.Message += "; the run is in the journal"
		e.Hint = "holdfast runs show " + safeLine(run)
	}
	return e
}
