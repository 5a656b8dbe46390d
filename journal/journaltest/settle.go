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

func testSettle(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	const running, landed, none, unknown = journal.EffectRunning, journal.EffectLanded, journal.EffectNone, journal.EffectUnknown
	for i, c := range []struct {
		from journal.EffectState
		as   kernel.Disposition
		want journal.EffectState // empty: CONFLICT
		kept bool                // it says nothing new
	}{
		{running, kernel.Landed, landed, false},
		{running, kernel.DidNotHappen, none, false},
		{running, kernel.InDoubt, unknown, false},
		{unknown, kernel.Landed, landed, false}, // found by a lookup
		{unknown, kernel.DidNotHappen, none, false},
		{unknown, kernel.InDoubt, unknown, true},
		{landed, kernel.Landed, landed, true},
		{landed, kernel.InDoubt, landed, true},
		{landed, kernel.DidNotHappen, "", false},
		{none, kernel.DidNotHappen, none, true},
		{none, kernel.InDoubt, none, true},
		{none, kernel.Landed, "", false},
	} {
		t.Run(fmt.Sprint(c.from, " as ", c.as), func(t *testing.T) {
			claim := claimOf(fmt.Sprint("c", i), "pay", fmt.Sprint("k", i), fmt.Sprint(i))
			d.reach(claim, c.from)
			want := mustEffect(t, j, claim.ID)
			s := settlement(claim, c.as, time.Hour)
			s.Result = []byte("another result")
			if c.want == "" {
				_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Settled = []journal.Settlement{s} })
				return
			}
			d.must(func(e *journal.Entry) { e.Settled = []journal.Settlement{s} })
			if !c.kept {
				want.State, want.SettledAt = c.want, after(time.Hour)
			}
			if !c.kept && c.want == landed { // nothing is stored of what did not
				want.Result, want.Facts = s.Result, s.Facts
			}
			if diff := cmp.Diff(want, mustEffect(t, j, claim.ID)); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}

// That a later claim of a key had no effect says nothing of an earlier one: the
// effect stays in doubt. That it landed ends the doubt.
func testDoubtStays(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	c := claimOf("c1", "put", "k", "{}")
	c.Class = kernel.Idempotent
	d.reach(c, journal.EffectUnknown)
	since := mustEffect(t, j, c.ID).SettledAt
	for n := range 2 {
		again := c
		again.Call = fmt.Sprint("again ", n)
		if err := d.claim(again); err != nil {
			t.Fatal(err)
		}
		d.settle(again, kernel.DidNotHappen, time.Hour)
		if e := mustEffect(t, j, c.ID); e.State != journal.EffectUnknown || !e.SettledAt.Equal(since) {
			t.Errorf("claimed again without effect it is %s since %s, and was in doubt since %s", e.State, e.SettledAt, since)
		}
	}
	last := c
	last.Call = "last"
	d.reach(last, journal.EffectLanded)
	if e := mustEffect(t, j, c.ID); e.State != journal.EffectLanded {
		t.Errorf("it landed at last, and is %s", e.State)
	}
}

func testSettleRefused(t *testing.T, j journal.Journal) {
	d, other := start(t, j, "r"), start(t, j, "other")
	c := claimOf("c", "pay", "k", "{}")
	d.reach(c, journal.EffectRunning)
	good := settlement(c, kernel.Landed, 0)
	for name, bad := range map[string]struct {
		change func(*journal.Settlement)
		want   kernel.Code
	}{
		"unknown effect":    {func(s *journal.Settlement) { s.Effect = "eff_nothing" }, kernel.CodeConflict},
		"another call":      {func(s *journal.Settlement) { s.Call = "c2" }, kernel.CodeConflict},
		"no effect":         {func(s *journal.Settlement) { s.Effect = "" }, kernel.CodeInvalidArgument},
		"no call":           {func(s *journal.Settlement) { s.Call = "" }, kernel.CodeInvalidArgument},
		"no disposition":    {func(s *journal.Settlement) { s.Disposition = "" }, kernel.CodeInvalidArgument},
		"other disposition": {func(s *journal.Settlement) { s.Disposition = "done" }, kernel.CodeInvalidArgument},
		"no instant":        {func(s *journal.Settlement) { s.At = time.Time{} }, kernel.CodeInvalidArgument},
	} {
		t.Run(name, func(*testing.T) {
			s := good
			bad.change(&s)
			_ = d.refused(bad.want, func(e *journal.Entry) { e.Settled = []journal.Settlement{s} })
		})
	}
	_ = other.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Settled = []journal.Settlement{good} })
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { // the second takes the first with it
		lie := settlement(c, kernel.DidNotHappen, 0)
		e.Settled = []journal.Settlement{good, lie}
	})
}

