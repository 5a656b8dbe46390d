package journal

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// NotFound is the answer to a question about an unknown run.
func NotFound(run string) error {
	return &kernel.Error{Code: kernel.CodeNotFound, Message: fmt.Sprintf("no run %q", run)}
}

// Conflict is the answer to an append whose first record does not follow last,
// the run's last one; last is 0 for a run that does not exist.
func Conflict(run string, last, first int64) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("run %q is at record %d: record %d cannot follow", run, last, first),
		Hint:    "someone else wrote to this run: read it again before going on",
	}
}

// Closed is the answer to any use of a journal after Close.
func Closed() error {
	return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the journal is closed"}
}
