package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// The variables that tell the test binary to play another process.
const (
	childPart = "HOLDFAST_JOURNAL_TEST_PART"
	childPath = "HOLDFAST_JOURNAL_TEST_PATH"
)

// child is another process on the same journal.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner // its lines
}

// startChild starts this test binary, or the copy of it at binary, in a part.
func startChild(t *testing.T, cmd *exec.Cmd, part, path string) *child {
	t.Helper()
	c, err := tryChild(t, cmd, part, path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tryChild says why a process cannot be started.
func tryChild(t *testing.T, cmd *exec.Cmd, part, path string) (*child, error) {
	t.Helper()
	cmd.Env = append(os.Environ(), childPart+"="+part, childPath+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: stdin, out: bufio.NewScanner(stdout)}
	t.Cleanup(c.kill)
	return c, nil
}

// kill ends the process as kill -9 does, and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()         // says that it was killed
}

// line returns the next line of its output, "" at the end.
func (c *child) line() string {
	if c.out.Scan() {
		return c.out.Text()
	}
	return ""
}

// finish lets it go on after what it waits for, and waits for its end.
func (c *child) finish(t *testing.T) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for c.out.Scan() { // Wait must not come before the end of the output
		t.Logf("the other process printed %q at its end", c.out.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
}

func playChild(part, path string) int {
	parts := map[string]func(context.Context, string) error{
		"append": childAppend, "open": childOpen, "lock": childLock, "report": childReport,
		"watch": childWatch, "full": childFull, "limited": childLimited, "hold": childHold, "drive": childDrive, "claim": childClaim,
	}
	if err := parts[part](context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, part, "in another process:", err)
		return 1
	}
	return 0
}

// childAppend appends to eight runs until it is killed, and prints each
// acknowledged record.
func childAppend(ctx context.Context, path string) error {
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for n := range errs {
		wg.Go(func() {
			run := fmt.Sprintf("run-%d", n)
			h, err := j.Head(ctx, run)
			if err != nil && kernel.CodeOf(err) != kernel.CodeNotFound {
				errs[n] = err
				return
			}
			for seq := h.LastSeq + 1; ; seq += 2 {
				if errs[n] = j.Append(ctx, journal.Entry{Head: headOf(run), Records: recordsOf(seq, 2)}); errs[n] != nil {
					return
				}
				fmt.Printf("%s %d\n", run, seq+1) // one write: not torn by the others
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// childOpen opens and closes the journal.
func childOpen(ctx context.Context, path string) error {
	fmt.Println("opening")
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	return j.Close()
}

// childLock holds the lock for writing until its stdin ends, and then gives up
// what it has written.
func childLock(ctx context.Context, path string) error {
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if _, err := j.writer.conn.ExecContext(ctx, `BEGIN IMMEDIATE; DELETE FROM events`); err != nil {
		return err
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
	if _, err := j.writer.conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		return err
	}
	return j.Close()
}

// childWatch reads all runs, again and again, until its stdin ends.
func childWatch(ctx context.Context, path string) error {
	r, err := OpenReader(ctx, path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("watching")
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		close(over)
	}()
	turn := time.NewTicker(5 * time.Millisecond)
	defer turn.Stop()
	for {
		select {
		case <-over:
			return r.Close()
		case <-turn.C:
		}
		heads, err := r.Heads(ctx, journal.Query{})
		if err != nil {
			return err
		}
		for _, h := range heads {
			if _, err := r.Read(ctx, h.Run, h.LastSeq-50, 0); err != nil {
				return err
			}
		}
	}
}

// childReport says what comes of opening the journal both ways, for a user who
// may not write.
func childReport(ctx context.Context, path string) error {
	var report openReport
	if j, err := Open(ctx, path, Options{}); err != nil {
		errors.As(err, &report.Open)
	} else {
		_ = j.Close()
	}
	if r, err := OpenReader(ctx, path, Options{}); err != nil {
		errors.As(err, &report.Reader)
	} else {
		heads, err := r.Heads(ctx, journal.Query{})
		errors.As(err, &report.Reader)
		report.Heads = len(heads)
		_ = r.Close()
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// openReport is what childReport prints; an error is nil for success.
type openReport struct {
	Open, Reader *kernel.Error
	Heads        int
}
