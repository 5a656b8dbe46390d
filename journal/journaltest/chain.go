package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Every record has its link, whatever entry it came in.
func testLinks(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	records := recordsOf(1, 7)
	records[2].Content, records[3].Content = nil, []byte{}
	records[4].Payload, records[4].At = []byte("\x00\xff"), time.Unix(0, -1).In(time.FixedZone("elsewhere", 3600))
	for _, part := range [][2]int{{1, 2}, {2, 5}, {5, 7}} {
		d.must(func(e *journal.Entry) { e.Records = slices.Clone(records[part[0]:part[1]]) })
	}
	var want []journal.Hash
	for i := range records {
		want = append(want, linkOf(&d.head, records[:i+1]))
	}
	for after := -1; after <= len(want)+1; after++ {
		for limit := range len(want) + 2 {
			got, err := j.Links(t.Context(), "r", int64(after), limit)
			if err != nil {
				t.Fatal(err)
			}
			expected := want[min(max(after, 0), len(want)):]
			if limit > 0 {
				expected = expected[:min(limit, len(expected))]
			}
			if !slices.Equal(expected, got) {
				t.Errorf("links after %d, limit %d: got %d, want %d", after, limit, len(got), len(expected))
			}
		}
	}
	if h := mustHead(t, j, "r"); h.Hash != want[6] {
		t.Errorf("the head's hash is %s, want %s", h.Hash, want[6])
	}
	_, err := j.Links(t.Context(), "nowhere", 0, 0)
	wantCode(t, err, kernel.CodeNotFound)
	_, err = j.Links(t.Context(), "r", 0, -1)
	wantCode(t, err, kernel.CodeInvalidArgument)
}

// A run is sealed when it opens and when it stops, and at no other time.
func testSeals(t *testing.T, j journal.Journal) {
	var want []journal.Seal
	sealed := func(run string, last int64) {
		head := headOf(run)
		s := journal.Seal{
			Seq: int64(len(want)) + 1, Run: run, Last: last, Head: linkOf(&head, recordsOf(1, int(last))), At: recordsOf(last, 1)[0].At,
		}
		prev := journal.Hash{}
		if len(want) > 0 {
			prev = want[len(want)-1].Hash
		}
		s.Hash = s.Chain(prev)
		want = append(want, s)
	}
	a := &driver{t: t, j: j, head: headOf("a")}
	a.must(func(e *journal.Entry) { e.Records = recordsOf(1, 3) })
	sealed("a", 1)
	b := start(t, j, "b")
	sealed("b", 1)
	a.must(func(e *journal.Entry) { e.Head.State = journal.Waiting })
	a.must(func(e *journal.Entry) { e.Head.State = journal.Running })
	_ = a.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Records[0].Seq, e.Head.State = 2, journal.Stopped })
	a.must(func(e *journal.Entry) { e.Records, e.Head.State = recordsOf(6, 2), journal.Stopped })
	sealed("a", 7)
	once := &driver{t: t, j: j, head: headOf("once")}
	once.must(func(e *journal.Entry) { e.Records, e.Head.State = recordsOf(1, 2), journal.Stopped })
	sealed("once", 1)
	sealed("once", 2)
	b.stop()
	sealed("b", 2)
	for n := range int64(len(want)) + 2 {
		got, err := j.Seals(t.Context(), n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(want[min(n, int64(len(want))):], got) {
			t.Errorf("seals after %d: %d, want %d", n, len(got), max(len(want)-int(n), 0))
		}
		part, err := j.Seals(t.Context(), n, 2)
		if err != nil || len(part) != min(2, len(got)) || !slices.Equal(part, got[:len(part)]) {
			t.Errorf("seals after %d, limit 2: %d, %v", n, len(part), err)
		}
	}
	got, err := j.Seals(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seals (-want +got):\n%s", diff)
	}
	_, err = j.Seals(t.Context(), 0, -1)
	wantCode(t, err, kernel.CodeInvalidArgument)
}

// The chain over all runs is one, however many write.
func testSealsOfMany(t *testing.T, j journal.Journal) {
	const runs = 24
	var wg sync.WaitGroup
	for n := range runs {
		wg.Go(func() {
			d := &driver{t: t, j: j, head: headOf(fmt.Sprint("run ", n))}
			for i := range 4 {
				if err := d.try(func(e *journal.Entry) {
					if i == 3 {
						e.Head.State = journal.Stopped
					}
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seals, err := j.Seals(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	prev, seen := journal.Hash{}, map[string]int64{}
	for i, s := range seals {
		if s.Seq != int64(i)+1 || s.Chain(prev) != s.Hash {
			t.Fatalf("seal %d breaks the chain: %+v", i+1, s)
		}
		if s.Last != 1 && s.Last != 4 || s.Last <= seen[s.Run] {
			t.Errorf("seal %d of %q at %d, after %d", s.Seq, s.Run, s.Last, seen[s.Run])
		}
		prev, seen[s.Run] = s.Hash, s.Last
	}
	if len(seals) != 2*runs {
		t.Errorf("%d seals, want %d", len(seals), 2*runs)
	}
}

// Whoever polls sees every commit in the number, and reading does not move it.
func testChanges(t *testing.T, j journal.Journal) {
	ctx := t.Context()
	last, err := j.Changes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{last: true}
	moved := func(what string) {
		t.Helper()
		now, err := j.Changes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if seen[now] {
			t.Errorf("%s is no change: %d again", what, now)
		}
		seen[now] = true
		picture(t, j)
		if again, err := j.Changes(ctx); err != nil || again != now {
			t.Errorf("after reading it is %d, was %d, %v", again, now, err)
		}
	}
	d, l := held(t, j, "r")
	moved("a run")
	led := func(change func(*journal.Entry)) {
		d.must(func(e *journal.Entry) { under(l, 0)(e); change(e) })
	}
	c := claimOf("c", "pay", "k", "{}")
	led(func(e *journal.Entry) {
		e.Asked, e.Claim = []journal.Approval{d.approvalOf("a", "c2", "{}")}, &c
	})
	moved("an append")
	led(func(e *journal.Entry) { e.Settled = []journal.Settlement{settlement(c, kernel.InDoubt, 0)} })
	moved("a settlement")
	send(t, j, say("s", "r"))
	moved("a signal")
	mustDecide(t, j, vote("a", "bob", true))
	moved("a decision")
	if _, err := j.Resolve(ctx, resolution("x", c.ID, kernel.FoundLanded)); err != nil {
		t.Fatal(err)
	}
	moved("a resolution")
	if err := j.Release(ctx, "r", l); err != nil {
		t.Fatal(err)
	}
	moved("a lease given back")
	mustAcquire(t, j, "r", "w2", 0, time.Hour)
	moved("a lease")
	if _, err := j.Renew(ctx, "w2", []string{"r"}, after(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	moved("a renewal")
}
