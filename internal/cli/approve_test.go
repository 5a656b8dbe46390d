package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// keyboard is a terminal and the person who sits at it.
type keyboard struct {
	t      *testing.T
	person *os.File // the person's side
	seen   strings.Builder
}

func newKeyboard(t *testing.T) (*keyboard, policy.Approver) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close()
	})
	return &keyboard{t: t, person: master}, newApprover(false, slave, slave, newDisplay(slave))
}

// waitFor reads what the screen shows until it holds text n times.
func (k *keyboard) waitFor(text string, n int) {
	k.t.Helper()
	buf := make([]byte, 4096)
	for strings.Count(k.seen.String(), text) < n {
		m, err := k.person.Read(buf)
		if err != nil {
			k.t.Fatalf("the screen ended before %q: %q", text, k.seen.String())
		}
		k.seen.Write(buf[:m])
	}
}

func (k *keyboard) typeIn(s string) {
	k.t.Helper()
	if _, err := k.person.WriteString(s); err != nil {
		k.t.Fatal(err)
	}
}

const prompt = "anything else refuses: "

func approvalOf(arguments string) policy.Approval {
	return policy.Approval{
		Request: policy.Request{Run: "run1", Call: "call_1", Tool: "run_program", Effect: kernel.Once, Arguments: json.RawMessage(arguments)},
		Reason:  "policy rule 2: ask run_program",
		Hash:    "0123456789abcdef",
	}
}

type answer struct {
	policy.Verdict
	err error
}

func ask(ctx context.Context, p policy.Approver, arguments string) <-chan answer {
	c := make(chan answer, 1)
	go func() {
		v, err := p.Approve(ctx, approvalOf(arguments))
		c <- answer{v, err}
	}()
	return c
}

// Case 38 and row 40: exactly `yes` approves; anything else and the end of the
// input refuse.
func TestPersonApprovesWithYesAlone(t *testing.T) {
	tests := []struct {
		typed string
		want  bool
	}{
		{"yes\n", true},
		{"YES\n", false},
		{"no\n", false},
		{"\n", false},
		{"y\n", false},
		{" yes\n", false},
		{"yes \n", false},
		{"yes please\n", false},
		{"\x04", false}, // end of input
	}
	for _, tt := range tests {
		t.Run(tt.typed, func(t *testing.T) {
			k, p := newKeyboard(t)
			got := ask(t.Context(), p, `{"program":"main"}`)
			k.waitFor(prompt, 1)
			k.typeIn(tt.typed)
			if a := <-got; a.err != nil || a.Approved != tt.want {
				t.Errorf("got %+v, want approved %v", a, tt.want)
			}
		})
	}
}

// What was typed before the question was shown answers nothing, and is no part
// of an answer.
func TestPersonIgnoresWhatWasTypedAhead(t *testing.T) {
	for _, tt := range []struct {
		ahead, echo, then string
		want              bool
	}{
		{"yes\n", "yes\r\n", "no\n", false},
		{"yes", "yes", "\n", false},
		{"no\nno", "no\r\nno", "yes\n", true},
	} {
		k, p := newKeyboard(t)
		k.typeIn(tt.ahead)
		k.waitFor(tt.echo, 1) // the terminal has taken it
		got := ask(t.Context(), p, `{}`)
		k.waitFor(prompt, 1)
		k.typeIn(tt.then)
		if a := <-got; a.err != nil || a.Approved != tt.want {
			t.Errorf("%q and then %q: got %+v", tt.ahead, tt.then, a)
		}
	}
}

