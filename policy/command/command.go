// Package command is hooks that are programs of their own: each look starts the
// program anew, gives it the call as one JSON object on standard input, and reads
// its verdict from standard output.
//
// A program passes a call by exiting with 0 after it has written exactly
// {"verdict":"pass"}, and refuses it with {"verdict":"refuse","reason":"…"}. Anything else refuses: another
// exit code, a signal, no output, other output or more of it, a program that
// cannot be started, and the end of its time. It can never grant.
//
// The program is started without a shell, in a process group of its own that is
// killed as a tree, and sees a short environment without the host's secrets.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// maxVerdict bounds what a program may write, in bytes: twice this at most is
// kept, and more than this is no verdict.
const maxVerdict = 4 << 10

// Hook is a program that looks at calls: a policy.Before and a policy.After. The
// zero value refuses everything. It is safe for concurrent use.
type Hook struct {
	// Argv is the program and its arguments. A name without a slash is looked up
	// in PATH, a relative path starts from Dir.
	Argv []string
	Dir  string            // working directory; empty: the host's own
	Env  map[string]string // beside the short environment; put no secret here
}

var (
	_ policy.Before = (*Hook)(nil)
	_ policy.After  = (*Hook)(nil)
)

// asked is what a program reads. The names are an interface.
type asked struct {
	Run       string          `json:"run"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	User      string          `json:"user"`
	Tenant    string          `json:"tenant"`
	// Of an after-hook alone.
	Result  *string `json:"result,omitempty"`
	IsError *bool   `json:"is_error,omitempty"`
}

func question(r *policy.Request) asked {
	q := asked{Run: r.Run, Call: r.Call, Tool: r.Tool, Arguments: r.Arguments, User: r.User, Tenant: r.Tenant}
	if !json.Valid(q.Arguments) { // of a call that was refused for them
		q.Arguments, _ = json.Marshal(string(r.Arguments)) // a string always has a JSON form
	}
	return q
}

// Before asks the program whether the call may run. It returns no error: what
// is no verdict is a refusal that says so.
func (h *Hook) Before(ctx context.Context, r policy.Request) (string, error) {
	v, fault := h.ask(ctx, question(&r))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case fault != "":
		return fault, nil
	case v.Verdict == refuse && strings.TrimSpace(v.Reason) == "":
		return "it gave no reason", nil
	case v.Verdict == refuse:
		return kernel.Clip(v.Reason, 1000), nil
	}
	return "", nil
}

// After shows the program what became of the call. A refusal, and what is no
// verdict, is an error, which is a warning of the run and nothing more.
func (h *Hook) After(ctx context.Context, r policy.Request, a policy.Answered) error {
	q := question(&r)
	q.Result, q.IsError = &a.Text, &a.IsError
	v, fault := h.ask(ctx, q)
	switch {
	case fault != "":
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fault}
	case v.Verdict == refuse:
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "it objects: " + kernel.Clip(v.Reason, 1000)}
	}
	return nil
}

// The verdicts.
const (
	pass   = "pass"
	refuse = "refuse"
)

type verdict struct{ Verdict, Reason string }

// ask runs the program. fault says why there is no verdict, and is safe to show:
// it holds nothing that the program wrote.
func (h *Hook) ask(ctx context.Context, q asked) (v verdict, fault string) {
	if len(h.Argv) == 0 {
		return v, "it names no program"
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(q); err != nil {
		return v, "the call has no JSON form"
	}
	r, err := process.Command{
		Argv: h.Argv, Dir: h.Dir, Env: process.Environment(h.Env), Stdin: in.Bytes(), MaxOutput: maxVerdict,
	}.Run(ctx)
	switch {
	case err != nil:
		return v, "its program cannot be started"
	case r.Ended != process.ByItself:
		return v, "its program was ended before it gave a verdict"
	case r.Signal != "":
		return v, fmt.Sprintf("its program was ended by a signal (%s)", r.Signal)
	case r.ExitCode != 0:
		return v, fmt.Sprintf("its program exited with %d, which is no verdict", r.ExitCode)
	case r.Stdout.Total > maxVerdict:
		return v, "its program wrote too much for a verdict"
	}
	return read(r.Stdout.Head)
}

// read is strict: one object of these two keys, spelled like this, each once, and
// nothing behind it.
func read(b []byte) (v verdict, fault string) {
	const none = `its program gave no verdict: it has to write {"verdict":"pass"} or {"verdict":"refuse","reason":"…"}`
	b = bytes.TrimSpace(b)
	var fields map[string]any // a struct would take keys in any case
	if kernel.CheckArguments(string(b)) != nil || json.Unmarshal(b, &fields) != nil {
		return verdict{}, none
	}
	word, _ := fields["verdict"].(string)
	reason, given := fields["reason"].(string)
	switch {
	case word == pass && len(fields) == 1, word == refuse && len(fields) == 1, word == refuse && len(fields) == 2 && given:
		return verdict{word, reason}, ""
	}
	return verdict{}, none
}
