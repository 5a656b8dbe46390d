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
	seeds   = flag.Uint64("seeds", defaultSeeds, "how many seeds to simulate")
	from    = flag.Uint64("from", 1, "the first of them")
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
	for seed := *from; seed < *from+*seeds; seed++ {
		r := s.Run(seed, Options{})
		steps += r.Steps
		compared += r.Compared
		for what, n := range r.Seen {
			seen[what] += n
		}
		if r.Broken == nil {
			continue
		}
		if failed++; failed == 1 {
			show(t, s.Run(seed, Options{Timeline: true}))
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
	if *seeds < 2000 {
		return
	}
	for _, what := range needed() {
		if seen[what] == 0 {
			t.Errorf("%q never happened, so that nothing was tested of it", what)
		}
	}
	if least := int(*seeds) / 2; compared < least {
		t.Errorf("%d runs were compared with the reference, and should be %d", compared, least)
	}
}

// needed are things that have to happen in 2,000 seeds.
func needed() []string {
	return strings.Split(strings.TrimSpace(`
append CONFLICT
append EFFECT_REFUSED
append LEASE_LOST
approval expired
approval lapsed
approval withdrawn
asked, escalated
asleep
cancelled
claim refused: blocked
claim refused: busy
claim refused: other_request
claim refused: stored
claim refused: unknown
claim refused: window
claimed again
clock jump
compaction by digest
compaction by model
compared, exactly: false
compared, exactly: true
context_over
crash after acquire
crash after append
crash after decide
crash after renew
crash after send
crash before acquire
crash before append
crash before decide
crash before read
crash in a lookup
crash in a tool, before its effect
crash in a tool, behind its effect
crash while a summary was written
crash while an observer looked
crash while policy was asked
crash while the model was asked
crash while the verifier was asked
effect, long after its process died
error after append
error before append
error before read
host_failed
leave
lookup absent
lookup present
lookup unknown
notice read
noticed
observed
observer looked
resolved landed
resolved no_effect
resolved still_unknown
run of an old session
started under another class
stop answered
stop cancelled
stop context_error
stop deadline
stop fatal_error
stop host_error
stop model_error
stop output_truncated
stop protocol_error
stop repeated_action
stop token_limit
stop tool_limit
stop turn_limit
stop verified_success
summary failed
summary whole
taken over acting
taken over backing_off
taken over draining
taken over observing
taken over preparing
taken over requesting
taken over summarizing
taken over verifying
timer approval
timer deadline
timer retry
timer tool_retry
user_said`), "\n")
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
