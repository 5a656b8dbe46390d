package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// Program judges a run by the last recorded result of one configured program:
// the arguments that the model gave it, its exit code and, where Stdout is set,
// what it printed. It is a value; set Tool and Program. It is safe for
// concurrent use.
//
// A program that did not run, timed out, was interrupted, whose effect is in
// doubt or that was given other arguments proves nothing: false, with that
// finding. A result that cannot be read is an error, so that the run stays
// unchecked.
type Program struct {
	Tool    string // the tool that runs programs, as the run knows it: "run_program"
	Program string // the program's configured name
	// Args are the arguments that the model is to give the program, in order,
	// beside its configured ones: another program's output proves nothing, and
	// neither does the same program's on other input. Empty: none.
	Args     []string
	ExitCode int
	// Stdout is the output to expect, compared byte for byte with what was
	// printed, escape sequences and carriage returns included, once one trailing
	// newline is taken off both; nil: not looked at. An output that is longer
	// than what a result records of it can never match.
	Stdout *string
}

var _ Verifier = Program{}

// maxShown bounds what a finding quotes of an output, in bytes.
const maxShown = 200

// programData is what is read of the facts beside a program's result.
type programData struct {
	Program     *string `json:"program"`
	ExitCode    *int    `json:"exit_code"`
	Signal      string  `json:"signal"` // not empty: what ended it
	Stdout      *string `json:"stdout"`
	Omitted     int64   `json:"omitted_bytes"` // of all output
	TimedOut    bool    `json:"timed_out"`
	Interrupted bool    `json:"interrupted"`
}

// Verify judges facts. INVALID_ARGUMENT says that a result cannot be read.
func (p Program) Verify(_ context.Context, facts Facts) (Verdict, error) {
	last, data, err := p.last(facts.Results)
	if err != nil {
		return Verdict{}, err
	}
	if last == nil {
		return Verdict{Finding: p.Program + " has not run"}, nil
	}
	v := Verdict{Evidence: []string{last.Evidence}}
	v.Finding, err = p.judge(last, data)
	if err != nil {
		return Verdict{}, err
	}
	if v.Finding == "" {
		v.Verified = true
		v.Finding = fmt.Sprintf("%s exited with %d", p.Program, p.ExitCode)
		if p.Stdout != nil {
			v.Finding += " and printed what was expected"
		}
	}
	return v, nil
}

// last finds the program's latest result and its facts. A result of the tool
// that does not say which program it is of cannot be passed over: it may be
// the latest one of this program.
func (p Program) last(results []Result) (*Result, *programData, error) {
	for i := len(results) - 1; i >= 0; i-- {
		r := &results[i]
		if r.Tool != p.Tool {
			continue
		}
		data, err := readProgram(r)
		if err != nil {
			return nil, nil, err
		}
		if *data.Program == p.Program {
			return r, data, nil
		}
	}
	return nil, nil, nil
}

// readProgram decodes a result's facts. A call that brought none (it never
// began, or its outcome is unknown) is known by its arguments alone.
func readProgram(r *Result) (*programData, error) {
	source := r.Data
	bare := len(bytes.TrimSpace(source)) == 0
	if bare {
		source = r.Arguments
	}
	var data programData
	if err := json.Unmarshal(source, &data); err != nil {
		return nil, unreadable(r, err)
	}
	if data.Program == nil {
		return nil, unreadable(r, nil)
	}
	if bare { // a model's arguments are no facts, whatever they hold
		data = programData{Program: data.Program}
	}
	return &data, nil
}

// judge returns why the result does not verify the run, or "".
func (p Program) judge(r *Result, data *programData) (string, error) {
	given, err := argumentsOf(r)
	switch {
	case err != nil:
		return "", err
	case data.TimedOut:
		return "the last run of " + p.Program + " timed out", nil
	case data.Interrupted:
		return "the last run of " + p.Program + " was interrupted", nil
	case r.Disposition == kernel.InDoubt:
		return "the outcome of the last run of " + p.Program + " is unknown", nil
	case r.Disposition == kernel.DidNotHappen:
		return "the last call of " + p.Program + " did not run it", nil
	case data.ExitCode == nil && r.IsError:
		return "the last run of " + p.Program + " failed", nil
	case data.ExitCode == nil:
		return "", unreadable(r, nil)
	case !slices.Equal(given, p.Args):
		return p.Program + " was run with arguments that the check does not name", nil
	case data.Signal != "":
		return fmt.Sprintf("%s was ended by a signal: %s", p.Program, shown(data.Signal)), nil
	case *data.ExitCode != p.ExitCode:
		return fmt.Sprintf("%s exited with %d, not %d", p.Program, *data.ExitCode, p.ExitCode), nil
	case p.Stdout == nil:
		return "", nil
	case data.Stdout == nil:
		return "", unreadable(r, nil)
	}
	return p.compare(*data.Stdout, data.Omitted), nil
}

// argumentsOf returns what the model gave the program of a result. One without
// any arguments on record was given none.
func argumentsOf(r *Result) ([]string, error) {
	if len(bytes.TrimSpace(r.Arguments)) == 0 {
		return nil, nil
	}
	var given struct {
		Args []string `json:"args"`
	}
	if err := json.Unmarshal(r.Arguments, &given); err != nil {
		return nil, unreadable(r, err)
	}
	return given.Args, nil
}

// compare returns how an output differs from the expected one, or "". An
// output that was cut holds a remark on the cut and is equal to nothing else;
// where the expected one would not have fitted, it might have been printed.
func (p Program) compare(stdout string, omitted int64) string {
	want, got := strings.TrimSuffix(*p.Stdout, "\n"), strings.TrimSuffix(stdout, "\n")
	switch {
	case got == want:
		return ""
	case omitted > 0 && len(want) >= len(got):
		return fmt.Sprintf("what was recorded of the output of %s was cut at %d bytes and cannot be judged: %d bytes are expected",
			p.Program, len(got), len(want))
	}
	finding := fmt.Sprintf("%s printed %s, not %s", p.Program, shown(got), shown(want))
	if omitted > 0 {
		finding += fmt.Sprintf("; %d bytes of its output were not kept", omitted)
	}
	return finding
}

// shown quotes s, cut on a rune at maxShown bytes.
func shown(s string) string {
	if len(s) <= maxShown {
		return fmt.Sprintf("%q", s)
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%q and %d bytes more", s[:n], len(s)-n)
}

// unreadable names the result and nothing of its content.
func unreadable(r *Result, cause error) error {
	return &kernel.Error{
		Code:    kernel.CodeInvalidArgument,
		Message: fmt.Sprintf("the facts of result %s cannot be read: a program's name, arguments, exit code and output are expected", r.Evidence),
		Err:     cause,
	}
}
