package durable_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/durable"
	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/bench/store"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

func open(t testing.TB, path string) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func agentOf(t testing.TB, turns int, class kernel.EffectClass, answer kernel.Answer) *engine.Agent {
	t.Helper()
	a, err := durable.Agent(turns, class, answer)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func engineOn(t testing.TB, j journal.Journal, agent *engine.Agent) *local.Engine {
	t.Helper()
	e, err := local.New(local.Config{Journal: j, Agents: func(context.Context, *engine.Stored) (*engine.Agent, error) { return agent, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// driven drives runs on a new file and returns how long that took, what was
// appended and how many transactions it was.
func driven(t testing.TB, agent *engine.Agent, runs, atOnce int) (time.Duration, []journal.Entry, int64) {
	t.Helper()
	j := open(t, filepath.Join(t.TempDir(), "runs.db"))
	recorder := &durable.Recorder{Journal: j}
	e := engineOn(t, recorder, agent)
	begun := time.Now()
	if err := durable.Drive(t.Context(), e, agent, runs, atOnce, false); err != nil {
		t.Fatal(err)
	}
	took, commits := time.Since(begun), j.Stats().Commits
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return took, recorder.Entries, commits
}

// written writes the rows of the same events and runs with one goroutine that
// knows them beforehand, so many appends in one transaction.
func written(t testing.TB, entries []journal.Entry, atOnce int) time.Duration {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	if err := open(t, path).Close(); err != nil { // makes the file
		t.Fatal(err)
	}
	b, err := store.OpenBare(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for rest := entries; len(rest) > 0; {
		n := min(atOnce, len(rest))
		if err := b.Commit(t.Context(), rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	took := time.Since(begun)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

const turns = 20

// Both sides of BenchmarkTurns do the whole work.
func TestTurns(t *testing.T) {
	agent := agentOf(t, 3, kernel.Once, kernel.Allow)
	_, entries, commits := driven(t, agent, 5, 5)
	claims := 0
	for i := range entries {
		if entries[i].Claim != nil {
			claims++
		}
	}
	if commits == 0 || claims != 5*2 {
		t.Errorf("%d entries with %d claims in %d commits, want 2 claims of each run", len(entries), claims, commits)
	}
	written(t, entries, 5)
}

// BenchmarkTurns compares durable turns a second, 100 runs at once on one file,
// with a bare loop that writes the same rows (events, runs, effects, seals), a
// hundred appends to a transaction. One iteration is one round of both.
func BenchmarkTurns(b *testing.B) {
	for _, class := range []kernel.EffectClass{kernel.Read, kernel.Once} {
		b.Run(string(class), func(b *testing.B) {
			agent := agentOf(b, turns, class, kernel.Allow)
			var rate, ratio, shared []float64
			for b.Loop() {
				took, entries, commits := driven(b, agent, 100, 100)
				bare := written(b, entries, 100)
				rate = append(rate, 100*turns/took.Seconds())
				ratio = append(ratio, bare.Seconds()/took.Seconds())
				shared = append(shared, float64(len(entries))/float64(commits))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(measure.Median(rate), "turns/s")
			b.ReportMetric(measure.Median(ratio), "vs-bare")
			b.ReportMetric(measure.Median(shared), "appends/commit")
		})
	}
}

// BenchmarkSingle is one run alone: what it syncs in each turn.
func BenchmarkSingle(b *testing.B) {
	for _, class := range []kernel.EffectClass{kernel.Read, kernel.Once} {
		b.Run(string(class), func(b *testing.B) {
			agent := agentOf(b, turns, class, kernel.Allow)
			var syncs, span []float64
			for b.Loop() {
				took, _, commits := driven(b, agent, 1, 1)
				syncs = append(syncs, float64(commits)/turns)
				span = append(span, took.Seconds()*1e3/turns)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(measure.Median(syncs), "commits/turn")
			b.ReportMetric(measure.Median(span), "ms/turn")
		})
	}
}

// BenchmarkRebuild takes a run of 1,000 turns over from its file: read, replay,
// and everything that its next request needs.
func BenchmarkRebuild(b *testing.B) {
	agent := agentOf(b, 1000, kernel.Once, kernel.Allow)
	path := filepath.Join(b.TempDir(), "runs.db")
	j := open(b, path)
	defer j.Close()
	e := engineOn(b, j, agent)
	if err := durable.Drive(b.Context(), e, agent, 1, 1, false); err != nil {
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	var span []float64
	for b.Loop() {
		begun := time.Now()
		stored, err := engine.ReadStored(b.Context(), j, fmt.Sprintf("run_%026d", 0))
		if err != nil {
			b.Fatal(err)
		}
		x, err := engine.Resume(engine.Env{Log: engine.QuietLog(nil)}, agent, stored, nil)
		if err != nil || x.State.Turn != 1000 {
			b.Fatal(err)
		}
		span = append(span, float64(time.Since(begun).Microseconds())/1e3)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(span), "ms")
}

const waiters = 10_000

// TestMain is also the worker of BenchmarkWaiting: a process of its own, whose
// memory holds nothing of how the runs came to wait.
func TestMain(m *testing.M) {
	if path := os.Getenv("BENCH_WORKER"); path != "" {
		if err := worker(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// worker works on the file, decides on a hundred approvals, one after another,
// and prints what it used.
func worker(path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	agent, err := durable.Agent(2, kernel.Once, kernel.Ask)
	if err != nil {
		return err
	}
	e, err := local.New(local.Config{Journal: j, Agents: func(context.Context, *engine.Stored) (*engine.Agent, error) { return agent, nil }})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- e.Work(ctx, local.Workload{}) }()
	open, err := j.Approvals(ctx, journal.ApprovalQuery{State: journal.ApprovalOpen, Limit: 100})
	if err != nil {
		return err
	}
	var spans []float64
	for _, a := range open {
		begun := time.Now()
		if err := e.Signal(ctx, a.Run, engine.Signal{Kind: engine.SignalApprove, Approval: a.ID, By: "bench"}); err != nil {
			return err
		}
		for u, err := range e.Watch(ctx, a.Run, 0) {
			if err != nil {
				return err
			}
			if u.Event != nil && u.Event.Kind() == kernel.KindCallStarted {
				break
			}
		}
		spans = append(spans, float64(time.Since(begun).Microseconds())/1e3)
	}
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	var rss float64
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			rss, _ = strconv.ParseFloat(f[1], 64)
		}
	}
	fmt.Println(len(open), runtime.NumGoroutine(), rss/1024, measure.Median(spans))
	cancel()
	return <-done
}

// BenchmarkWaiting puts 10,000 runs before a person, and then lets a worker on
// the same file go on with those that are decided.
func BenchmarkWaiting(b *testing.B) {
	agent := agentOf(b, 2, kernel.Once, kernel.Ask)
	path := filepath.Join(b.TempDir(), "runs.db")
	j := open(b, path)
	e := engineOn(b, j, agent)
	if err := durable.Drive(b.Context(), e, agent, waiters, 100, true); err != nil {
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	var goroutines, rss, span []float64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "BENCH_WORKER="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var decided int
		var g, mb, ms float64
		if _, err := fmt.Sscan(string(out), &decided, &g, &mb, &ms); err != nil || decided != 100 {
			b.Fatalf("the worker says %q: %v", out, err)
		}
		goroutines, rss, span = append(goroutines, g), append(rss, mb), append(span, ms)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(goroutines), "goroutines")
	b.ReportMetric(measure.Median(rss), "rss-MB")
	b.ReportMetric(measure.Median(span), "ms/decision")
}
