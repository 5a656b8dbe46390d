package process_test

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-run/holdfast/internal/process"
)

// A process that has left the group holds the pipes open, and holds up neither
// the wait nor the reader.
func TestEscapedProcess(t *testing.T) {
	p, out := start(t, `setsid sh -c 'echo $$; exec sleep 600' & read -r line; exit 0`)
	escaped, err := strconv.Atoi(strings.TrimSpace(line(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(escaped, syscall.SIGKILL) })
	if _, err := io.WriteString(p.Stdin, "go on\n"); err != nil {
		t.Fatal(err)
	}
	if r := p.Wait(); r.ExitCode != 0 || r.Ended != process.ByItself {
		t.Errorf("%+v", r)
	}
	if _, err := out.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := syscall.Kill(escaped, 0); err != nil {
		t.Errorf("it has not outlived the program: %v", err)
	}
}

// Limits hold from the first instruction on, and for children.
func TestLimits(t *testing.T) {
	c := sh(`ulimit -n; ulimit -H -n; sh -c 'ulimit -n'`)
	c.Limits = map[int]uint64{unix.RLIMIT_NOFILE: 17}
	if r := run(t, c); string(r.Stdout.Head) != "17\n17\n17\n" {
		t.Errorf("%+v", r)
	}
	// A higher limit than the host's own does not lift that.
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	c.Argv = []string{"sh", "-c", "ulimit -H -n"}
	c.Limits = map[int]uint64{unix.RLIMIT_NOFILE: unix.RLIM_INFINITY}
	if r := run(t, c); string(r.Stdout.Head) != strconv.FormatUint(own.Max, 10)+"\n" {
		t.Errorf("%+v, host %+v", r, own)
	}
	c.Limits = map[int]uint64{999: 1}
	if _, err := c.Run(t.Context()); !errors.Is(err, unix.EINVAL) {
		t.Errorf("an unknown limit: %v", err)
	}
}

// What is done to the thread reaches the program and nobody else: no other
// thread of the host has it, not now and not later.
func TestThread(t *testing.T) {
	const question = `grep NoNewPrivs /proc/self/status`
	c := sh(question)
	c.Thread = func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }
	for range 20 {
		if r := run(t, c); string(r.Stdout.Head) != "NoNewPrivs:\t1\n" {
			t.Errorf("%+v", r)
		}
		if r := run(t, sh(question)); string(r.Stdout.Head) != "NoNewPrivs:\t0\n" {
			t.Errorf("%+v", r)
		}
	}
	failure := errors.New("no")
	c.Thread = func() error { return failure }
	if _, err := c.Run(t.Context()); !errors.Is(err, failure) {
		t.Error(err)
	}
}

// A program has no terminal to read from or to write into.
func TestNoTerminal(t *testing.T) {
	if r := run(t, sh(`exec 2>/dev/null; if echo x >/dev/tty; then echo found; else echo none; fi`)); string(r.Stdout.Head) != "none\n" {
		t.Errorf("%+v", r)
	}
}

func TestFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := sh("echo here >&3")
	c.Files = []*os.File{w}
	run(t, c)
	_ = w.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "here\n" {
		t.Errorf("%q, %v", b, err)
	}
}
