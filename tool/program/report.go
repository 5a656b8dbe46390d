//go:build linux || darwin

package program

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// report is what the model is told. Equal runs have equal reports, so that
// repetition shows: how long a run took is among the facts only.
type report struct {
	Program     string `json:"program"`
	ExitCode    int    `json:"exit_code"`        // -1: ended by a signal
	Signal      string `json:"signal,omitempty"` // "killed", "segmentation fault", …
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Omitted     int64  `json:"omitted_bytes"` // of both
	TimedOut    bool   `json:"timed_out"`
	Interrupted bool   `json:"interrupted,omitempty"`
	Sandbox     string `json:"sandbox"` // what held, or none
	Note        string `json:"note,omitempty"`
}

// facts are what verifiers and screens get: the output as it was printed.
type facts struct {
	report
	ElapsedMS int64 `json:"elapsed_ms"`
}

// maxFacts bounds facts, in bytes: a larger result loses them at the border.
const maxFacts = 1 << 20

// print fills in the output in at most size bytes of each.
func (r *report) print(x *process.Result, size int, made func(string) string) {
	var omittedOut, omittedErr int64
	r.Stdout, omittedOut = text(x.Stdout, size, made)
	r.Stderr, omittedErr = text(x.Stderr, size, made)
	r.Omitted = omittedOut + omittedErr
}

// factsOf encodes the facts of a run whose report is r. Control characters take
// six bytes each there, so that of much output full of them less is kept.
func (p *programs) factsOf(r report, x *process.Result) (json.RawMessage, error) {
	for size := p.config.MaxOutput; ; size /= 2 {
		r.print(x, size, valid)
		data, err := tool.Encode(facts{r, x.Elapsed.Milliseconds()})
		if err != nil || len(data) <= maxFacts {
			return data, err
		}
	}
}

// report turns a run into a result. A program that ended by itself is a
// result, whatever its exit code says, and its effect counts as landed. One
// that was ended is an error that proves nothing.
func (p *programs) report(name string, entry Entry, x process.Result, held string) (tool.Result, error) {
	r := report{
		Program: name, ExitCode: x.ExitCode, Signal: x.Signal,
		TimedOut: x.Ended == process.ByTime, Interrupted: x.Ended == process.ByCaller,
		Sandbox: held,
	}
	r.print(&x, p.config.MaxOutput, tool.Clean)

	failure := &tool.Error{} // its disposition is left to the class of the call
	switch x.Ended {
	case process.ByTime:
		failure.Code = tool.CodeTimeout
		r.Note = "stopped: its time was over"
	case process.ByCaller:
		failure.Code = kernel.CodeCancelled
		r.Note = "interrupted"
	case process.Unseen:
		failure.Code = kernel.CodeInternal
		r.Note = "how it ended was not seen"
	}
	if x.Ended != process.ByItself && entry.Effect != kernel.Read {
		r.Note += "; the effect may have taken place; its outcome is unknown"
	}
	text, err := tool.Encode(r)
	if err != nil {
		return tool.Result{}, &tool.Error{Message: "the program's report has no JSON form", Err: err}
	}
	data, err := p.factsOf(r, &x)
	if err != nil {
		return tool.Result{}, &tool.Error{Message: "the program's report has no JSON form", Err: err}
	}
	result := tool.Result{Text: string(text), Data: data, Disposition: kernel.Landed}
	if x.Ended != process.ByItself {
		failure.Message = r.Note
		return result, failure
	}
	return result, nil
}

// explainStart is the failure of a program that never ran.
func explainStart(name string, err error) error {
	if box := explainBox(name, err); box != nil {
		return box
	}
	e := &tool.Error{
		Code:        kernel.CodeConfiguration,
		Disposition: kernel.DidNotHappen,
		Err:         err,
	}
	why := "it cannot be executed"
	var errno syscall.Errno
	switch {
	case errors.Is(err, os.ErrClosed):
		e.Code, why = kernel.CodeCancelled, "the tool is closed"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Code, why = kernel.CodeCancelled, "it was interrupted before"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Code, why = kernel.CodeNotFound, "no such program on this machine"
	case errors.As(err, &errno):
		why = errno.Error()
		e.Transient = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ETXTBSY)
	}
	e.Message = "program " + strconv.Quote(name) + " was not started: " + why
	return e
}
