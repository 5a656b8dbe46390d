package cli

import (
	"fmt"
	"sync"

	"github.com/holdfast-run/holdfast/kernel"
)

// closer is what closes something that a command opened: once, however often it
// is called, for a deferred call. A failure is a warning: what the command did is
// done, and is told of already.
func (a *app) closer(what string, end func() error) func() {
	return sync.OnceFunc(func() {
		if err := end(); err != nil {
			fmt.Fprintf(a.stderr, "warning: %s could not be closed: %s\n", what, safeLine(kernel.Clip(err.Error(), 500)))
		}
	})
}
