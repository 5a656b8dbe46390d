package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Report A27 (a): while another process holds the lock for two seconds, appends
// and signals wait, and succeed.
func TestLockedForTwoSeconds(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	mustAppend(t, j, "r", 1, 2)
	c := startChild(t, self(t), "hold", path)
	if got := c.line(); got != "locked" {
		t.Fatalf("the other process printed %q", got)
	}
	mustAppend(t, j, "r", 3, 2)
	wantRecords(t, j, "r", 4)
	c.finish(t)
}

// childHold holds the lock for writing for two seconds.
func childHold(ctx context.Context, path string) error {
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if _, err := j.writer.conn.ExecContext(ctx, `BEGIN IMMEDIATE; DELETE FROM events`); err != nil {
		return err
	}
	fmt.Println("locked")
	<-time.After(2 * time.Second)
	if _, err := j.writer.conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		return err
	}
	return j.Close()
}

// Report A27 (b), (c): eight writers of a hundred appends each, through two
// handles whose transactions read before they write: every row is there, and
// nobody hears of a lock.
func TestManyWriters(t *testing.T) {
	path := newPath(t)
	handles := []*Journal{mustOpen(t, path, Options{}), mustOpen(t, path, Options{})}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			j, run := handles[n%2], fmt.Sprint(n)
			for i := range int64(100) {
				e := drivenEntry(run, 2*i+1, 2)
				e.Claim = claimOf(run, fmt.Sprint(i))
				if i > 0 {
					e.Settled = []journal.Settlement{landed(run, fmt.Sprint(i-1))}
				}
				if err := j.Append(t.Context(), e); err != nil {
					t.Errorf("%s: %v", run, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for n := range 8 {
		wantRecords(t, handles[n%2], fmt.Sprint(n), 200)
		effects, err := handles[n%2].Effects(t.Context(), journal.EffectQuery{Run: fmt.Sprint(n)})
		if err != nil || len(effects) != 100 {
			t.Errorf("%d: %d effects, %v", n, len(effects), err)
		}
	}
	wantWhole(t, handles[0])
}

// startOf is the instant at which the runs of these tests begin.
func startOf() time.Time { return headOf("").StartedAt }

// drivenEntry is an entry under the first lease of its run.
func drivenEntry(run string, seq int64, n int) journal.Entry {
	return journal.Entry{
		Head: headOf(run), Records: recordsOf(seq, n), Now: startOf(),
		Lease: &journal.Lease{Owner: "p1", Token: 1, Until: startOf().Add(10 * time.Second)},
	}
}

// claimOf is the claim of a call for an effect of its own.
func claimOf(run, call string) *journal.Claim {
	key := run + "/" + call
	return &journal.Claim{
		ID: journal.EffectID("t", "send", key), Call: call, Tool: "send", Key: key, Fingerprint: "f" + key, Request: "r" + key,
		Arguments: []byte("{}"), Class: kernel.Once, Attempt: 1, At: startOf(),
	}
}

func landed(run, call string) journal.Settlement {
	return journal.Settlement{
		Effect: claimOf(run, call).ID, Call: call, Disposition: kernel.Landed, At: startOf(), Result: []byte("done"), Facts: []byte("{}"),
	}
}

// Report A31: another process is refused while a run is driven, takes it over
// once the driver has been paused past its lease, and when that one wakes up and
// writes, nothing of it is taken; the sequence has neither a gap nor a double.
// Whoever reads needs no lease.
func TestTakeOver(t *testing.T) {
	path := newPath(t)
	c := startChild(t, self(t), "drive", path)
	if got := c.line(); got != "driving" {
		t.Fatalf("the other process printed %q", got)
	}
	j := mustOpen(t, path, Options{})
	now := startOf().Add(5 * time.Second)
	_, err := j.Acquire(t.Context(), "r", "p2", now, now.Add(time.Minute))
	wantCode(t, err, kernel.CodeConflict)
	rival := headOf("rival")
	rival.Session = headOf("r").Session
	err = j.Append(t.Context(), journal.Entry{Head: rival, Records: recordsOf(1, 1)})
	wantCode(t, err, kernel.CodeConflict)
	if ready, err := j.Ready(t.Context(), now, 0); err != nil || len(ready) != 0 {
		t.Errorf("ready while it is driven: %v, %v", ready, err)
	}
	wantRecords(t, j, "r", 2)

	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	now = startOf().Add(11 * time.Second) // its lease has ended
	if ready, err := j.Ready(t.Context(), now, 0); err != nil || len(ready) != 1 {
		t.Errorf("ready once the lease has ended: %v, %v", ready, err)
	}
	lease, err := j.Acquire(t.Context(), "r", "p2", now, now.Add(time.Minute))
	if err != nil || lease != (journal.Lease{Owner: "p2", Token: 2, Until: now.Add(time.Minute)}) {
		t.Fatalf("taken over with %+v, %v", lease, err)
	}
	takenOver := journal.Entry{Head: headOf("r"), Records: recordsOf(3, 1), Lease: &lease, Now: now}
	if err := j.Append(t.Context(), takenOver); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := c.stdin.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the next record", "its own number", "a claim", "a heartbeat", "giving it back"} {
		want := string(kernel.CodeLeaseLost)
		if what == "giving it back" {
			want = "nothing"
		}
		if got := c.line(); got != what+": "+want {
			t.Errorf("the late owner printed %q, want %q", got, what+": "+want)
		}
	}
	c.finish(t)
	wantRecords(t, j, "r", 3)
	if h, err := j.Head(t.Context(), "r"); err != nil || h.Lease != lease {
		t.Errorf("the lease is now %+v, %v", h.Lease, err)
	}
	if effects, err := j.Effects(t.Context(), journal.EffectQuery{}); err != nil || len(effects) != 0 {
		t.Errorf("a late claim was taken: %v, %v", effects, err)
	}
	takenOver.Records = recordsOf(4, 1)
	if err := j.Append(t.Context(), takenOver); err != nil {
		t.Error(err)
	}
	wantWhole(t, j)
}

// childDrive drives a run and, told to go on, tries all that a driver does.
func childDrive(ctx context.Context, path string) error {
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	first := drivenEntry("r", 1, 2)
	if err := j.Append(ctx, first); err != nil {
		return err
	}
	fmt.Println("driving")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return fmt.Errorf("nobody said to go on")
	}
	fmt.Println("the next record:", kernel.CodeOf(j.Append(ctx, drivenEntry("r", 4, 1))))
	fmt.Println("its own number:", kernel.CodeOf(j.Append(ctx, drivenEntry("r", 3, 1))))
	late := drivenEntry("r", 4, 1)
	late.Claim = claimOf("r", "late")
	fmt.Println("a claim:", kernel.CodeOf(j.Append(ctx, late)))
	lost, err := j.Renew(ctx, "p1", []string{"r"}, startOf().Add(time.Hour))
	if err != nil || len(lost) != 1 {
		return fmt.Errorf("renewed: %v, %w", lost, err)
	}
	fmt.Println("a heartbeat:", kernel.CodeLeaseLost)
	if err := j.Release(ctx, "r", *first.Lease); err != nil {
		return err
	}
	fmt.Println("giving it back: nothing")
	return j.Close()
}

// What one handle remembers of a run never stands against what another one has
// written since.
func TestRememberedHeads(t *testing.T) {
	path := newPath(t)
	a, b := mustOpen(t, path, Options{}), mustOpen(t, path, Options{})
	open := func(run string) {
		t.Helper()
		if err := a.Append(t.Context(), drivenEntry(run, 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	late := startOf().Add(time.Minute)

	open("taken over") // and nothing written since
	lease, err := b.Acquire(t.Context(), "taken over", "p2", late, late.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, a.Append(t.Context(), drivenEntry("taken over", 3, 1)), kernel.CodeLeaseLost)
	wantRecords(t, b, "taken over", 2)

	open("given back")
	if err := b.Release(t.Context(), "given back", *drivenEntry("", 1, 1).Lease); err != nil {
		t.Fatal(err)
	}
	wantCode(t, a.Append(t.Context(), drivenEntry("given back", 3, 1)), kernel.CodeLeaseLost)

	open("renewed")
	if lost, err := b.Renew(t.Context(), "p1", []string{"renewed"}, late.Add(time.Minute)); err != nil || lost != nil {
		t.Fatal(lost, err)
	}
	without := drivenEntry("renewed", 3, 1)
	without.Lease, without.Now = nil, late
	wantCode(t, a.Append(t.Context(), without), kernel.CodeLeaseLost)

	// The lease comes back to the first handle, which goes on.
	lease.Until = late
	back := journal.Entry{Head: headOf("taken over"), Records: recordsOf(3, 1), Lease: &lease, Now: late, Release: true}
	if err := b.Append(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	again, err := a.Acquire(t.Context(), "taken over", "p1", late, late.Add(time.Minute))
	if err != nil || again.Token != 3 {
		t.Fatal(again, err)
	}
	on := journal.Entry{Head: headOf("taken over"), Records: recordsOf(4, 1), Lease: &again, Now: late}
	if err := a.Append(t.Context(), on); err != nil {
		t.Fatal(err)
	}

	// An append that was rolled back leaves nothing behind that the next one
	// could follow.
	mustAppend(t, a, "rolled back", 1, 1)
	mustExec(t, a.writer.conn, "PRAGMA max_page_count = 1")
	failed := journal.Entry{Head: headOf("rolled back"), Records: recordsOf(2, 1)}
	big := journal.Entry{Head: headOf("other"), Records: recordsOf(1, 1)}
	big.Records[0].Content = make([]byte, 1<<20)
	batch := []*request{newRequest(&appending{&failed}), newRequest(&appending{&big})}
	a.writer.stop() // the test is the writer now
	a.writer.commit(batch)
	for _, r := range batch {
		wantLocalStorage(t, <-r.done, path, "its disk is full")
	}
	mustExec(t, a.writer.conn, "PRAGMA max_page_count = 1000000")
	elsewhere := recordsOf(2, 1)
	elsewhere[0].Payload = []byte(`{"by":"b"}`)
	if err := b.Append(t.Context(), journal.Entry{Head: headOf("rolled back"), Records: elsewhere}); err != nil {
		t.Fatal(err)
	}
	last := requestOf("rolled back", 3, 1)
	a.writer.commit([]*request{last})
	if err := <-last.done; err != nil {
		t.Fatal(err)
	}
	wantWhole(t, b)
}

// Several processes claim the same effect at once: one of them gets it.
func TestOneClaims(t *testing.T) {
	path := newPath(t)
	j := mustOpen(t, path, Options{})
	var children []*child
	for range 4 {
		children = append(children, startChild(t, self(t), "claim", path))
	}
	for _, c := range children {
		if got := c.line(); got != "ready" {
			t.Fatalf("another process printed %q", got)
		}
	}
	for _, c := range children {
		if _, err := c.stdin.Write([]byte("go on\n")); err != nil {
			t.Fatal(err)
		}
	}
	outcomes := map[string]int{}
	for _, c := range children {
		for line := c.line(); line != "over"; line = c.line() {
			outcomes[line]++
		}
		c.finish(t)
	}
	want := map[string]int{"given": 50, "refused": 150}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	effects, err := j.Effects(t.Context(), journal.EffectQuery{})
	if err != nil || len(effects) != 50 {
		t.Errorf("%d effects, %v; want 50", len(effects), err)
	}
	wantWhole(t, j)
}

// childClaim claims fifty effects that others claim too.
func childClaim(ctx context.Context, path string) error {
	j, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return fmt.Errorf("nobody said to go on")
	}
	run := fmt.Sprint(os.Getpid())
	seq := int64(1)
	for i := range 50 {
		e := drivenEntry(run, seq, 1)
		e.Claim = claimOf("shared", fmt.Sprint(i))
		switch err := j.Append(ctx, e); kernel.CodeOf(err) {
		case "":
			fmt.Println("given")
			seq++
		case kernel.CodeEffectRefused:
			fmt.Println("refused")
		default:
			return err
		}
	}
	fmt.Println("over")
	return j.Close()
}
