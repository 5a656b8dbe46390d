//go:build linux || darwin

package process_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(script string) process.Command {
	return process.Command{
		Argv: []string{"sh", "-c", script}, Env: process.Environment(nil),
		MaxOutput: 1 << 10, Grace: 50 * time.Millisecond,
	}
}

func run(t *testing.T, c process.Command) process.Result {
	t.Helper()
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	c := sh(`cat; echo problem >&2; exit 3`)
	c.Stdin = []byte("question")
	r := run(t, c)
	if r.ExitCode != 3 || r.Ended != process.ByItself || string(r.Stdout.Head) != "question" || r.Stderr.Last(5) != "blem\n" {
		t.Errorf("%+v", r)
	}
	if r := run(t, sh("kill -SEGV $$")); r.ExitCode != -1 || r.Signal != syscall.SIGSEGV.String() || r.Ended != process.ByItself {
		t.Errorf("%+v", r)
	}
}

// What a program does not read of its input is no failure of anybody's.
func TestUnreadInput(t *testing.T) {
	c := sh("exit 0")
	c.Stdin = make([]byte, 1<<20)
	if r := run(t, c); r.ExitCode != 0 || r.Ended != process.ByItself {
		t.Errorf("%+v", r)
	}
}

func TestOutputIsBounded(t *testing.T) {
	r := run(t, sh(`printf begin; head -c 100000 /dev/zero; printf end`))
	o := r.Stdout
	if len(o.Head) != 1<<10 || len(o.Tail) != 1<<10 || o.Total != 100008 || o.Omitted() != 100008-2<<10 {
		t.Errorf("%d, %d of %d", len(o.Head), len(o.Tail), o.Total)
	}
	if !strings.HasPrefix(string(o.Head), "begin\x00") || o.Last(4) != "\x00end" {
		t.Errorf("%.8q … %q", o.Head, o.Last(4))
	}
}

func TestLast(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "", 3: "語", 5: "語", 6: "日語", 100: "a日語"} {
		if got := (process.Output{Head: []byte("a日"), Tail: []byte("語"), Total: 7}).Last(n); got != want {
			t.Errorf("Last(%d) = %q, want %q", n, got, want)
		}
	}
	if got := (process.Output{Head: []byte("a"), Tail: []byte("b\xff"), Total: 9}).Last(9); got != "b\ufffd" {
		t.Errorf("Last = %q", got)
	}
}

// Report A22: a short list and what was configured, also where nothing was.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-x")
	t.Setenv("SESSION_SECRET", "y")
	t.Setenv("TZ", "UTC")
	t.Setenv("LANG", "C")
	for _, extra := range []map[string]string{nil, {}, {"A": "1", "LANG": "de_DE"}} {
		env := process.Environment(extra)
		for _, entry := range env {
			name, _, _ := strings.Cut(entry, "=")
			_, configured := extra[name]
			if !configured && !slices.Contains([]string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"}, name) {
				t.Errorf("%s is in it", name)
			}
		}
		if !slices.Contains(env, "TZ=UTC") || slices.Contains(env, "A=1") != (extra["A"] != "") || slices.Contains(env, "LANG=C") == (extra["LANG"] != "") {
			t.Errorf("%q", env)
		}
	}
	c := sh("env")
	c.Argv, c.Env = []string{"env"}, nil
	if r := run(t, c); r.Stdout.Total != 0 {
		t.Errorf("without an environment: %q", r.Stdout.Head)
	}
}

func TestNotStarted(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sh("true").Run(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	closed := make(chan struct{})
	close(closed)
	c := sh("true")
	c.Kill = closed
	if _, err := c.Run(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Start(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	c = process.Command{Argv: []string{"/no/such/program"}, MaxOutput: 1}
	if _, err := c.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := c.Start(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What is in the pipe by the end is read, however late.
func TestSlowReader(t *testing.T) {
	p, _ := start(t, `head -c 60000 /dev/zero`)
	p.Wait()
	b := make([]byte, 1000)
	total := 0
	for {
		n, err := p.Stdout.Read(b)
		if total += n; err != nil {
			break
		}
		if total == 1000 {
			if _, err := sh("sleep 0.4").Run(t.Context()); err != nil { // longer than Drain
				t.Fatal(err)
			}
		}
	}
	if total != 60000 {
		t.Errorf("%d bytes", total)
	}
}

// Many at once lose nothing of their output.
func TestManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if r, err := sh("echo hi | cat").Run(t.Context()); err != nil || string(r.Stdout.Head) != "hi\n" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
}

// Report A18: the tree of a program ends at its deadline, whatever ignores
// SIGTERM and whoever holds a pipe open.
func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := sh(`trap "" TERM; echo begun; sleep 600 & sleep 600`).Run(ctx)
	if err != nil || r.Ended != process.ByTime || r.Signal != syscall.SIGKILL.String() || string(r.Stdout.Head) != "begun\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

func start(t *testing.T, script string) (*process.Process, *bufio.Reader) {
	t.Helper()
	p, err := sh(script).Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(0)
		_ = p.Stdout.Close()
	})
	return p, bufio.NewReader(p.Stdout)
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLiveProcess(t *testing.T) {
	p, out := start(t, `while read -r word; do echo "got $word"; echo "log $word" >&2; done; echo over; exit 4`)
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(p.Stdin, word+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := line(t, out); got != "got "+word+"\n" {
			t.Errorf("%q", got)
		}
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	r := p.Wait()
	if r.ExitCode != 4 || r.Ended != process.ByItself || r.Stderr.Last(100) != "log one\nlog two\n" || p.Stderr().Total != r.Stderr.Total {
		t.Errorf("%+v", r)
	}
	// What it wrote before its end is still there to be read.
	if rest, err := io.ReadAll(out); err != nil || string(rest) != "over\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestStop(t *testing.T) {
	p, out := start(t, `trap "" TERM; (trap "" TERM; echo ready; sleep 600) & wait; sleep 600`)
	line(t, out)
	if r := p.Stop(10 * time.Millisecond); r.Ended != process.ByCaller || r.Signal != syscall.SIGKILL.String() {
		t.Errorf("%+v", r)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if r := p.Stop(time.Hour); r.Ended != process.ByCaller {
		t.Errorf("stopped twice: %+v", r)
	}
}

// What a program leaves behind ends with it, and one that has left the group
// holds up neither the wait nor the reader.
func TestWhatIsLeftBehind(t *testing.T) {
	p, out := start(t, `sleep 600 & echo left; exit 0`)
	line(t, out)
	if r := p.Wait(); r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := out.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
