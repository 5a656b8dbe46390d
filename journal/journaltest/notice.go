package journaltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// noticeOf is a notice for the session of headOf.
func noticeOf(id string) journal.Notice {
	h := headOf("any")
	return journal.Notice{ID: id, Tenant: h.Tenant, User: h.User, Session: h.Session, By: "ops", At: after(time.Second), Text: "about " + id}
}

// noticedHead is the head of a run of that session.
func noticedHead(run string) journal.Head {
	h := headOf(run)
	h.Session = headOf("any").Session
	return h
}

func notify(t *testing.T, j journal.Inbox, n journal.Notice) bool {
	t.Helper()
	fresh, err := j.Notify(t.Context(), n)
	if err != nil {
		t.Fatalf("notify %q: %v", n.ID, err)
	}
	return fresh
}

// wantNotices compares the notices that wait for a session, by id.
func wantNotices(t *testing.T, j journal.Reader, s journal.SessionID, want ...string) {
	t.Helper()
	waiting, err := j.Notices(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range waiting {
		got = append(got, waiting[i].ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices that wait (-want +got):\n%s", diff)
	}
}

// sent are the notices that a run was sent.
func sent(t *testing.T, j journal.Journal, run string) (ids []string) {
	t.Helper()
	for _, s := range mustSignals(t, j, run) {
		var n journal.Noticed
		if s.Kind != journal.SignalNotice || json.Unmarshal(s.Payload, &n) != nil || n.Text != "about "+n.Notice || s.By != "ops" {
			t.Errorf("signal %+v", s)
		}
		ids = append(ids, n.Notice)
	}
	return ids
}

// Row 78: a notice is kept once for each id, for its own session, until it was
// seen, also before there is any run.
func testNotices(t *testing.T, j journal.Journal) {
	a, b := noticeOf("a"), noticeOf("b")
	other := noticeOf("a")
	other.User = "bob"
	for _, n := range []journal.Notice{b, a, other} {
		n.Number = 77 // the journal's to fill
		if !notify(t, j, n) {
			t.Errorf("%q of %s is not new", n.ID, n.User)
		}
	}
	again := a
	again.Text, again.At = "other words", after(time.Hour)
	if notify(t, j, again) {
		t.Error("the same id is new again")
	}
	want := []journal.Notice{b, a}
	want[0].Number, want[1].Number = 1, 2
	got, err := j.Notices(t.Context(), a.Of())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	wantNotices(t, j, other.Of(), "a")
	wantNotices(t, j, journal.SessionID{Session: "nowhere"})
}

// A run finds what waits: its first entry takes up what it knows of, it is sent
// the rest and what comes later, and what it leaves unseen waits for the next.
func testNoticesReach(t *testing.T, j journal.Journal) {
	s := noticeOf("a").Of()
	for _, id := range []string{"a", "b", "c"} {
		notify(t, j, noticeOf(id))
	}
	d := &driver{t: t, j: j, head: noticedHead("r")}
	d.must(func(e *journal.Entry) { e.Place, e.Noticed = 1, []string{"b"} })
	if diff := cmp.Diff([]string{"a", "c"}, sent(t, j, "r")); diff != "" {
		t.Errorf("sent to the run (-want +got):\n%s", diff)
	}
	notify(t, j, noticeOf("d"))
	if h := mustHead(t, j, "r"); h.Pending != 3 {
		t.Errorf("%d pending", h.Pending)
	}
	d.must(func(e *journal.Entry) { e.Applied, e.Seen = []int64{1, 2, 3}, []string{"b", "nobody knows"} })
	wantNotices(t, j, s, "a", "c", "d")
	if notify(t, j, noticeOf("b")) {
		t.Error("a notice that was seen is new again")
	}
	_ = d.refused(kernel.CodeConflict, func(e *journal.Entry) { e.Applied, e.Seen = []int64{1}, []string{"a"} })
	d.must(func(e *journal.Entry) {
		e.Head.State, e.Head.Stop, e.Seen = journal.Stopped, kernel.StopAnswered, []string{"c"}
	})
	notify(t, j, noticeOf("e"))
	if got := sent(t, j, "r"); len(got) > 0 {
		t.Errorf("a run that has stopped is sent %q", got)
	}
	next := &driver{t: t, j: j, head: noticedHead("next")}
	next.must(func(e *journal.Entry) { e.Place, e.Noticed = 2, []string{"a", "d", "e"} })
	if got := sent(t, j, "next"); len(got) > 0 {
		t.Errorf("the next run is sent %q beside what it took up", got)
	}
	next.must(func(e *journal.Entry) { e.Seen = []string{"a", "d", "e"} })
	wantNotices(t, j, s)
}

func testNoticesBounded(t *testing.T, j journal.Journal) {
	for i := range journal.MaxNotices {
		notify(t, j, noticeOf(fmt.Sprint(i)))
	}
	_, err := j.Notify(t.Context(), noticeOf("over"))
	wantCode(t, err, kernel.CodeConflict)
	if notify(t, j, noticeOf("0")) {
		t.Error("one that is there is new")
	}
	d := startAs(t, j, noticedHead("r"))
	d.must(func(e *journal.Entry) { e.Seen = []string{"7"} })
	if !notify(t, j, noticeOf("over")) {
		t.Error("there is room again, and it is not new")
	}
}

func testNoticesRefused(t *testing.T, j journal.Journal) {
	for name, change := range map[string]func(*journal.Notice){
		"no id":        func(n *journal.Notice) { n.ID = "" },
		"blank id":     func(n *journal.Notice) { n.ID = " a" },
		"no session":   func(n *journal.Notice) { n.Session = "" },
		"no instant":   func(n *journal.Notice) { n.At = time.Time{} },
		"no text":      func(n *journal.Notice) { n.Text = "" },
		"long text":    func(n *journal.Notice) { n.Text = strings.Repeat("a", journal.MaxNotice+1) },
		"broken UTF-8": func(n *journal.Notice) { n.Text = "\xff" },
	} {
		n := noticeOf("a")
		change(&n)
		if _, err := j.Notify(t.Context(), n); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNotices(t, j, noticeOf("a").Of())
	_, err := j.Send(t.Context(), journal.Signal{ID: "notice/a", Run: "r", Kind: journal.SignalSay, At: after(0)})
	wantCode(t, err, kernel.CodeInvalidArgument)
	d := start(t, j, "r")
	_ = d.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Noticed = []string{"a"} })
	_ = d.refused(kernel.CodeInvalidArgument, func(e *journal.Entry) { e.Seen = []string{""} })
}

func testNoticesRace(t *testing.T, j journal.Journal) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for range 8 {
		wg.Go(func() {
			for i := range 5 {
				isNew, err := j.Notify(t.Context(), noticeOf(fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				if isNew {
					fresh++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if fresh != 5 {
		t.Errorf("%d of 5 notices are new", fresh)
	}
	waiting, err := j.Notices(t.Context(), noticeOf("a").Of())
	if err != nil || len(waiting) != 5 || waiting[4].Number != 5 {
		t.Errorf("waiting %+v, %v", waiting, err)
	}
}
