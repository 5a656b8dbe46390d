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

func testSequence(t *testing.T, j journal.Journal) {
	ctx := t.Context()
	head := headOf("r")
	wantCode(t, j.Append(ctx, journal.Entry{Head: head, Records: recordsOf(2, 1)}), kernel.CodeConflict) // no run yet
	if _, err := j.Head(ctx, "r"); kernel.CodeOf(err) != kernel.CodeNotFound {
		t.Errorf("a refused first append left a head: %v", err)
	}
	mustAppend(t, j, head, recordsOf(1, 3))
	for _, seq := range []int64{1, 2, 3, 5, 100} { // repeats, and gaps
		wantCode(t, j.Append(ctx, journal.Entry{Head: head, Records: recordsOf(seq, 2)}), kernel.CodeConflict)
	}
	gap := recordsOf(4, 2)
	gap[1].Seq = 6
	wantCode(t, j.Append(ctx, journal.Entry{Head: head, Records: gap}), kernel.CodeConflict)
	twice := recordsOf(4, 2)
	twice[1].Seq = 4
	wantCode(t, j.Append(ctx, journal.Entry{Head: head, Records: twice}), kernel.CodeConflict)
	mustAppend(t, j, head, recordsOf(4, 1))
	if diff := cmp.Diff(recordsOf(1, 4), mustRead(t, j, "r")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Report A31: of two writers of a run one is refused, and the sequence has
// neither a gap nor a double.
func testOneWins(t *testing.T, j journal.Journal) {
	const writers, rounds = 8, 20
	for round := range rounds {
		seq := int64(round) + 1
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				records := recordsOf(seq, 1)
				records[0].Payload = fmt.Appendf(nil, `{"writer":%d}`, w)
				errs[w] = j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: records})
			})
		}
		wg.Wait()
		winner := -1
		for w, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("writers %d and %d both wrote record %d", winner, w, seq)
			case err == nil:
				winner = w
			default:
				wantCode(t, err, kernel.CodeConflict)
			}
		}
		if winner < 0 {
			t.Fatalf("nobody wrote record %d", seq)
		}
		last := mustRead(t, j, "r")[round]
		if want := fmt.Sprintf(`{"writer":%d}`, winner); string(last.Payload) != want {
			t.Fatalf("record %d is %s, but the append that succeeded wrote %s", seq, last.Payload, want)
		}
	}
}

func testAtomic(t *testing.T, j journal.Journal) {
	head := headOf("r")
	mustAppend(t, j, head, recordsOf(1, 2))
	before, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	late := head
	late.State, late.Turns, late.UpdatedAt = journal.Stopped, 9, head.UpdatedAt.Add(time.Hour)
	wantCode(t, j.Append(t.Context(), journal.Entry{Head: late, Records: recordsOf(2, 5)}), kernel.CodeConflict)
	bad := recordsOf(3, 3)
	bad[2].Payload = nil
	wantCode(t, j.Append(t.Context(), journal.Entry{Head: late, Records: bad}), kernel.CodeInvalidArgument)
	after, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a refused append changed the head (-before +after):\n%s", diff)
	}
	if got := mustRead(t, j, "r"); len(got) != 2 {
		t.Errorf("a refused append left records: %d, want 2", len(got))
	}
}

