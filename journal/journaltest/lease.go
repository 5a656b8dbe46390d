package journaltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// under makes an entry one of a lease, at an instant.
func under(l journal.Lease, now time.Duration) func(*journal.Entry) {
	return func(e *journal.Entry) { e.Lease, e.Now = &l, after(now) }
}

func leaseOf(owner string, token int64, until time.Duration) journal.Lease {
	return journal.Lease{Owner: owner, Token: token, Until: after(until)}
}

// held starts a run that w1 drives until ten seconds later.
func held(t *testing.T, j journal.Journal, run string) (*driver, journal.Lease) {
	t.Helper()
	l := leaseOf("w1", 1, 10*time.Second)
	d := &driver{t: t, j: j, head: headOf(run)}
	d.must(under(l, 0))
	return d, l
}

func wantLease(t *testing.T, j journal.Reader, run string, want journal.Lease) {
	t.Helper()
	if diff := cmp.Diff(want, mustHead(t, j, run).Lease); diff != "" {
		t.Errorf("the lease of %q (-want +got):\n%s", run, diff)
	}
}

func mustAcquire(t *testing.T, j journal.Leases, run, owner string, now, until time.Duration) journal.Lease {
	t.Helper()
	l, err := j.Acquire(t.Context(), run, owner, after(now), after(until))
	if err != nil {
		t.Fatalf("%s takes %q: %v", owner, run, err)
	}
	return l
}

func testLeaseBegins(t *testing.T, j journal.Journal) {
	_, l := held(t, j, "r")
	wantLease(t, j, "r", l)
	other := &driver{t: t, j: j, head: headOf("other")}
	for name, bad := range map[string]journal.Lease{
		"no owner":            leaseOf("", 1, time.Hour),
		"no token":            leaseOf("w1", 0, time.Hour),
		"not the first token": leaseOf("w1", 2, time.Hour),
		"no end":              {Owner: "w1", Token: 1},
	} {
		t.Run(name, func(*testing.T) { _ = other.refused(kernel.CodeInvalidArgument, under(bad, 0)) })
	}
	_ = other.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Lease = &l }) // without its instant
	_ = other.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Release = true })
	other.must(func(*journal.Entry) {})
	wantLease(t, j, "other", journal.Lease{})
}

func testLeaseRenewedByAppend(t *testing.T, j journal.Journal) {
	d, l := held(t, j, "r")
	l.Until = after(15 * time.Second)
	d.must(under(l, 5*time.Second))
	wantLease(t, j, "r", l)
	for name, other := range map[string]journal.Lease{
		"another owner":           leaseOf("w2", 1, time.Hour),
		"another token":           leaseOf("w1", 2, time.Hour),
		"an owner in other words": leaseOf("W1", 1, time.Hour),
	} {
		t.Run(name, func(*testing.T) { _ = d.refused(kernel.CodeLeaseLost, under(other, 6*time.Second)) })
	}
	_ = d.refused(kernel.CodeLeaseLost, func(e *journal.Entry) { e.Now = after(15*time.Second - 1) })
	_ = d.refused(kernel.CodeLeaseLost, func(*journal.Entry) {}) // by no clock
	d.must(under(l, time.Hour))                                  // ended, and not taken over: still its holder's
	d.must(func(e *journal.Entry) { e.Now = after(15 * time.Second) })
	wantLease(t, j, "r", l)
}

