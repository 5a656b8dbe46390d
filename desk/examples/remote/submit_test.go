package remote_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
)

// Row 106: what a network and a service do to a submission, by what the service
// promises. Each line says what the desk knows, how many tickets there are at
// the service, and how often it was asked for one.
func TestFaults(t *testing.T) {
	t.Parallel()
	type line struct {
		state          remote.State
		tickets, posts int
	}
	always := 0
	for _, c := range []struct {
		fault                 service.FaultKind
		times                 int
		lookup, keys, nothing line
	}{
		{service.None, always, line{remote.Submitted, 1, 1}, line{remote.Submitted, 1, 1}, line{remote.Submitted, 1, 1}},
		{service.LoseRequest, 1, line{remote.Submitted, 1, 2}, line{remote.Submitted, 1, 2}, line{remote.Unknown, 0, 1}},
		{service.LoseResponse, 1, line{remote.Submitted, 1, 1}, line{remote.Submitted, 1, 2}, line{remote.Unknown, 1, 1}},
		{service.ErrorAfter, 1, line{remote.Submitted, 1, 1}, line{remote.Submitted, 1, 2}, line{remote.Unknown, 1, 1}},
		// Two deliveries of one request are two tickets where nobody looks at keys:
		// nothing on this side can help.
		{service.Duplicate, 1, line{remote.Submitted, 1, 1}, line{remote.Submitted, 1, 1}, line{remote.Submitted, 2, 1}},
		{service.Refuse, 1, line{remote.NotSent, 0, 1}, line{remote.NotSent, 0, 1}, line{remote.NotSent, 0, 1}},
		{service.LoseRequest, always, line{remote.Unknown, 0, 3}, line{remote.Unknown, 0, 3}, line{remote.Unknown, 0, 1}},
		{service.LoseResponse, always, line{remote.Submitted, 1, 1}, line{remote.Unknown, 1, 3}, line{remote.Unknown, 1, 1}},
	} {
		for p, want := range map[remote.Promise]line{remote.PromiseLookup: c.lookup, remote.PromiseKeys: c.keys, remote.PromiseNothing: c.nothing} {
			t.Run(fmt.Sprintf("%s/%s/%d", p, c.fault, c.times), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, p)
				w.Fail(service.Fault{Kind: c.fault, Times: c.times})
				d := w.open(t)
				w.want(t, w.submit(t, d), want.state, want.tickets, want.posts)
				again, err := d.Status(t.Context(), w.alice, w.draft.ID)
				if err != nil {
					t.Fatal(err)
				}
				w.want(t, again, want.state, want.tickets, want.posts)
			})
		}
	}
}

// Row 106: a request that comes to the service after everybody has given it up
// is one more under the same key, and makes no second ticket.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, remote.PromiseLookup)
	g := w.hold(service.Delay)
	d := w.open(t, func(c *remote.Config) { c.Timeout = 3 * time.Second })
	go func() { <-g.reached }()
	s := w.submit(t, d)
	w.want(t, s, remote.Submitted, 1, 2)
	close(g.until)
	w.drain()
	w.want(t, w.submit(t, d), remote.Submitted, 1, 2)
}

// Case 37: confirmations at the same time and one after another, in several
// processes, come to one ticket, and all of them learn it.
func TestConcurrentConfirmations(t *testing.T) {
	t.Parallel()
	for _, p := range []remote.Promise{remote.PromiseLookup, remote.PromiseKeys, remote.PromiseNothing} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			desks := []*remote.Desk{w.open(t), w.open(t)}
			got := make([]remote.Submission, 8)
			var all sync.WaitGroup
			for i := range got {
				all.Go(func() {
					var err error
					if got[i], err = desks[i%len(desks)].Submit(t.Context(), w.alice, w.draft.ID, w.draft.Hash); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, s := range got {
				w.want(t, s, remote.Submitted, 1, 1)
				if s.Remote != "S-1" {
					t.Errorf("the ticket is %q at the service, want S-1", s.Remote)
				}
			}
			w.want(t, w.submit(t, w.open(t)), remote.Submitted, 1, 1)
		})
	}
}

// Row 106: a request without an answer, of which the service does not know yet,
// and then a refusal, or nobody there any more: that the latest attempt changed
// nothing does not say that the first one will not arrive.
func TestRefusedBehindALateRequest(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	w := newWorldBehind(t, remote.PromiseLookup, func(service http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			service.ServeHTTP(w, r)
			if r.Method == http.MethodPost {
				arrived <- struct{}{}
			}
		})
	})
	g := w.hold(service.Delay)
	d := w.open(t, func(c *remote.Config) { c.Timeout = 3 * time.Second })
	go func() {
		<-g.reached
		w.Fail(service.Fault{Kind: service.Refuse})
	}()
	w.want(t, w.submit(t, d), remote.Unknown, 0, 2)
	close(g.until)
	w.Fail(service.Fault{})
	for range 2 { // the refused one, and the late one
		<-arrived
	}
	if _, err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(t, w.submit(t, d), remote.Submitted, 1, 2)
}
