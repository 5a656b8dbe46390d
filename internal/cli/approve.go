package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// newApprover chooses who answers an ask that whoever asked may decide alone:
// everyone's yes, the person at the terminal, or nobody (nil), so that the run
// waits. A terminal is both where the question is seen and where the answer is
// typed; while it waits, nothing else is shown on d.
func newApprover(yes bool, stdin io.Reader, stderr io.Writer, d *display) policy.Approver {
	if yes {
		return alwaysYes{}
	}
	in, out := terminal(stdin), terminal(stderr)
	if in == nil || out == nil {
		return nil
	}
	return newPerson(in, out, d)
}

func newPerson(in *os.File, out io.Writer, d *display) *person {
	return &person{in: in, out: out, timeline: d, turn: make(chan struct{}, 1)}
}

// terminal returns v as a file when it is a terminal, and otherwise nil.
func terminal(v any) *os.File {
	if f, ok := v.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// alwaysYes approves everything: the person said so beforehand with --yes.
type alwaysYes struct{}

func (alwaysYes) Approve(context.Context, policy.Approval) (policy.Verdict, error) {
	return policy.Verdict{Approved: true, By: "--yes"}, nil
}

// person asks at a terminal, one question at a time. Only the line `yes`
// approves.
type person struct {
	in       *os.File
	out      io.Writer
	timeline *display      // most likely on the same screen
	turn     chan struct{} // holds one token while a question is on the screen
}

// Approve shows the call and reads one line. The end of ctx and a failing
// terminal refuse.
func (p *person) Approve(ctx context.Context, a policy.Approval) (policy.Verdict, error) {
	refused := policy.Verdict{By: "terminal", Reason: "the person at the terminal refused"}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return refused, ctx.Err()
	}
	p.timeline.await(ctx, a.Call)
	p.timeline.hold()
	defer p.timeline.release()
	line, err := p.ask(ctx, question(a, time.Now()))
	if err != nil {
		return refused, errors.Join(ctx.Err(), err)
	}
	if ctx.Err() != nil || line != "yes" {
		return refused, ctx.Err()
	}
	return policy.Verdict{Approved: true, By: "terminal"}, nil
}

// ask puts a question on the screen and reads the answer. What is shown next
// begins on a line of its own, whether or not a line was typed.
func (p *person) ask(ctx context.Context, question string) (string, error) {
	wake, stop, err := wakeAtEnd(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	// What was typed before the question could be read answers nothing.
	if err := flushInput(int(p.in.Fd())); err != nil {
		return "", err
	}
	if _, err := io.WriteString(p.out, question); err != nil {
		return "", err
	}
	line, ended, err := p.readLine(wake)
	if !ended {
		_, _ = io.WriteString(p.out, "\n") // the answer, or that there is none, stands all the same
	}
	return line, err
}

// question is the text of a prompt: what approvals show prints of an approval.
func question(a policy.Approval, now time.Time) string {
	p := journal.Approval{
		ID: a.ID, Run: a.Run, Session: a.Session, Tenant: a.Tenant, User: a.User, Call: a.Call, Tool: a.Tool, Arguments: a.Arguments,
		Effect: a.Effect, Reason: a.Reason, Approvers: a.Approvers, Expires: a.Expires, Hash: a.Hash,
	}
	return fmt.Sprintf("\napproval needed: %s\n%s%stype yes to allow; anything else refuses: ", toolAndEffect(&p), riskLine(a.Risk, ""), describeAsk(&p, now))
}

// exactArguments lays arguments out below an indent of four and escapes them,
// and leaves nothing out.
func exactArguments(arguments []byte) string {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, arguments, "    ", "  "); err != nil {
		pretty.Reset()
		pretty.Write(arguments)
	}
	return exactLines(pretty.String())
}

// maxAnswer bounds an answer's line, in bytes.
const maxAnswer = 1024

// readLine reads up to a line break, the end of the input (which is an empty
// answer) or the wake-up. ended says that the line break was typed.
func (p *person) readLine(wake int) (answer string, ended bool, err error) {
	var line []byte
	for len(line) < maxAnswer {
		ready, err := readable(int(p.in.Fd()), wake)
		if err != nil {
			return "", false, err
		}
		if !ready {
			return "", false, &kernel.Error{Code: kernel.CodeCancelled, Message: "the question was withdrawn"}
		}
		var buf [256]byte
		n, err := p.in.Read(buf[:])
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		line = append(line, buf[:n]...)
		if text, _, found := bytes.Cut(line, []byte("\n")); found {
			return strings.TrimSuffix(string(text), "\r"), true, nil
		}
	}
	return "", false, nil
}

// wakeAtEnd returns a descriptor that becomes readable when ctx ends, so that
// a wait for the keyboard can end with it and no goroutine stays behind.
func wakeAtEnd(ctx context.Context) (fd int, stop func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		_ = w.Close() // the reader sees the end
		close(done)
	})
	return int(r.Fd()), func() {
		if cancel() {
			_ = w.Close()
		} else {
			<-done
		}
		_ = r.Close()
	}, nil
}

// readable waits until in can be read (true) or wake can.
func readable(in, wake int) (bool, error) {
	if max(in, wake) >= unix.FD_SETSIZE {
		return false, &kernel.Error{Code: kernel.CodeInternal, Message: "too many open files to wait for an answer"}
	}
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(wake)
		n, err := unix.Select(max(in, wake)+1, &set, nil, nil, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, err
		}
		return n > 0 && set.IsSet(in) && !set.IsSet(wake), nil
	}
}
