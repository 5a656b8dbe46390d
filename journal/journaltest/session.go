package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// The earlier runs of a session are those of its tenant and its user, with a place
// or without, stopped or not: they are listed, and the next one stands behind
// them.
func testSessionRuns(t *testing.T, j journal.Journal) {
	in := func(run, tenant, user, session string) *driver {
		h := headOf(run)
		h.Tenant, h.User, h.Session = tenant, user, session
		return &driver{t: t, j: j, head: h}
	}
	talk := journal.Query{Owner: &journal.Owner{Tenant: "acme", User: "alice"}, Session: "talk"}
	listed := func(q journal.Query, want ...string) {
		t.Helper()
		heads, err := j.Heads(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, runsOf(heads), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", q, diff)
		}
	}
	for i, other := range [][3]string{{"acme", "alice", "other"}, {"acme", "bob", "talk"}, {"globex", "alice", "talk"}} {
		d := in(fmt.Sprint("of others ", i), other[0], other[1], other[2])
		d.must(func(e *journal.Entry) { e.Place = 1 })
		d.stop()
	}
	listed(talk)
	var runs []string // the latest first; not all began in the order in which they started
	for i, c := range []struct {
		minute int
		at     int // among runs
	}{{3, 0}, {5, 0}, {1, 2}, {4, 1}, {2, 3}} {
		d := in(fmt.Sprint("run ", 9-i), "acme", "alice", "talk")
		d.head.StartedAt = after(time.Duration(c.minute) * time.Minute)
		for _, wrong := range []int{i, i + 2, i + 4} { // with those of others there would be three more
			if wrong > 0 {
				_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Place = wrong })
			}
		}
		d.must(func(e *journal.Entry) {
			if i%2 == 0 { // else it wants none, and has it all the same
				e.Place = i + 1
			}
		})
		listed(withState(talk, journal.Stopped), runs...)
		listed(withState(talk, journal.Running), d.head.Run)
		runs = slices.Insert(runs, c.at, d.head.Run)
		listed(talk, runs...)
		talk.Limit = 2
		listed(talk, runs[:min(2, len(runs))]...)
		talk.Limit = 0
		d.stop()
	}
}

func withState(q journal.Query, s journal.State) journal.Query {
	q.State = s
	return q
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