// Report A31: who is paused past the end of its lease comes too late.
func testTakeOver(t *testing.T, j journal.Journal) {
	d, late := held(t, j, "r")
	_, err := j.Acquire(t.Context(), "r", "w2", after(10*time.Second-1), after(time.Hour))
	wantCode(t, err, kernel.CodeConflict)
	wantLease(t, j, "r", late)

	taken := mustAcquire(t, j, "r", "w2", 10*time.Second, 20*time.Second)
	if want := leaseOf("w2", 2, 20*time.Second); taken != want {
		t.Errorf("taken over as %+v, want %+v", taken, want)
	}
	wantLease(t, j, "r", taken)
	_ = d.refused(kernel.CodeLeaseLost, under(late, time.Second)) // whatever its clock says
	_ = d.refused(kernel.CodeLeaseLost, func(e *journal.Entry) {  // nor at a number that is gone
		under(late, time.Second)(e)
		e.Records[0].Seq = 1
	})
	lost, err := j.Renew(t.Context(), "w1", []string{"r"}, after(time.Hour))
	if err != nil || len(lost) != 1 {
		t.Errorf("the late owner renews: lost %v, %v", lost, err)
	}
	if err := j.Release(t.Context(), "r", late); err != nil {
		t.Errorf("the late owner gives back: %v", err)
	}
	wantLease(t, j, "r", taken)
	d.must(under(taken, 11*time.Second))
	if got := mustRead(t, j, "r"); len(got) != 2 || got[1].Seq != 2 {
		t.Errorf("%d records, want 1 and 2", len(got))
	}
}

