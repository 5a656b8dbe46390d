package remote_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// world is a desk with a draft of alice, and a ticket service behind a real
// connection.
type world struct {
	*service.Service
	server   *httptest.Server
	dir, url string
	db       *sqlite.DB
	alice    desk.Identity
	draft    desk.Draft
	promise  remote.Promise
}

func newWorld(t *testing.T, p remote.Promise) *world {
	t.Helper()
	return newWorldBehind(t, p, func(service http.Handler) http.Handler { return service })
}

// newWorldBehind is newWorld with something in front of the service.
func newWorldBehind(t *testing.T, p remote.Promise, front func(http.Handler) http.Handler) *world {
	t.Helper()
	w := &world{Service: &service.Service{Plain: p == remote.PromiseNothing}, dir: t.TempDir(), promise: p}
	w.server = httptest.NewServer(front(w))
	t.Cleanup(w.server.Close)
	w.url = w.server.URL
	var err error
	if w.db, err = sqlite.Create(t.Context(), filepath.Join(w.dir, "desk.db"), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // when all desks are closed
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(w.runs()); err == nil && !t.Failed() {
			w.holdfast(t, "runs", "verify", "--all")
		}
	})
	if w.alice, err = desk.Fixture("alice"); err != nil {
		t.Fatal(err)
	}
	w.draft, err = w.db.Prepare(t.Context(), w.alice, "s", "申请复核 T1001", "T1001 目前缺出差审批单。")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// runs is the journal's file.
func (w *world) runs() string { return filepath.Join(w.dir, "runs.db") }

// open opens the desk, as another process would.
func (w *world) open(t *testing.T, change ...func(*remote.Config)) *remote.Desk {
	t.Helper()
	c := remote.Config{Drafts: w.db, Runs: w.runs(), Service: w.url, Promise: w.promise}
	for _, f := range change {
		f(&c)
	}
	d, err := remote.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// submit confirms the draft.
func (w *world) submit(t *testing.T, d *remote.Desk) remote.Submission {
	t.Helper()
	s, err := d.Submit(t.Context(), w.alice, w.draft.ID, w.draft.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want compares what the desk says and what the service counts.
func (w *world) want(t *testing.T, s remote.Submission, state remote.State, tickets, posts int) {
	t.Helper()
	if s.State != state {
		t.Errorf("the submission is %s, want %s: %s", s.State, state, s.Message)
	}
	w.wantTickets(t, tickets, posts)
}

func (w *world) wantTickets(t *testing.T, tickets, posts int) {
	t.Helper()
	if got := len(w.Tickets()); got != tickets {
		t.Errorf("the service has %d tickets, want %d", got, tickets)
	}
	if got := w.Posts(); got != posts {
		t.Errorf("the service was asked for a ticket %d times, want %d", got, posts)
	}
}

// drain waits until no request is at the service any more, and closes it.
func (w *world) drain() { w.server.Close() }

// gate is a fault that stops a request at its place until it is opened.
type gate struct {
	reached chan struct{}
	until   chan struct{}
}

func (w *world) hold(kind service.FaultKind) *gate {
	g := &gate{make(chan struct{}), make(chan struct{})}
	w.Fail(service.Fault{Kind: kind, Times: 1, Reached: g.reached, Until: g.until})
	return g
}