func testRefused(t *testing.T, j journal.Journal) {
	for name, spoil := range map[string]func(*journal.Head, *[]journal.Record){
		"no run":         func(h *journal.Head, _ *[]journal.Record) { h.Run = "" },
		"no start":       func(h *journal.Head, _ *[]journal.Record) { h.StartedAt = time.Time{} },
		"no update":      func(h *journal.Head, _ *[]journal.Record) { h.UpdatedAt = time.Time{} },
		"no records":     func(_ *journal.Head, r *[]journal.Record) { *r = nil },
		"number 0":       func(_ *journal.Head, r *[]journal.Record) { (*r)[0].Seq = 0 },
		"no kind":        func(_ *journal.Head, r *[]journal.Record) { (*r)[1].Kind = "" },
		"no payload":     func(_ *journal.Head, r *[]journal.Record) { (*r)[1].Payload = []byte{} },
		"no instant":     func(_ *journal.Head, r *[]journal.Record) { (*r)[1].At = time.Time{} },
		"year 3000":      func(_ *journal.Head, r *[]journal.Record) { (*r)[1].At = epoch().AddDate(1000, 0, 0) },
		"over the limit": func(_ *journal.Head, r *[]journal.Record) { (*r)[1].Content = make([]byte, journal.MaxRecord) },
	} {
		head, records := headOf("r"), recordsOf(1, 2)
		spoil(&head, &records)
		if err := j.Append(t.Context(), journal.Entry{Head: head, Records: records}); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
	if heads, err := j.Heads(t.Context(), journal.Query{}); err != nil || len(heads) != 0 {
		t.Errorf("refused appends left heads %v, %v", heads, err)
	}
}

func testIdentity(t *testing.T, j journal.Journal) {
	mustAppend(t, j, headOf("r"), recordsOf(1, 1))
	for name, spoil := range map[string]func(*journal.Head){
		"session": func(h *journal.Head) { h.Session = "other" },
		"tenant":  func(h *journal.Head) { h.Tenant = "other" },
		"user":    func(h *journal.Head) { h.User = "" },
		"start":   func(h *journal.Head) { h.StartedAt = h.StartedAt.Add(1) },
	} {
		head := headOf("r")
		spoil(&head)
		if err := j.Append(t.Context(), journal.Entry{Head: head, Records: recordsOf(2, 1)}); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("another %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
	mustAppend(t, j, headOf("r"), recordsOf(2, 1))
}

// Report A27 (b): every row of many concurrent appends is there.
func testManyRuns(t *testing.T, j journal.Journal) {
	const runs, appends = 40, 15
	var wg sync.WaitGroup
	for n := range runs {
		wg.Go(func() {
			run := fmt.Sprintf("run-%02d", n)
			for i := range appends {
				if err := j.Append(t.Context(), journal.Entry{Head: headOf(run), Records: recordsOf(int64(2*i)+1, 2)}); err != nil {
					t.Errorf("%s: %v", run, err)
					return
				}
			}
		})
	}
	wg.Wait()
	want := recordsOf(1, 2*appends)
	for n := range runs {
		run := fmt.Sprintf("run-%02d", n)
		if diff := cmp.Diff(want, mustRead(t, j, run)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", run, diff)
		}
		if h, err := j.Head(t.Context(), run); err != nil || h.LastSeq != 2*appends {
			t.Fatalf("%s: head at %d, %v", run, h.LastSeq, err)
		}
	}
}

func testReadersSeeWholeAppends(t *testing.T, j journal.Journal) {
	const appends, size = 60, 3
	mustAppend(t, j, headOf("r"), recordsOf(1, size))
	written := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(written)
		for i := 1; i < appends; i++ {
			if err := j.Append(t.Context(), journal.Entry{Head: headOf("r"), Records: recordsOf(int64(size*i)+1, size)}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for done := false; !done; {
				select {
				case <-written:
					done = true
				default:
				}
				records, err := j.Read(t.Context(), "r", 0, 0)
				if err != nil || len(records)%size != 0 {
					t.Errorf("read %d records of appends of %d, %v", len(records), size, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// testCloseWaits closes while many append: each append either succeeds or says
// that the journal is closed.
func testCloseWaits(t *testing.T, j journal.Journal) {
	const runs = 20
	var wg, first sync.WaitGroup
	first.Add(runs)
	for n := range runs {
		wg.Go(func() {
			for i := int64(1); ; i++ {
				err := j.Append(t.Context(), journal.Entry{Head: headOf(fmt.Sprintf("run-%02d", n)), Records: recordsOf(i, 1)})
				if i == 1 {
					first.Done()
				}
				if err != nil {
					wantCode(t, err, kernel.CodeLocalStorage)
					return
				}
			}
		})
	}
	first.Wait() // all of them are at it
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
}