// A lease that was taken, or renewed, while a clock was years ahead does not
// keep the run until then.
func testLeaseTooLong(t *testing.T, j journal.Journal) {
	const longest = journal.MaxLease
	d, l := held(t, j, "r")
	l.Until = after(longest + 5*time.Second)
	d.must(under(l, 5*time.Second))
	ready := func(now time.Duration) bool {
		heads, err := j.Ready(t.Context(), after(now), 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(heads) > 0
	}
	if ready(5*time.Second) || !ready(5*time.Second-1) {
		t.Error("the longest lease is not held, or a longer one is")
	}
	_, err := j.Acquire(t.Context(), "r", "w2", after(5*time.Second), after(6*time.Second))
	wantCode(t, err, kernel.CodeConflict)

	l.Until = after(20 * 365 * 24 * time.Hour)
	d.must(under(l, 6*time.Second))
	if !ready(7 * time.Second) {
		t.Error("a lease of twenty years keeps the run")
	}
	taken := mustAcquire(t, j, "r", "w2", 7*time.Second, 17*time.Second)
	wantLease(t, j, "r", taken)
	_ = d.refused(kernel.CodeLeaseLost, under(l, 8*time.Second))
	d.must(under(taken, 8*time.Second))
}

func testAcquireAgain(t *testing.T, j journal.Journal) {
	d, first := held(t, j, "r")
	again := mustAcquire(t, j, "r", "w1", 9*time.Second, 30*time.Second)
	if want := leaseOf("w1", 1, 30*time.Second); again != want {
		t.Errorf("the holder gets %+v, want %+v", again, want)
	}
	d.must(under(first, 9*time.Second)) // the same one; this moves its end back
	wantLease(t, j, "r", first)

	// Its own lease that has ended is a new one, which fences off the old.
	renewed := mustAcquire(t, j, "r", "w1", 10*time.Second, 40*time.Second)
	if renewed.Token != 2 {
		t.Errorf("a lease that had ended came back under the token %d, want 2", renewed.Token)
	}
	_ = d.refused(kernel.CodeLeaseLost, under(first, 11*time.Second))
	d.must(under(renewed, 11*time.Second))
}

func testAcquireRefused(t *testing.T, j journal.Journal) {
	ctx := t.Context()
	d := start(t, j, "r")
	_, err := j.Acquire(ctx, "nowhere", "w1", after(0), after(1))
	wantCode(t, err, kernel.CodeNotFound)
	_, err = j.Acquire(ctx, "r", "", after(0), after(1))
	wantCode(t, err, kernel.CodeInvalidArgument)
	_, err = j.Acquire(ctx, "r", "w1", time.Time{}, after(1))
	wantCode(t, err, kernel.CodeInvalidArgument)
	_, err = j.Acquire(ctx, "r", "w1", after(0), time.Time{})
	wantCode(t, err, kernel.CodeInvalidArgument)
	wantLease(t, j, "r", journal.Lease{})
	d.stop()
	_, err = j.Acquire(ctx, "r", "w1", after(0), after(1))
	wantCode(t, err, kernel.CodeRunStopped)
	wantLease(t, j, "r", journal.Lease{})
}

func testRenew(t *testing.T, j journal.Journal) {
	for _, run := range []string{"a", "b", "c", "d"} {
		held(t, j, run)
	}
	taken := mustAcquire(t, j, "b", "w2", time.Minute, 2*time.Minute)
	if err := j.Release(t.Context(), "c", leaseOf("w1", 1, 0)); err != nil {
		t.Fatal(err)
	}
	lost, err := j.Renew(t.Context(), "w1", []string{"d", "nowhere", "c", "b", "a"}, after(3*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"nowhere", "c", "b"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	for _, run := range []string{"a", "d"} { // also past its end, while nobody took it
		wantLease(t, j, run, leaseOf("w1", 1, 3*time.Minute))
	}
	wantLease(t, j, "b", taken)
	wantLease(t, j, "c", journal.Lease{Token: 1})
	if lost, err := j.Renew(t.Context(), "w1", nil, after(time.Hour)); err != nil || len(lost) != 0 {
		t.Errorf("renewing nothing: lost %v, %v", lost, err)
	}
	_, err = j.Renew(t.Context(), "", []string{"c"}, after(time.Hour)) // nobody's lease is not everybody's
	wantCode(t, err, kernel.CodeInvalidArgument)
	_, err = j.Renew(t.Context(), "w1", []string{"a"}, time.Time{})
	wantCode(t, err, kernel.CodeInvalidArgument)
}

func testRelease(t *testing.T, j journal.Journal) {
	d, l := held(t, j, "r")
	for _, other := range []journal.Lease{leaseOf("w2", 1, 0), leaseOf("w1", 2, 0), {}} {
		if err := j.Release(t.Context(), "r", other); err != nil {
			t.Errorf("giving back %+v: %v", other, err)
		}
		wantLease(t, j, "r", l)
	}
	if err := j.Release(t.Context(), "r", l); err != nil {
		t.Fatal(err)
	}
	wantLease(t, j, "r", journal.Lease{Token: 1}) // the next token is greater
	_ = d.refused(kernel.CodeLeaseLost, under(l, time.Second))
	next := mustAcquire(t, j, "r", "w2", time.Second, 10*time.Second)
	if next.Token != 2 {
		t.Errorf("after a lease was given back the token is %d, want 2", next.Token)
	}
	d.must(func(e *journal.Entry) {
		under(next, 2*time.Second)(e)
		e.Release, e.Head.State = true, journal.Waiting
	})
	wantLease(t, j, "r", journal.Lease{Token: 2})
	wantCode(t, j.Release(t.Context(), "nowhere", l), kernel.CodeNotFound)
}

// Two processes never drive one run: of many who want it one gets it.
func testAcquireRace(t *testing.T, j journal.Journal) {
	start(t, j, "r")
	const workers = 8
	for round := range 10 {
		now := time.Duration(round) * time.Hour
		leases := make([]journal.Lease, workers)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				l, err := j.Acquire(t.Context(), "r", fmt.Sprintf("w%d", w), after(now), after(now+time.Minute))
				if err != nil {
					wantCode(t, err, kernel.CodeConflict)
				}
				leases[w] = l
			})
		}
		wg.Wait()
		won := 0
		for _, l := range leases {
			if l.Owner != "" {
				won++
				wantLease(t, j, "r", l)
				if l.Token != int64(round)+1 {
					t.Errorf("round %d gave the token %d", round, l.Token)
				}
			}
		}
		if won != 1 {
			t.Fatalf("%d of %d got the lease", won, workers)
		}
	}
}
