package journaltest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func say(id, run string) journal.Signal {
	return journal.Signal{ID: id, Run: run, Kind: journal.SignalSay, By: "alice", At: after(time.Second), Payload: []byte(`{"text":"` + id + `"}`)}
}

// send says whether a signal was new.
func send(t *testing.T, j journal.Inbox, s journal.Signal) bool {
	t.Helper()
	fresh, err := j.Send(t.Context(), s)
	if err != nil {
		t.Fatalf("send %q: %v", s.ID, err)
	}
	return fresh
}

// Signals are recorded once by id however often delivered, and kept in order.
func testSignals(t *testing.T, j journal.Journal) {
	start(t, j, "r")
	start(t, j, "other")
	if s := mustSignals(t, j, "r"); len(s) != 0 {
		t.Errorf("a new run has signals: %v", s)
	}
	bare := journal.Signal{ID: "c", Run: "r", Kind: journal.SignalCancel, At: after(0)}
	var want []journal.Signal
	for i, s := range []journal.Signal{say("b", "r"), say("a", "r"), bare} {
		s.Number, s.Applied = 77, 77 // the journal's to fill
		for n := range 3 {
			if fresh := send(t, j, s); fresh != (n == 0) {
				t.Errorf("delivery %d of %q is new: %v", n+1, s.ID, fresh)
			}
			s.Payload, s.At = []byte(`{"text":"other words"}`), after(time.Hour)
		}
		s = []journal.Signal{say("b", "r"), say("a", "r"), bare}[i]
		s.Number = int64(i) + 1
		want = append(want, s)
		if diff := cmp.Diff(want, mustSignals(t, j, "r")); diff != "" {
			t.Errorf("signals (-want +got):\n%s", diff)
		}
	}
	if !send(t, j, say("a", "other")) { // an id is one of its run
		t.Error("another run's signal of the same id is not new")
	}
	if n := mustHead(t, j, "r").Pending; n != 3 {
		t.Errorf("%d signals pending, want 3", n)
	}
	_, err := j.Signals(t.Context(), "nowhere")
	wantCode(t, err, kernel.CodeNotFound)
}

// Row 78: a signal is there until a record has taken it up, in one commit with
// that record; an entry that is refused takes nothing up.
func testApplied(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	for _, id := range []string{"a", "b", "c", "d"} {
		send(t, j, say(id, "r"))
	}
	waiting := func(ids ...string) {
		t.Helper()
		var got []string
		for _, s := range mustSignals(t, j, "r") {
			got = append(got, s.ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		if n := mustHead(t, j, "r").Pending; n != len(ids) {
			t.Errorf("%d pending, want %d", n, len(ids))
		}
	}
	d.must(func(e *journal.Entry) { e.Applied = []int64{3, 1} })
	waiting("b", "d")
	for _, bad := range [][]int64{{1}, {2, 1}, {2, 2}, {5}, {0}, {-1}} {
		_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Applied = bad })
	}
	if send(t, j, say("a", "r")) {
		t.Error("a signal that was taken up is new again")
	}
	d.must(func(e *journal.Entry) { e.Applied = []int64{2} })
	waiting("d")
	send(t, j, say("e", "r"))
	waiting("d", "e")
	d.must(func(e *journal.Entry) { e.Applied = []int64{4, 5} })
	waiting()
	_ = start(t, j, "other").refused(kernel.CodeConflict, func(e *journal.Entry) { e.Applied = []int64{1} })
	opens := &driver{t: t, j: j, head: headOf("opens")}
	_ = opens.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Applied = []int64{1} })
}

// A run that wants to hear what it was sent does not stop while a signal waits
// which the entry does not take up: that of another process just as one's own.
func testHeard(t *testing.T, j journal.Journal) {
	stop := func(applied ...int64) func(*journal.Entry) {
		return func(e *journal.Entry) {
			e.Head.State, e.Head.Stop, e.Heard, e.Applied = journal.Stopped, kernel.StopAnswered, true, applied
		}
	}
	d := start(t, j, "r")
	d.must(func(e *journal.Entry) { e.Heard = true }) // it goes on
	send(t, j, say("a", "r"))
	d.must(func(e *journal.Entry) { e.Heard = true })
	_ = d.refused(kernel.CodeConflict, stop())
	send(t, j, say("b", "r"))
	_ = d.refused(kernel.CodeConflict, stop(1))
	_ = d.refused(kernel.CodeConflict, stop(1, 1))
	d.must(stop(2, 1))
	if h := mustHead(t, j, "r"); h.Pending != 0 || h.State != journal.Stopped {
		t.Errorf("head %+v", h)
	}
	d = start(t, j, "taken up before")
	send(t, j, say("a", d.head.Run))
	d.must(func(e *journal.Entry) { e.Applied = []int64{1} })
	d.must(stop())

	d = start(t, j, "deaf")
	send(t, j, say("a", d.head.Run))
	d.stop()
	if h := mustHead(t, j, d.head.Run); h.Pending != 1 {
		t.Errorf("head %+v", h)
	}
}