// The end of the run withdraws the question, and leaves nothing behind.
func TestPersonRefusesWhenTheRunEnds(t *testing.T) {
	k, p := newKeyboard(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := ask(ctx, p, `{}`)
	k.waitFor(prompt, 1)
	cancel()
	if a := <-got; a.Approved || !errors.Is(a.err, context.Canceled) {
		t.Errorf("got %+v", a)
	}
	// The terminal is free for the next question.
	got = ask(t.Context(), p, `{}`)
	k.waitFor(prompt, 2)
	k.typeIn("yes\n")
	if a := <-got; a.err != nil || !a.Approved {
		t.Errorf("got %+v", a)
	}
	if a := <-ask(ctx, p, `{}`); a.Approved || a.err == nil {
		t.Errorf("an ended run was asked about: %+v", a)
	}
}

// The timeline waits while a question does, and what follows a question begins
// on a line of its own, however that ended.
func TestTimelineWaitsForTheAnswer(t *testing.T) {
	for _, c := range []struct {
		typed  string
		screen string // what follows the question
	}{
		{"yes\n", "yes\r\ncall call_1: started\r\n"},
		{"\x04", "\r\ncall call_1: started\r\n"},
		{"", "\r\ncall call_1: started\r\n"}, // withdrawn
	} {
		k, p := newKeyboard(t)
		d := p.(*person).timeline
		ctx, cancel := context.WithCancel(t.Context())
		got := ask(ctx, p, `{}`)
		k.waitFor(prompt, 1)
		d.update(engine.Update{Event: kernel.CallStarted{Call: "call_1"}})
		if c.typed == "" {
			cancel()
		} else {
			k.typeIn(c.typed)
		}
		<-got
		cancel()
		d.printf("end")
		k.waitFor("end", 1)
		if _, after, _ := strings.Cut(k.seen.String(), prompt); after != c.screen+"end" {
			t.Errorf("typed %q: %q follows the question", c.typed, after)
		}
	}
}

// Two calls are asked about one after the other.
func TestPersonAsksOneQuestionAtATime(t *testing.T) {
	k, p := newKeyboard(t)
	var mu sync.Mutex
	approved := 0
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if v, err := p.Approve(t.Context(), approvalOf(`{}`)); err == nil && v.Approved {
				mu.Lock()
				approved++
				mu.Unlock()
			}
		})
	}
	k.waitFor(prompt, 1)
	if n := strings.Count(k.seen.String(), "approval needed"); n != 1 {
		t.Errorf("%d questions on the screen", n)
	}
	k.typeIn("yes\n")
	k.waitFor(prompt, 2)
	k.typeIn("no\n")
	wg.Wait()
	if approved != 1 {
		t.Errorf("%d approved, want 1", approved)
	}
}

// What is asked about is shown exactly: every digit, every invisible
// character, and nothing that moves the cursor.
func TestQuestionShowsTheExactArguments(t *testing.T) {
	q := question(approvalOf("{\"id\":9007199254740993,\"cmd\":\"a\u202Eb\u200Bc\",\"raw\":\"\\u001b[2J\"}"), time.Time{})
	for _, want := range []string{"run_program (effect once)", "9007199254740993", `a\u202eb\u200bc`, `\u001b[2J`, "policy rule 2: ask run_program", "call_1", "hash 0123456789abcdef"} {
		if !strings.Contains(q, want) {
			t.Errorf("%q is missing in\n%s", want, q)
		}
	}
	a := approvalOf("{\x1b[2J\x07")
	a.Tool, a.Reason = "x\x1b[31m", "line\nbreak"
	q = question(a, time.Time{})
	if strings.ContainsAny(q, "\x1b\x07\r") || strings.Contains(q, "line\nbreak") {
		t.Errorf("control characters reach the terminal: %q", q)
	}
}

// The prompt says how long there is to decide, and who may.
func TestQuestionSaysHowLongIsLeft(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		expires time.Time
		want    string
	}{
		{now.Add(29_600 * time.Millisecond), "\n  until 2023-11-14T22:13:49Z (in 30s)\n"},
		{now.Add(12 * time.Hour), " (in 12h0m0s)\n"},
		{now, " (which is over)\n"},
		{time.Time{}, "\n  to be decided by anyone\n  hash 0f\n"},
	} {
		a := approvalOf(`{}`)
		a.Expires, a.Hash = c.expires, "0f"
		if q := question(a, now); !strings.Contains(q, c.want) || strings.Contains(q, "until") == c.expires.IsZero() || !strings.HasSuffix(q, prompt) {
			t.Errorf("%v: %q", c.expires, q)
		}
	}
}

// Without a terminal to type at and one to read the question on, nobody is
// asked: the run waits.
func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	if p := newApprover(false, strings.NewReader("yes\n"), &out, newDisplay(&out)); p != nil {
		t.Errorf("%T is asked", p)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if p := newApprover(false, slave, &out, newDisplay(&out)); p != nil {
		t.Errorf("%T is asked", p)
	}
}

func TestYesBeforehandApproves(t *testing.T) {
	v, err := newApprover(true, strings.NewReader(""), io.Discard, newDisplay(io.Discard)).Approve(t.Context(), approvalOf(`{}`))
	if err != nil || !v.Approved || v.By != "--yes" {
		t.Errorf("got %+v, %v", v, err)
	}
}