// A claim that was resolved and given to another run is nobody else's.
func testSettleAfterTakeOver(t *testing.T, j journal.Journal) {
	one, two := start(t, j, "one"), start(t, j, "two")
	c := claimOf("c", "pay", "k", "{}")
	one.reach(c, journal.EffectUnknown)
	if _, err := j.Resolve(t.Context(), resolution("x", c.ID, kernel.FoundNoEffect)); err != nil {
		t.Fatal(err)
	}
	if err := two.claim(c); err != nil {
		t.Fatal(err)
	}
	_ = one.refused(kernel.CodeConflict, func(e *journal.Entry) {
		e.Settled = []journal.Settlement{settlement(c, kernel.Landed, 0)}
	})
}

// What an entry settles counts for what it claims.
func testSettleThenClaim(t *testing.T, j journal.Journal) {
	for i, c := range []struct {
		as  kernel.Disposition
		why kernel.ClaimWhy
	}{{kernel.DidNotHappen, ""}, {kernel.Landed, kernel.ClaimWindow}, {kernel.InDoubt, kernel.ClaimUnknown}} {
		t.Run(string(c.as), func(t *testing.T) {
			d := start(t, j, fmt.Sprint("r", i))
			tool := fmt.Sprint("tool ", i)
			first, next := claimOf("c1", tool, "k1", "{}"), claimOf("c2", tool, "k2", "{}")
			next.Window = time.Hour
			d.reach(first, journal.EffectRunning)
			both := func(e *journal.Entry) {
				e.Settled = []journal.Settlement{settlement(first, c.as, 0)}
				e.Claim = &next
			}
			if c.why == "" {
				d.must(both)
				return
			}
			wantRefusal(t, d.refused(kernel.CodeEffectRefused, both), c.why, first.ID)
		})
	}
	t.Run("in doubt, exclusive", func(t *testing.T) {
		d := start(t, j, "exclusive")
		first, next := claimOf("c1", "x", "k1", "1"), claimOf("c2", "x", "k2", "2")
		next.Exclusive = true
		d.reach(first, journal.EffectRunning)
		err := d.refused(kernel.CodeEffectRefused, func(e *journal.Entry) {
			e.Settled = []journal.Settlement{settlement(first, kernel.InDoubt, 0)}
			e.Claim = &next
		})
		wantRefusal(t, err, kernel.ClaimBlocked, first.ID)
	})
	t.Run("the same key", func(t *testing.T) {
		d := start(t, j, "same")
		c := claimOf("c1", "y", "k", "{}")
		d.reach(c, journal.EffectRunning)
		d.must(func(e *journal.Entry) {
			e.Settled = []journal.Settlement{settlement(c, kernel.DidNotHappen, 0)}
			e.Claim = &c
		})
		if e := mustEffect(t, j, c.ID); e.State != journal.EffectRunning || e.Attempts != 2 {
			t.Errorf("the effect is %s after %d attempts", e.State, e.Attempts)
		}
	})
}

func testStoredBytes(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for i, result := range [][]byte{nil, {}, {0}, []byte("\xff 报销\n")} {
		c := claimOf(fmt.Sprint("c", i), "pay", fmt.Sprint("k", i), fmt.Sprint(i))
		d.reach(c, journal.EffectRunning)
		s := settlement(c, kernel.Landed, 0)
		s.Result, s.Facts = result, nil
		d.must(func(e *journal.Entry) { e.Settled = []journal.Settlement{s} })
		e := mustEffect(t, j, c.ID)
		if diff := cmp.Diff(result, e.Result); diff != "" || e.Facts != nil {
			t.Errorf("stored %#v, facts %#v; want %#v and none", e.Result, e.Facts, result)
		}
	}
}

// resolution is what carol found out.
func resolution(id, effect string, as kernel.Finding) journal.Resolution {
	return journal.Resolution{
		ID: id, Effect: effect, As: as, By: "carol", Note: "looked at the bank's statement",
		Evidence: fmt.Sprintf("%064x", 17), At: after(time.Hour),
	}
}

// A resolution is appended, never rewritten, and told to the run once.
func testResolve(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for i, as := range []kernel.Finding{kernel.FoundLanded, kernel.FoundNoEffect} {
		t.Run(string(as), func(t *testing.T) {
			c := claimOf(fmt.Sprint("c", i), "pay", fmt.Sprint("k", i), fmt.Sprint(i))
			d.reach(c, journal.EffectUnknown)
			want := mustEffect(t, j, c.ID)
			still, final := resolution("1", c.ID, kernel.FoundUnknown), resolution("2", c.ID, as)
			if as == kernel.FoundLanded {
				final.Result = []byte("receipt 4711")
			}
			for range 2 { // the same one again changes nothing
				want.Resolutions = []journal.Resolution{still}
				wantResolved(t, j, still, want)
			}
			want.Resolutions = append(want.Resolutions, final)
			want.State, want.SettledAt, want.Result = journal.EffectNone, final.At, nil
			if as == kernel.FoundLanded {
				want.State, want.Result = journal.EffectLanded, final.Result
			}
			for range 2 {
				wantResolved(t, j, final, want)
			}
			told := mustSignals(t, j, "r")[2*i:]
			for n, r := range []journal.Resolution{still, final} {
				s := want.Signal(&r)
				s.Number = int64(2*i+n) + 1
				if diff := cmp.Diff(s, told[n]); diff != "" || s.Kind != journal.SignalResolve {
					t.Errorf("the run is told (-want +got):\n%s", diff)
				}
			}
			if len(told) != 2 {
				t.Errorf("the run is told %d times, want 2", len(told))
			}
			_, err := j.Resolve(t.Context(), resolution("3", c.ID, kernel.FoundUnknown))
			wantCode(t, err, kernel.CodeConflict)
		})
	}
}

