package journal

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// NotFound is the answer to a question about an unknown run.
func NotFound(run string) error { return missing("run", run) }

// NoApproval is the answer to a question about an unknown approval.
func NoApproval(id string) error { return missing("approval", id) }

// NoEffect is the answer to a question about an unknown effect.
func NoEffect(id string) error { return missing("effect", id) }

func missing(what, id string) error {
	return &kernel.Error{Code: kernel.CodeNotFound, Message: fmt.Sprintf("no %s %.200q", what, id)}
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

// OverAlready is the answer to a wish for a run that has stopped: RUN_STOPPED.
func OverAlready(run string) error {
	return &kernel.Error{Code: kernel.CodeRunStopped, Message: fmt.Sprintf("run %q has stopped", run)}
}

// SessionBusy is the answer to the first entry of a run while another one of
// its session is not stopped: CONFLICT. A session is that of its tenant and its
// user; runs without a session do not know one another.
func SessionBusy(session, run string) error {
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("run %q of session %q is not over", run, session),
		Hint:    "wait for it, drive it with holdfast work, or end it with holdfast runs cancel " + run,
	}
}

// Overtaken is the answer to the first entry of a run that was to have another
// place in its session than the one behind the earlier runs that there are:
// CONFLICT.
func Overtaken(h *Head, place, earlier int) error {
	if place == 0 || place == earlier+1 {
		return nil
	}
	return &kernel.Error{
		Code:    kernel.CodeConflict,
		Message: fmt.Sprintf("session %q has %d runs: run %q cannot be number %d", h.Session, earlier, h.Run, place),
		Hint:    "another run came in between: start this one again, so that it goes on from what that one said",
	}
}

func invalid(message string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: message}
}
