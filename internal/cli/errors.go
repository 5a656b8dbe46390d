package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/holdfast-run/holdfast/kernel"
)

// The exit codes.
const (
	exitOK        = 0
	exitFailure   = 1 // any other stop, and errors
	exitUsage     = 2
	exitWaiting   = 3 // for a person
	exitInterrupt = 130
)

// usageError is a command line that cannot be understood.
type usageError struct{ err *kernel.Error }

func (e usageError) Error() string { return e.err.Error() }

func usage(message, hint string) error {
	return usageError{&kernel.Error{Code: kernel.CodeInvalidArgument, Message: safeLine(message), Hint: hint}}
}

// exitError ends the program with a code when everything was said already.
type exitError int

func (exitError) Error() string { return "the command did not succeed" }

// exitCode reports err on w, as one JSON object, and returns the code to exit
// with.
func exitCode(err error, w io.Writer) int {
	var exit exitError
	var bad usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &bad):
		writeError(w, bad.err)
		return exitUsage
	}
	e := asError(err)
	writeError(w, e)
	if e.Code == kernel.CodeCancelled {
		return exitInterrupt
	}
	return exitFailure
}

// asError finds what may be shown of err. The text of a foreign error is not
// shown: nobody vouches that it holds no secret.
func asError(err error) *kernel.Error {
	var e *kernel.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "interrupted"}
	}
	return &kernel.Error{Code: kernel.CodeInternal, Message: "something went wrong that this program has no name for",
		Hint: "run `holdfast doctor`, and report it if that finds nothing"}
}

func writeError(w io.Writer, e *kernel.Error) {
	_ = writeJSON(w, struct {
		Error *kernel.Error `json:"error"`
	}{e}) // there is nowhere left to report to
}

// writeJSON writes v as one line, without HTML escapes.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