func wantResolved(t *testing.T, j journal.Journal, r journal.Resolution, want journal.Effect) {
	t.Helper()
	got, err := j.Resolve(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolved (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, mustEffect(t, j, r.Effect)); diff != "" {
		t.Errorf("resolved and read (-want +got):\n%s", diff)
	}
}

func testResolveRefused(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	c := claimOf("c", "pay", "k", "{}")
	d.reach(c, journal.EffectRunning)
	_, err := j.Resolve(t.Context(), resolution("x", c.ID, kernel.FoundLanded)) // under way
	wantCode(t, err, kernel.CodeConflict)
	d.settle(c, kernel.InDoubt, 0)
	before := picture(t, j)
	_, err = j.Resolve(t.Context(), resolution("x", "eff_nothing", kernel.FoundLanded))
	wantCode(t, err, kernel.CodeNotFound)
	for name, spoil := range map[string]func(*journal.Resolution){
		"no id":           func(r *journal.Resolution) { r.ID = "" },
		"no note":         func(r *journal.Resolution) { r.Note = " \n" },
		"no finding":      func(r *journal.Resolution) { r.As = "" },
		"other finding":   func(r *journal.Resolution) { r.As = "perhaps" },
		"no instant":      func(r *journal.Resolution) { r.At = time.Time{} },
		"result of none":  func(r *journal.Resolution) { r.As, r.Result = kernel.FoundNoEffect, []byte("x") },
		"no hash":         func(r *journal.Resolution) { r.Evidence = "see attachment" },
		"another hash":    func(r *journal.Resolution) { r.Evidence = "abcd" },
		"too much result": func(r *journal.Resolution) { r.Result = make([]byte, journal.MaxRecord+1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := resolution("x", c.ID, kernel.FoundLanded)
			spoil(&r)
			_, err := j.Resolve(t.Context(), r)
			wantCode(t, err, kernel.CodeInvalidArgument)
		})
	}
	if diff := cmp.Diff(before, picture(t, j)); diff != "" {
		t.Errorf("a refused resolution changed the journal (-before +after):\n%s", diff)
	}
}

// A run that has stopped is told nothing; its effect is resolved all the same.
func testResolveAfterStop(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	c := claimOf("c", "pay", "k", "{}")
	d.reach(c, journal.EffectUnknown)
	d.stop()
	e, err := j.Resolve(t.Context(), resolution("x", c.ID, kernel.FoundNoEffect))
	if err != nil || e.State != journal.EffectNone || len(e.Resolutions) != 1 {
		t.Errorf("resolved as %s with %d resolutions, %v", e.State, len(e.Resolutions), err)
	}
	if s := mustSignals(t, j, "r"); len(s) != 0 || mustHead(t, j, "r").Pending != 0 {
		t.Errorf("a stopped run is told %v", s)
	}
	next := start(t, j, "next")
	if err := next.claim(c); err != nil { // and the key is free
		t.Error(err)
	}
	if e := mustEffect(t, j, c.ID); len(e.Resolutions) != 1 || e.Run != "next" {
		t.Errorf("claimed again by %q, the effect keeps %d resolutions, want 1", e.Run, len(e.Resolutions))
	}
}

func testResolveRace(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	const people = 8
	for round := range 5 {
		c := claimOf(fmt.Sprint("c", round), "pay", fmt.Sprint("k", round), fmt.Sprint(round))
		d.reach(c, journal.EffectUnknown)
		errs := make([]error, people)
		var wg sync.WaitGroup
		for n := range people {
			as := kernel.FoundLanded
			if n%2 == 0 {
				as = kernel.FoundNoEffect
			}
			r := resolution(fmt.Sprint(n), c.ID, as)
			wg.Go(func() { _, errs[n] = j.Resolve(t.Context(), r) })
		}
		wg.Wait()
		won := 0
		for n, err := range errs {
			if err != nil {
				wantCode(t, err, kernel.CodeConflict)
				continue
			}
			won++
			e := mustEffect(t, j, c.ID)
			if len(e.Resolutions) != 1 || e.Resolutions[0].ID != fmt.Sprint(n) || (n%2 == 0) != (e.State == journal.EffectNone) {
				t.Errorf("%d won, and the effect is %s by %+v", n, e.State, e.Resolutions)
			}
		}
		if won != 1 || len(mustSignals(t, j, "r")) != round+1 {
			t.Fatalf("round %d: %d resolutions won, %d signals", round, won, len(mustSignals(t, j, "r")))
		}
	}
}
