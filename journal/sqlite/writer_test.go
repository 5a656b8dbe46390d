package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// requestOf is an append that a test queues itself.
func requestOf(run string, seq int64, n int) *request {
	return newRequest(&appending{&journal.Entry{Head: headOf(run), Records: recordsOf(seq, n)}})
}

func entryOf(r *request) *journal.Entry { return r.operation.(*appending).Entry }

// enqueueWhileLocked queues requests while another connection holds the lock,
// so that the writer cannot get ahead of them: it has taken one batch at most.
func enqueueWhileLocked(t *testing.T, j *Journal, requests []*request) {
	t.Helper()
	db := mustRaw(t, j.file.path)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "BEGIN IMMEDIATE")
	for _, r := range requests {
		if err := j.writer.enqueue(r); err != nil {
			t.Fatal(err)
		}
	}
	mustExec(t, conn, "ROLLBACK")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// Appends that wait together share a transaction, within its bounds.
func TestGroupCommit(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	var requests []*request
	for n := range 3 * maxBatch {
		requests = append(requests, requestOf(fmt.Sprintf("run-%d", n), 1, 2))
	}
	enqueueWhileLocked(t, j, requests)
	for _, r := range requests {
		if err := <-r.done; err != nil {
			t.Fatal(err)
		}
	}
	got := j.Stats()
	if got.Appends != 3*maxBatch || got.Records != 6*maxBatch {
		t.Errorf("%+v, want %d appends of 2 records", got, 3*maxBatch)
	}
	// The first batch is whatever was there when the writer woke up.
	if got.Commits < 3 || got.Commits > 4 {
		t.Errorf("%d appends took %d commits, want 3 or 4", got.Appends, got.Commits)
	}
}

// Close writes what is queued before it closes the file.
func TestCloseDrains(t *testing.T) {
	path := newPath(t)
	j, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var requests []*request
	for n := range 2 * maxBatch {
		requests = append(requests, requestOf(fmt.Sprintf("run-%d", n), 1, 2))
	}
	enqueueWhileLocked(t, j, requests)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	for _, r := range requests {
		if err := <-r.done; err != nil {
			t.Fatalf("%s: %v", entryOf(r).Head.Run, err)
		}
	}
	heads, err := mustOpen(t, path, Options{}).Heads(t.Context(), journal.Query{})
	if err != nil || len(heads) != len(requests) {
		t.Errorf("%d runs were written, %v; want %d", len(heads), err, len(requests))
	}
}

func TestBatchBounds(t *testing.T) {
	sizes := func(sizes ...int) (queue []*request) {
		for _, size := range sizes {
			queue = append(queue, &request{size: size})
		}
		return queue
	}
	for _, c := range []struct {
		queue []*request
		want  []int // sizes of batches
	}{
		{sizes(make([]int, 2*maxBatch+1)...), []int{maxBatch, maxBatch, 1}},
		{sizes(maxBatchBytes, 1, 1), []int{1, 2}},
		{sizes(maxBatchBytes-1, 1, 1), []int{2, 1}},
		{sizes(2*maxBatchBytes, 2*maxBatchBytes), []int{1, 1}},
	} {
		w := &writer{queue: c.queue}
		var got []int
		for batch := w.take(); batch != nil; batch = w.take() {
			got = append(got, len(batch))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("batches of %v, want %v", got, c.want)
		}
	}
}

// Those who are about to append come into the transaction of the one who was
// first.
func TestGather(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nobody else runs them meanwhile
	const n = 10
	for range 10 { // now and then the scheduler lets the writer go on first
		w := &writer{wake: make(chan struct{}, 1)}
		var wg sync.WaitGroup
		for i := range n {
			r := requestOf(fmt.Sprintf("run-%d", i), 1, 1)
			wg.Go(func() {
				if err := w.enqueue(r); err != nil {
					t.Error(err)
				}
			})
		}
		got := len(w.gather())
		wg.Wait()
		if got+len(w.take()) != n {
			t.Errorf("a batch of %d, and not all of the others after it", got)
		}
		if got == n {
			return
		}
	}
	t.Errorf("the writer never took all that could be had")
}

// The appends of one transaction keep their own outcomes.
func TestOutcomesInOneBatch(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "old", 1, 2)
	stranger := requestOf("old", 3, 1)
	entryOf(stranger).Head.Tenant = "another"
	cases := []struct {
		request *request
		want    kernel.Code
	}{
		{requestOf("new", 1, 2), ""},
		{requestOf("new", 1, 2), kernel.CodeConflict}, // decided by the one before it
		{requestOf("new", 3, 2), ""},
		{requestOf("old", 9, 1), kernel.CodeConflict},
		{stranger, kernel.CodeInvalidArgument},
		{requestOf("old", 3, 1), ""},
	}
	var batch []*request
	for _, c := range cases {
		batch = append(batch, c.request)
	}
	j.writer.stop() // the test is the writer now
	j.writer.commit(batch)
	for i, c := range cases {
		if err := <-c.request.done; kernel.CodeOf(err) != c.want {
			t.Errorf("append %d: %v, want the code %q", i, err, c.want)
		}
	}
	wantRecords(t, j, "new", 4)
	wantRecords(t, j, "old", 3)
	if got := j.Stats(); got != (Stats{Appends: 4, Records: 7, Commits: 2}) {
		t.Errorf("%+v", got)
	}
}

