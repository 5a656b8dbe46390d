package sim

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	oneSeed = flag.Uint64("seed", 0, "simulate this seed alone, and print its timeline")
	seeds   = flag.Uint64("seeds", defaultSeeds, "how many seeds to simulate, from 1")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func simulator(t testing.TB) *Simulator {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Design, section 12: a seed decides every crash, delay, duplicate and reorder,
// and the invariants hold after each step.
func TestSeeds(t *testing.T) {
	s := simulator(t)
	if *oneSeed != 0 {
		show(t, s.Run(*oneSeed, Options{Timeline: true}))
		return
	}
	begun, steps, compared, failed, seen := time.Now(), 0, 0, 0, map[string]int{}
	for seed := range *seeds {
		r := s.Run(seed+1, Options{})
		steps += r.Steps
		compared += r.Compared
		for what, n := range r.Seen {
			seen[what] += n
		}
		if r.Broken == nil {
			continue
		}
		if failed++; failed == 1 {
			show(t, s.Run(seed+1, Options{Timeline: true}))
		} else {
			t.Errorf("%v (%s, %d steps)", r.Broken, r.Trouble, r.Steps)
		}
		if failed == 20 {
			break
		}
	}
	took := time.Since(begun)
	t.Logf("%d seeds, %d steps in %s: %.0f steps a second; %d runs compared", *seeds, steps, took, float64(steps)/took.Seconds(), compared)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%8d %s", seen[what], what)
	}
}

func show(t *testing.T, r Result) {
	t.Helper()
	t.Logf("seed %d, trouble: %s, %d steps, digest %s\n%s", r.Seed, r.Trouble, r.Steps, r.Digest, strings.Join(r.Timeline, "\n"))
	if r.Broken != nil {
		t.Error(r.Broken)
	}
}

// A seed that failed has to fail again.
func TestSeedsAreReproducible(t *testing.T) {
	s, other := simulator(t), simulator(t)
	for seed := uint64(1); seed <= 40; seed++ {
		a, b := s.Run(seed, Options{}), other.Run(seed, Options{Timeline: true})
		if a.Digest != b.Digest || a.Steps != b.Steps || a.Digest == "" {
			t.Errorf("seed %d: %d steps to %s, and then %d to %s", seed, a.Steps, a.Digest, b.Steps, b.Digest)
		}
	}
}

func BenchmarkSeeds(b *testing.B) {
	s := simulator(b)
	steps, n := 0, uint64(0)
	for b.Loop() {
		n++
		r := s.Run(n, Options{})
		if r.Broken != nil {
			b.Fatal(r.Broken)
		}
		steps += r.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}
