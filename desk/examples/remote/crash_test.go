package remote_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
)

// Row 106: the process that submits is killed while the service has its
// request. The next one that is asked to submit takes the submission over: one
// ticket, or none that anybody would dare to send again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   service.FaultKind
		promise remote.Promise
		state   remote.State
		before  int // tickets when it was taken over
		after   int // when the dead process's request has come to its end
		posts   int
	}{
		{"made, looked up", service.LoseResponse, remote.PromiseLookup, remote.Submitted, 1, 1, 1},
		{"made, sent again", service.LoseResponse, remote.PromiseKeys, remote.Submitted, 1, 1, 2},
		{"made, unknown", service.LoseResponse, remote.PromiseNothing, remote.Unknown, 1, 1, 1},
		{"not yet made, looked up", service.Delay, remote.PromiseLookup, remote.Submitted, 1, 1, 2},
		{"not yet made, sent again", service.Delay, remote.PromiseKeys, remote.Submitted, 1, 1, 2},
		{"not yet made, unknown", service.Delay, remote.PromiseNothing, remote.Unknown, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.promise)
			g := w.hold(c.fault)
			_, kill := part{Dir: w.dir, URL: w.url, Draft: w.draft.ID, Hash: w.draft.Hash, Promise: c.promise}.start(t)
			<-g.reached
			kill()
			w.want(t, w.submit(t, w.open(t)), c.state, c.before, c.posts)
			close(g.until)
			w.drain()
			w.want(t, w.submit(t, w.open(t)), c.state, c.after, c.posts)
		})
	}
}

// Row 106: the process is killed after the desk has confirmed and before
// anything was begun. It is seen, and begun by a sweep, or by confirming again.
func TestKilledBeforeTheRun(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*testing.T, *world, *remote.Desk) remote.Submission{
		"confirmed again": func(t *testing.T, w *world, d *remote.Desk) remote.Submission {
			t.Helper()
			return w.submit(t, d)
		},
		"swept": func(t *testing.T, w *world, d *remote.Desk) remote.Submission {
			t.Helper()
			all, err := d.Sweep(t.Context(), w.alice)
			if err != nil || len(all) != 1 {
				t.Fatalf("swept %+v, %v", all, err)
			}
			if none, err := d.Sweep(t.Context(), w.alice); err != nil || len(none) != 0 {
				t.Errorf("swept twice: %+v, %v", none, err)
			}
			return all[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, remote.PromiseLookup)
			said, kill := part{Dir: w.dir, URL: w.url, Draft: w.draft.ID, Hash: w.draft.Hash, Promise: w.promise, Stuck: true}.start(t)
			if line, err := said.ReadString('\n'); err != nil {
				t.Fatalf("the process says %q: %v", line, err)
			}
			kill()
			d := w.open(t)
			s, err := d.Status(t.Context(), w.alice, w.draft.ID)
			if err != nil {
				t.Fatal(err)
			}
			w.want(t, s, remote.NotSent, 0, 0)
			w.want(t, again(t, w, d), remote.Submitted, 1, 1)
		})
	}
}
