package enginetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// Pause says where a process waits, once it has said so, until it is let go on.
type Pause string

// The places.
const (
	PauseClaimed Pause = "claimed" // right behind the commit that claims charge
	PauseBegun   Pause = "begun"   // in charge, before its effect
)

// The marks of a pause, as files of the world.
const (
	paused  = "paused"
	quieten = "quieten" // it is about to be stopped
	quiet   = "quiet"
	goesOn  = "goes on"
)

// pause waits in a process of the suite.
func (p *part) pause() {
	mark(p.Dir, paused)
	await(p.Dir, quieten)
	p.quiet.Lock()
	defer p.quiet.Unlock()
	mark(p.Dir, quiet)
	await(p.Dir, goesOn)
}

func mark(dir, name string) { _ = os.WriteFile(filepath.Join(dir, name), nil, 0o600) }

// await waits for a mark, in good time.
func await(dir, name string) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		if there(dir, name) {
			return true
		}
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
}

func there(dir, mark string) bool {
	_, err := os.Stat(filepath.Join(dir, mark))
	return err == nil
}

// outlivedLease is Report A31: a process that drives a run keeps others from it;
// stopped past its lease, it finds the run taken over when it goes on: nothing
// that it writes is taken, and an effect that had not begun does not happen.
func outlivedLease(t *testing.T, s Subject) {
	for _, at := range []Pause{PauseClaimed, PauseBegun} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := begins(t, part{Dir: dir, Pause: at})
			wantRefused(t, s, dir)
			p.stops(t, dir)
			before := read(t, dir) // reading needs no lease
			goOn(t, s, dir)        // once the lease has ended
			taken := read(t, dir)
			taken.wantSound(t)
			if got := taken.results()[charge]; !before.running(charge) || !strings.HasPrefix(got, "Interrupted, may have taken effect") || len(taken.outside[charge]) != 0 {
				t.Errorf("taken over as %q, charged %d times", got, len(taken.outside[charge]))
			}
			p.wakes(t, dir)
			after := read(t, dir)
			after.wantSound(t)
			want := 0
			if at == PauseBegun {
				want = 1 // as the ledger says: nobody knows
			}
			if after.head != taken.head || len(after.outside[charge]) != want {
				t.Errorf("when it goes on: %+v, was %+v; charged %d times, want %d", after.head, taken.head, len(after.outside[charge]), want)
			}
		})
	}
}

// sleeper is a process that pauses.
type sleeper struct {
	cmd    *exec.Cmd
	stderr *strings.Builder
}

// begins lets another process play a part, and waits until it pauses.
func begins(t *testing.T, p part) *sleeper {
	t.Helper()
	cmd := command(context.Background(), t, p)
	out := &strings.Builder{}
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !await(p.Dir, paused) {
		t.Fatalf("it does not pause: %s", out)
	}
	return &sleeper{cmd, out}
}

// stops stops the process as if its machine had no time for it.
func (p *sleeper) stops(t *testing.T, dir string) {
	t.Helper()
	mark(dir, quieten)
	if !await(dir, quiet) {
		t.Fatalf("it goes on writing: %s", p.stderr)
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// wakes lets the process go on, to its end. It may say that it lost its lease.
func (p *sleeper) wakes(t *testing.T, dir string) {
	t.Helper()
	mark(dir, goesOn)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil && !strings.Contains(p.stderr.String(), string(kernel.CodeLeaseLost)) {
		t.Errorf("it ends with %v: %s", err, p.stderr)
	}
}

// wantRefused holds off others while a run is driven: nobody takes it over, and
// no second run of its session begins.
func wantRefused(t *testing.T, s Subject, dir string) {
	t.Helper()
	j := open(t, dir)
	defer func() { _ = j.Close() }()
	head, err := j.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	e := other(t, s, dir, j)
	defer func() { _ = e.Close() }()
	a, err := agent(part{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), engine.Start{Agent: a, Question: "me too", Session: "s", User: "ann"}); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("a second run of the session: %v", err)
	}
	if err := e.Work(t.Context()); err != nil {
		t.Error(err)
	}
	after, err := j.Head(t.Context(), run)
	if err != nil || after.Lease.Owner != head.Lease.Owner || after.Lease.Token != head.Lease.Token || after.LastSeq != head.LastSeq {
		t.Errorf("while it is driven %+v became %+v, %v", head, after, err)
	}
}

func other(t *testing.T, s Subject, dir string, j *sqlite.Journal) Engine {
	t.Helper()
	e, err := s(Config{Journal: j, Lease: lease, Agents: func(context.Context, *engine.Stored) (*engine.Agent, error) { return agent(part{Dir: dir}) }})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// claims reports whether an entry claims the effect that a pause is about.
func claims(e *journal.Entry) bool { return e.Claim != nil && e.Claim.Tool == charge }
