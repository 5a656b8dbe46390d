package journaltest

import (
	"fmt"
	"sync"
	"testing"

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
	want.LastSeq, want.Hash = 6, linkOf("r", recordsOf(1, 6))
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