func testSendRefused(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	send(t, j, say("before", "r"))
	for name, c := range map[string]struct {
		spoil func(*journal.Signal)
		want  kernel.Code
	}{
		"no id":          {func(s *journal.Signal) { s.ID = "" }, kernel.CodeInvalidArgument},
		"no run":         {func(s *journal.Signal) { s.Run = "" }, kernel.CodeInvalidArgument},
		"no kind":        {func(s *journal.Signal) { s.Kind = "" }, kernel.CodeInvalidArgument},
		"another kind":   {func(s *journal.Signal) { s.Kind = "wake" }, kernel.CodeInvalidArgument},
		"no instant":     {func(s *journal.Signal) { s.At = time.Time{} }, kernel.CodeInvalidArgument},
		"no JSON":        {func(s *journal.Signal) { s.Payload = []byte("{") }, kernel.CodeInvalidArgument},
		"too much":       {func(s *journal.Signal) { s.Payload = []byte(`"` + strings.Repeat("x", journal.MaxSignal) + `"`) }, kernel.CodeInvalidArgument},
		"an unknown run": {func(s *journal.Signal) { s.Run = "nowhere" }, kernel.CodeNotFound},
		// Invariant I7: what decides is a person's vote, and nothing that is sent.
		"an approval":        {func(s *journal.Signal) { s.Kind = journal.SignalApprove }, kernel.CodeInvalidArgument},
		"a refusal":          {func(s *journal.Signal) { s.Kind = journal.SignalRefuse }, kernel.CodeInvalidArgument},
		"a resolution":       {func(s *journal.Signal) { s.Kind = journal.SignalResolve }, kernel.CodeInvalidArgument},
		"a decision's id":    {func(s *journal.Signal) { s.ID = "decided/a" }, kernel.CodeInvalidArgument},
		"a resolution's id":  {func(s *journal.Signal) { s.ID = "resolved/a" }, kernel.CodeInvalidArgument},
		"an unknown run too": {func(s *journal.Signal) { s.Run = "R" }, kernel.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := say("x", "r")
			c.spoil(&s)
			fresh, err := j.Send(t.Context(), s)
			wantCode(t, err, c.want)
			if fresh {
				t.Error("a refused signal is new")
			}
		})
	}
	if s := mustSignals(t, j, "r"); len(s) != 1 {
		t.Errorf("refused signals were kept: %v", s)
	}
	d.stop()
	_, err := j.Send(t.Context(), say("after", "r"))
	wantCode(t, err, kernel.CodeRunStopped)
	if send(t, j, say("before", "r")) { // no error, since it is known
		t.Error("a signal delivered again is new")
	}
}

func testSendRace(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	const senders, ids = 6, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := map[string]int{}
	for range senders {
		wg.Go(func() {
			for n := range ids {
				s := say(fmt.Sprint("s", n), "r")
				isNew, err := j.Send(t.Context(), s)
				if err != nil {
					t.Error(err)
				}
				if isNew {
					mu.Lock()
					fresh[s.ID]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Go(func() { // while the run goes on
		for range ids {
			if err := d.try(func(*journal.Entry) {}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	signals := mustSignals(t, j, "r")
	for i, s := range signals {
		if s.Number != int64(i)+1 || fresh[s.ID] != 1 {
			t.Errorf("signal %d has the number %d and was new %d times", i+1, s.Number, fresh[s.ID])
		}
	}
	if len(signals) != ids || mustHead(t, j, "r").Pending != ids {
		t.Errorf("%d signals, %d pending, want %d", len(signals), mustHead(t, j, "r").Pending, ids)
	}
}
