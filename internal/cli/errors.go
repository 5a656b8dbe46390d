package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

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

// writeJSON writes v as one line, without HTML escapes. What a terminal would not
// show as it is stands as \u and its number: that is the same text to a reader of
// JSON.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	line := strings.TrimSuffix(b.String(), "\n")
	if strings.ContainsFunc(line, unfit) {
		line = escapeJSON(line)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

func escapeJSON(line string) string {
	var b strings.Builder
	for _, r := range line {
		switch high, low := utf16.EncodeRune(r); {
		case !unfit(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
