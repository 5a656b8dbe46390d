package journaltest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Runs of one session are serial.
func testSession(t *testing.T, j journal.Journal) {
	inSession := func(run, tenant, user, session string) *driver {
		h := headOf(run)
		h.Tenant, h.User, h.Session = tenant, user, session
		return &driver{t: t, j: j, head: h}
	}
	nothing := func(*journal.Entry) {}
	first := inSession("first", "acme", "alice", "talk")
	first.must(nothing)
	second := inSession("second", "acme", "alice", "talk")
	err := second.refused(kernel.CodeConflict, nothing)
	if !strings.Contains(err.Error(), "first") {
		t.Errorf("the refusal does not name the run: %v", err)
	}
	for i, other := range [][3]string{
		{"acme", "alice", "other"}, {"acme", "bob", "talk"}, {"globex", "alice", "talk"},
		{"", "alice", "talk"}, {"acme", "", "talk"}, {"acme", "alice", "Talk"},
		{"acme", "alice", ""}, {"acme", "alice", ""}, // of no session, and so not of one
	} {
		inSession(fmt.Sprint("other", i), other[0], other[1], other[2]).must(nothing)
	}
	first.must(func(e *journal.Entry) { e.Head.State = journal.Waiting })
	_ = second.refused(kernel.CodeConflict, nothing)
	first.stop()
	second.must(nothing)
	_ = inSession("third", "acme", "alice", "talk").refused(kernel.CodeConflict, nothing)
	second.stop()
	third := inSession("third", "acme", "alice", "talk")
	third.must(func(e *journal.Entry) { e.Head.State = journal.Stopped }) // opened and stopped at once
	inSession("fourth", "acme", "alice", "talk").must(nothing)
}

// A run that was to go on from what others said is not begun when there are
// more of them by now.
func testSessionOvertaken(t *testing.T, j journal.Journal) {
	place := func(n int) func(*journal.Entry) {
		return func(e *journal.Entry) { e.Place = n }
	}
	in := func(run string) *driver {
		h := headOf(run)
		h.Session = "talk"
		return &driver{t: t, j: j, head: h}
	}
	late := in("late")
	_ = late.refused(kernel.CodeConflict, place(2)) // there is none before it
	first := in("first")
	first.must(place(1))
	_ = late.refused(kernel.CodeConflict, place(2)) // the first one has not stopped
	first.stop()
	_ = late.refused(kernel.CodeConflict, place(1))
	late.must(place(2))
	_ = late.refused(kernel.CodeInvalidArgument, place(2)) // it has begun
	late.stop()
	in("anywhere").must(place(0))
	lone := headOf("lone")
	lone.Session = ""
	_ = (&driver{t: t, j: j, head: lone}).refused(kernel.CodeInvalidArgument, place(1))
}

func testSessionRace(t *testing.T, j journal.Journal) {
	const runs = 8
	for round := range 5 {
		errs := make([]error, runs)
		entries := make([]journal.Entry, runs)
		var wg sync.WaitGroup
		for n := range runs {
			h := headOf(fmt.Sprintf("run %d of round %d", n, round))
			h.Session = fmt.Sprint("round ", round)
			entries[n] = journal.Entry{Head: h, Records: recordsOf(1, 1)}
			wg.Go(func() { errs[n] = j.Append(t.Context(), entries[n]) })
		}
		wg.Wait()
		opened := 0
		for _, err := range errs {
			if err == nil {
				opened++
			} else {
				wantCode(t, err, kernel.CodeConflict)
			}
		}
		if opened != 1 {
			t.Fatalf("%d runs of one session opened at once", opened)
		}
	}
}

// Invariant I4: one stop, and nothing after it.
func testNothingAfterStop(t *testing.T, j journal.Journal) {
	d := start(t, j, "r")
	d.stop()
	_ = d.refused(kernel.CodeRunStopped, func(*journal.Entry) {})
	_ = d.refused(kernel.CodeRunStopped, func(e *journal.Entry) { e.Head.State = journal.Running })
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Records[0].Seq = 9 })
}
