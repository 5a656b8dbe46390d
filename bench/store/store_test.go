package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/bench/store"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/sqlite"
)

// contender writes the appends of many runs into a new file, and returns how
// long that took and how many transactions it was.
type contender func(ctx context.Context, path string, runs [][]journal.Entry) (time.Duration, int64, error)

// journaled appends with one goroutine a run.
func journaled(ctx context.Context, path string, runs [][]journal.Entry) (time.Duration, int64, error) {
	j, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return 0, 0, err
	}
	errs := make(chan error, len(runs))
	var wg sync.WaitGroup
	begun := time.Now()
	for _, appends := range runs {
		wg.Go(func() {
			for _, a := range appends {
				if err := j.Append(ctx, a); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	commits := j.Stats().Commits
	close(errs)
	if err := <-errs; err != nil {
		return 0, 0, err
	}
	return took, commits, j.Close()
}

// bare writes one append of each run in one transaction.
func bare(heads bool) contender {
	return func(ctx context.Context, path string, runs [][]journal.Entry) (time.Duration, int64, error) {
		j, err := sqlite.Open(ctx, path, sqlite.Options{}) // makes the file
		if err != nil {
			return 0, 0, err
		}
		if err := j.Close(); err != nil {
			return 0, 0, err
		}
		b, err := store.OpenBare(ctx, path, heads)
		if err != nil {
			return 0, 0, err
		}
		batch := make([]journal.Entry, len(runs))
		begun := time.Now()
		for n := range runs[0] {
			for i := range runs {
				batch[i] = runs[i][n]
			}
			if err := b.Commit(ctx, batch); err != nil {
				return 0, 0, err
			}
		}
		return time.Since(begun), int64(len(runs[0])), b.Close()
	}
}

func workload(t testing.TB, runs, turns int) (all [][]journal.Entry, events int) {
	t.Helper()
	for i := range runs {
		appends, err := store.Turns(fmt.Sprintf("run_%026d", i), turns)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range appends {
			events += len(a.Records)
		}
		all = append(all, appends)
	}
	return all, events
}

// Every contender leaves the same number of events in its file.
func TestContendersWriteEverything(t *testing.T) {
	runs, events := workload(t, 5, 3)
	if want := 5 * (2 + 3*5); events != want {
		t.Fatalf("a workload of %d events, want %d", events, want)
	}
	for name, write := range map[string]contender{"journal": journaled, "bare": bare(true), "rows": bare(false)} {
		path := filepath.Join(t.TempDir(), name+".db")
		if _, _, err := write(t.Context(), path, runs); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := store.OpenBare(t.Context(), path, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Count(t.Context())
		if err != nil || got != events {
			t.Errorf("%s left %d events, want %d (%v)", name, got, events, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkJournal compares the SQLite journal under a hundred concurrent runs
// with bare loops of one goroutine that know all work beforehand and commit a
// hundred appends at once. One iteration is one round of each, in an order that
// rotates, on new files. Use -benchtime=Nx with N of 5 or more.
func BenchmarkJournal(b *testing.B) {
	runs, events := workload(b, 100, 20)
	field := []struct {
		name  string
		write contender
	}{{"journal", journaled}, {"bare", bare(true)}, {"rows", bare(false)}}
	rates := map[string][]float64{}
	var shared []float64
	for round := 0; b.Loop(); round++ {
		for i := range field {
			c := field[(i+round)%len(field)]
			took, commits, err := c.write(b.Context(), filepath.Join(b.TempDir(), "runs.db"), runs)
			if err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			rates[c.name] = append(rates[c.name], float64(events)/took.Seconds())
			if c.name == "journal" {
				shared = append(shared, float64(len(runs)*len(runs[0]))/float64(commits))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, c := range field {
		b.ReportMetric(measure.Median(rates[c.name]), c.name+"-events/s")
	}
	b.ReportMetric(measure.Median(ratios(rates["journal"], rates["bare"])), "vs-bare")
	b.ReportMetric(measure.Median(ratios(rates["journal"], rates["rows"])), "vs-rows")
	b.ReportMetric(measure.Median(shared), "appends/commit")
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}