// Entries that are refused after they have written take only themselves out of
// the transaction, with all of it: also what the next one counts on.
func TestRefusedInOneBatch(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	entry := func(run string, seq int64, n int, call string) *request {
		e := drivenEntry(run, seq, n)
		if call != "" {
			e.Claim = claimOf("shared", call)
		}
		return newRequest(&appending{&e})
	}
	stopped := entry("c", 3, 1, "2")
	entryOf(stopped).Head.State = journal.Stopped
	stopped2 := entry("c", 3, 1, "3")
	entryOf(stopped2).Head.State = journal.Stopped
	cases := []struct {
		request *request
		want    kernel.Code
	}{
		{entry("a", 1, 2, "1"), ""},
		{entry("b", 1, 2, "1"), kernel.CodeEffectRefused}, // opened, sealed, and undone
		{entry("c", 1, 2, "2"), ""},
		{stopped, kernel.CodeEffectRefused}, // its own, but once is once
		{entry("a", 3, 1, "2"), kernel.CodeEffectRefused},
		{entry("a", 3, 3, ""), ""}, // the number is still free
		{entry("b", 1, 1, ""), ""}, // so is the name
		{stopped2, ""},
		{newRequest(&acquiring{run: "c", owner: "p2", now: startOf(), until: startOf().Add(1)}), kernel.CodeRunStopped},
		{newRequest(&renewing{owner: "p1", runs: []string{"a", "b"}, until: startOf().Add(1)}), ""},
	}
	var batch []*request
	for _, c := range cases {
		batch = append(batch, c.request)
	}
	j.writer.stop() // the test is the writer now
	j.writer.commit(batch)
	for i, c := range cases {
		if err := <-c.request.done; kernel.CodeOf(err) != c.want {
			t.Errorf("request %d: %v, want the code %q", i, err, c.want)
		}
	}
	if got := j.Stats(); got != (Stats{Appends: 5, Records: 9, Commits: 1}) {
		t.Errorf("%+v", got)
	}
	wantRecords(t, j, "a", 5)
	wantRecords(t, j, "b", 1)
	wantRecords(t, j, "c", 3)
	var sealed []string
	var prev journal.Hash
	seals, err := j.Seals(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range seals {
		s := &seals[i]
		if s.Seq != int64(i)+1 || s.Hash != s.Chain(prev) {
			t.Errorf("seal %d of %s does not follow the one before", s.Seq, s.Run)
		}
		prev = s.Hash
		sealed = append(sealed, fmt.Sprintf("%s %d", s.Run, s.Last))
	}
	if want := []string{"a 1", "c 1", "b 1", "c 3"}; !slices.Equal(sealed, want) {
		t.Errorf("sealed %q, want %q", sealed, want)
	}
	wantWhole(t, j)
}

// An append that the file itself refuses takes only itself out of its batch.
func TestOneBadAppend(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	db := mustRaw(t, path)
	// A record without a run: something else wrote to the file.
	mustExec(t, db, `PRAGMA foreign_keys = 0; INSERT INTO events VALUES ('bad', 2, 0, 'x', x'00', NULL, zeroblob(32))`)
	requests := []*request{requestOf("a", 1, 3), requestOf("bad", 1, 3), requestOf("b", 1, 3)}
	j.writer.stop()
	j.writer.commit(append([]*request(nil), requests...))
	for i, bad := range []bool{false, true, false} {
		err := <-requests[i].done
		if bad {
			wantLocalStorage(t, err, path, "does not hold what its version says")
		} else if err != nil {
			t.Errorf("append %d failed with the bad one: %v", i, err)
		}
	}
	wantRecords(t, j, "a", 3)
	wantRecords(t, j, "b", 3)
	if _, err := j.Head(t.Context(), "bad"); kernel.CodeOf(err) != kernel.CodeNotFound {
		t.Errorf("half of the bad append was written: %v", err)
	}
}

// A context that ends while the append waits takes it out of the queue.
func TestCancelledInQueue(t *testing.T) {
	w := &writer{wake: make(chan struct{}, 1)} // nobody takes from it
	ctx, cancel := context.WithCancel(t.Context())
	kept, withdrawn := requestOf("kept", 1, 1), requestOf("withdrawn", 1, 1)
	if err := w.enqueue(kept); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := w.await(ctx, withdrawn); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if len(w.queue) != 1 || w.queue[0] != kept {
		t.Errorf("the queue holds %d appends, want the other one alone", len(w.queue))
	}
}

// A context that ends once the append was taken does not hide its outcome.
func TestCancelledWhenTaken(t *testing.T) {
	w := &writer{wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	r := requestOf("r", 1, 1)
	outcome := make(chan error)
	go func() { outcome <- w.await(ctx, r) }()
	<-w.wake
	batch := w.take()
	cancel()
	batch[0].done <- nil
	if err := <-outcome; err != nil {
		t.Errorf("got %v for an append that was written", err)
	}
}

// Contexts that end at any moment: what Append returns is what happened.
func TestCancelledAnywhere(t *testing.T) {
	j := mustOpen(t, newPath(t), Options{})
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			run := fmt.Sprintf("run-%d", n)
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			err := j.Append(ctx, journal.Entry{Head: headOf(run), Records: recordsOf(1, 2)})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", run, err)
			}
			_, headErr := j.Head(t.Context(), run)
			if (err == nil) != (headErr == nil) {
				t.Errorf("%s: Append returned %v, but Head %v", run, err, headErr)
			}
		})
	}
	wg.Wait()
}
