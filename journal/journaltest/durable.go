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

func testReopen(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	dir := t.TempDir()
	for i := range 3 {
		j := open(t, dir)
		if i > 0 {
			wantCode(t, j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: recordsOf(1, 1)}), kernel.CodeConflict)
		}
		mustAppend(t, j, headOf("r"), recordsOf(int64(2*i)+1, 2))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, dir)
	defer func() { _ = j.Close() }()
	if diff := cmp.Diff(recordsOf(1, 6), mustRead(t, j, "r")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	want := headOf("r")
	want.LastSeq, want.Hash = 6, linkOf(&want, recordsOf(1, 6))
	heads, err := j.Heads(t.Context(), journal.Query{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]journal.Head{want}, heads); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
}

// Report A31: two handles see each other's records, and of two appends at one
// number one is refused.
func testTwoHandles(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	dir := t.TempDir()
	handles := [2]journal.Journal{open(t, dir), open(t, dir)}
	defer func() {
		for _, j := range handles {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	const rounds = 25
	var mu sync.Mutex
	wins := map[int64]int{}
	var wg sync.WaitGroup
	for n, j := range handles {
		wg.Go(func() {
			own := headOf(fmt.Sprintf("own-%d", n))
			for seq := int64(1); seq <= rounds; seq++ {
				if err := j.Append(t.Context(), journal.Entry{Head: own, Records: recordsOf(seq, 1)}); err != nil {
					t.Errorf("handle %d: %v", n, err)
				}
				err := j.Append(t.Context(), journal.Entry{Head: headOf("shared"), Records: recordsOf(seq, 1)})
				if err != nil {
					wantCode(t, err, kernel.CodeConflict)
					continue
				}
				mu.Lock()
				wins[seq]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	shared := mustRead(t, handles[0], "shared")
	for i, r := range shared {
		if r.Seq != int64(i)+1 || wins[r.Seq] != 1 {
			t.Errorf("record %d of the shared run has the number %d and was acknowledged %d times", i+1, r.Seq, wins[r.Seq])
		}
	}
	for n := range handles { // each is read through the other handle
		if got := mustRead(t, handles[1-n], fmt.Sprintf("own-%d", n)); len(got) != rounds {
			t.Errorf("handle %d sees %d records of handle %d, want %d", 1-n, len(got), n, rounds)
		}
	}
}

// testReopenAll: all that a journal shows is there again after reopening, and
// goes on from there.
func testReopenAll(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	dir := t.TempDir()
	j := open(t, dir)
	b := busyRun(t, j)
	b.must(b.full)
	other := start(t, j, "other")
	c := claimOf("c", "pay", "k", "{}")
	other.reach(c, journal.EffectUnknown)
	if _, err := j.Resolve(t.Context(), resolution("x", c.ID, kernel.FoundUnknown)); err != nil {
		t.Fatal(err)
	}
	start(t, j, "stopped").stop()
	before := picture(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = open(t, dir)
	defer func() { _ = j.Close() }()
	if diff := cmp.Diff(before, picture(t, j)); diff != "" {
		t.Errorf("after reopening (-before +after):\n%s", diff)
	}
	other.j = j
	wantRefusal(t, other.claim(c), kernel.ClaimUnknown, c.ID)
	if send(t, j, say("s", "r")) {
		t.Error("a signal delivered before the reopening is new")
	}
	_, err := j.Decide(t.Context(), vote("granted", "carol", true))
	wantCode(t, err, kernel.CodeAlreadyDecided)
	wantCode(t, other.try(func(e *journal.Entry) { e.Records[0].Seq-- }), kernel.CodeConflict)
	next := headOf("next")
	next.Session = other.head.Session
	wantCode(t, j.Append(t.Context(), journal.Entry{Head: next, Records: recordsOf(1, 1)}), kernel.CodeConflict)
	other.stop()
	if l := mustAcquire(t, j, "r", "w2", time.Minute, time.Hour); l.Token != 2 {
		t.Errorf("after reopening a take-over has the token %d, want 2", l.Token)
	}
	seals := picture(t, j).Seals
	for i := range seals {
		var prev journal.Hash
		if i > 0 {
			prev = seals[i-1].Hash
		}
		if seals[i].Seq != int64(i)+1 || seals[i].Chain(prev) != seals[i].Hash {
			t.Errorf("seal %d breaks the chain", i+1)
		}
	}
}

// Report A16 and "two processes never drive one run", through two handles: one
// decision, one lease, one claim, and what one commits the other sees.
func testTwoHandlesRace(t *testing.T, open func(t *testing.T, dir string) journal.Journal) {
	dir := t.TempDir()
	handles := [2]journal.Journal{open(t, dir), open(t, dir)}
	defer func() {
		for _, j := range handles {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	d := start(t, handles[0], "r")
	for round := range 10 {
		a := d.ask(fmt.Sprint("a", round), asIs)
		runs := [2]*driver{start(t, handles[0], fmt.Sprint("0-", round)), start(t, handles[1], fmt.Sprint("1-", round))}
		c := claimOf("c", "pay", fmt.Sprint("k", round), fmt.Sprint(round))
		var before [2]int64
		for n, j := range handles {
			before[n], _ = j.Changes(t.Context())
		}
		var decided, leased, claimed [2]error
		var wg sync.WaitGroup
		for n, j := range handles {
			name := fmt.Sprint("person ", n)
			wg.Go(func() {
				_, decided[n] = j.Decide(t.Context(), vote(a.ID, name, n == 0))
				at := time.Duration(round) * time.Hour
				_, leased[n] = j.Acquire(t.Context(), "r", name, after(at), after(at+time.Minute))
				claimed[n] = runs[n].claim(c)
			})
		}
		wg.Wait()
		for what, errs := range map[kernel.Code][2]error{
			kernel.CodeAlreadyDecided: decided, kernel.CodeConflict: leased, kernel.CodeEffectRefused: claimed,
		} {
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("round %d: %v and %v, want one success and %s", round, errs[0], errs[1], what)
			}
			for _, err := range errs {
				if err != nil {
					wantCode(t, err, what)
				}
			}
		}
		for n, j := range handles {
			if now, err := j.Changes(t.Context()); err != nil || now == before[n] {
				t.Errorf("handle %d sees no change: %d, %v", n, now, err)
			}
		}
		if diff := cmp.Diff(picture(t, handles[0]), picture(t, handles[1])); diff != "" {
			t.Fatalf("two handles see different journals:\n%s", diff)
		}
		lease := mustHead(t, d.j, "r").Lease
		if err := d.j.Release(t.Context(), "r", lease); err != nil {
			t.Fatal(err)
		}
	}
}
