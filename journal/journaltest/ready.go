package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func wantReady(t *testing.T, j journal.Reader, now time.Duration, limit int, want ...string) {
	t.Helper()
	heads, err := j.Ready(t.Context(), after(now), limit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, runsOf(heads)); diff != "" {
		t.Errorf("ready at %v (-want +got):\n%s", now, diff)
	}
	for _, h := range heads {
		if diff := cmp.Diff(mustHead(t, j, h.Run), h); diff != "" {
			t.Errorf("a head that is ready (-head +got):\n%s", diff)
		}
	}
}

func testReady(t *testing.T, j journal.Journal) {
	wait := func(d *driver, due time.Duration) {
		d.must(func(e *journal.Entry) {
			e.Head.State, e.Head.WaitingFor = journal.Waiting, "approval"
			if due != 0 {
				e.Head.Due = after(due)
			}
		})
	}
	wantReady(t, j, 0, 0)
	running := start(t, j, "running")
	wantReady(t, j, 0, 0, "running")
	running.stop()
	wantReady(t, j, 0, 0)

	waiting := start(t, j, "waiting")
	wait(waiting, 0)
	due := start(t, j, "due")
	wait(due, time.Hour)
	wantReady(t, j, time.Hour-1, 0)
	wantReady(t, j, time.Hour, 0, "due")
	wantReady(t, j, 99*time.Hour, 0, "due") // never the one that is not due

	send(t, j, say("s", "waiting"))
	wantReady(t, j, 0, 0, "waiting")
	waiting.must(func(e *journal.Entry) { e.Applied = []int64{1} })
	wantReady(t, j, 0, 0)

	d, l := held(t, j, "held")
	wantReady(t, j, 10*time.Second-1, 0)
	wantReady(t, j, 10*time.Second, 0, "held") // cut short: somebody else's now
	send(t, j, say("s", "held"))
	wantReady(t, j, 0, 0) // its holder is told
	d.must(func(e *journal.Entry) {
		under(l, time.Second)(e)
		e.Release, e.Head.State = true, journal.Waiting
	})
	wantReady(t, j, time.Second, 0, "held") // given back, with a signal that came too late for it
	d.must(func(e *journal.Entry) { e.Applied = []int64{1} })
	wantReady(t, j, time.Second, 0)

	asked := start(t, j, "asked")
	asked.ask("a", asIs)
	wait(asked, 0)
	wantReady(t, j, 0, 0)
	mustDecide(t, j, vote("a", "bob", true))
	wantReady(t, j, 0, 0, "asked")
}

func testReadyOrder(t *testing.T, j journal.Journal) {
	for i, minutes := range []int{3, 1, 2, 1, 5} {
		d := &driver{t: t, j: j, head: headOf(fmt.Sprint("run ", i))}
		d.head.StartedAt = after(-time.Duration(minutes) * time.Hour) // not what counts
		d.head.UpdatedAt = after(time.Duration(minutes) * time.Minute)
		d.must(func(*journal.Entry) {})
	}
	want := []string{"run 1", "run 3", "run 2", "run 0", "run 4"}
	wantReady(t, j, 0, 0, want...)
	for limit := 1; limit < 7; limit++ {
		wantReady(t, j, 0, limit, want[:min(limit, len(want))]...)
	}
	_, err := j.Ready(t.Context(), after(0), -1)
	wantCode(t, err, kernel.CodeInvalidArgument)
}

// What a waiting run waits for is there for lists, and goes when it goes on.
func testHeadWaits(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	running := mustHead(t, j, "r")
	d.must(func(e *journal.Entry) {
		e.Head.State, e.Head.WaitingFor, e.Head.Approval, e.Head.Due = journal.Waiting, "approval", "a", after(time.Hour)
	})
	want := running
	want.State, want.WaitingFor, want.Approval, want.Due = journal.Waiting, "approval", "a", after(time.Hour)
	want.LastSeq, want.Hash = 2, linkOf(&want, recordsOf(1, 2))
	if diff := cmp.Diff(want, mustHead(t, j, "r")); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	d.must(func(e *journal.Entry) { e.Head = headOf("r") })
	running.LastSeq, running.Hash = 3, linkOf(&running, recordsOf(1, 3))
	if diff := cmp.Diff(running, mustHead(t, j, "r")); diff != "" {
		t.Errorf("going on (-want +got):\n%s", diff)
	}
}
