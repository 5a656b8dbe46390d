package remote_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
	"github.com/holdfast-run/holdfast/internal/cli"
	"github.com/holdfast-run/holdfast/kernel"
)

// holdfast is the command line on the desk's journal.
func (w *world) holdfast(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(append(args, "--db", w.runs()), strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("holdfast %s exits with %d: %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

// unknown is the one effect of which nobody knows, as an operator finds it.
func (w *world) unknown(t *testing.T) string {
	t.Helper()
	var rows []struct{ ID, Tool, State, Effect, User string }
	if err := json.Unmarshal([]byte(w.holdfast(t, "effects", "ls", "--unknown", "--json")), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Tool != remote.SubmitTicket || rows[0].User != "alice" {
		t.Fatalf("unknown effects: %+v", rows)
	}
	return rows[0].ID
}

// Row 106, the manual path: nothing is sent again while nobody knows. A person
// who looked at the service says what they found, on the same journal: that it
// is there, and then it is submitted; or that it is not, and then a confirmation
// sends it anew.
func TestPersonResolves(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   service.FaultKind
		as      string
		then    remote.State
		again   remote.State
		tickets int
		posts   int
	}{
		{"there", service.LoseResponse, "--landed", remote.Submitted, remote.Submitted, 1, 1},
		{"not there", service.LoseRequest, "--no-effect", remote.NotSent, remote.Submitted, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, remote.PromiseNothing)
			w.Fail(service.Fault{Kind: c.fault, Times: 1})
			d := w.open(t)
			w.submit(t, d)
			before := len(w.Tickets())
			for range 3 {
				w.want(t, w.submit(t, d), remote.Unknown, before, 1)
			}
			if checked, err := d.Check(t.Context()); err != nil || len(checked) != 0 {
				t.Errorf("the job looks at what cannot be asked for: %+v, %v", checked, err)
			}

			args := []string{"effects", "resolve", w.unknown(t), c.as, "--by", "olga", "--note", "looked at the service's own list"}
			if c.as == "--landed" {
				args = append(args, "--result", w.receipt(t))
			}
			w.holdfast(t, args...)
			if err := d.Work(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := d.Status(t.Context(), w.alice, w.draft.ID)
			if err != nil {
				t.Fatal(err)
			}
			w.want(t, s, c.then, before, 1)
			s = w.submit(t, d)
			w.want(t, s, c.again, c.tickets, c.posts)
			if s.Remote != "S-1" {
				t.Errorf("the ticket is %q at the service, want S-1", s.Remote)
			}
			if shown := w.holdfast(t, "effects", "show", s.Effect); !strings.Contains(shown, "olga: ") {
				t.Errorf("who found out is not on the record:\n%s", shown)
			}
		})
	}
}

// receipt is what an operator writes down of the ticket that they have found.
func (w *world) receipt(t *testing.T) string {
	t.Helper()
	file := filepath.Join(w.dir, "receipt.json")
	if err := os.WriteFile(file, []byte(`{"remote_id":"`+w.Tickets()[0].ID+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Row 106, the verification job: what nobody could say at once is asked for
// later, and stays unknown for as long as the answer proves nothing.
func TestVerificationJob(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault service.FaultKind
		soon  kernel.Finding // while a request may be under way
		as    kernel.Finding
		state remote.State
		posts int // once it was confirmed again
	}{
		{"there", service.LoseResponse, kernel.FoundLanded, kernel.FoundLanded, remote.Submitted, 1},
		{"not there", service.LoseRequest, kernel.FoundUnknown, kernel.FoundNoEffect, remote.NotSent, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, remote.PromiseLookup)
			w.Fail(service.Fault{Kind: c.fault, Times: 1})
			w.Fail(service.Fault{Kind: service.NoLookup})
			var ahead atomic.Int64
			d := w.open(t, func(c *remote.Config) {
				c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			})
			before := 0
			if c.fault == service.LoseResponse {
				before = 1
			}
			w.want(t, w.submit(t, d), remote.Unknown, before, 1)

			w.want(t, w.check(t, d, kernel.FoundUnknown), remote.Unknown, before, 1) // it does not answer
			w.Fail(service.Fault{})
			w.check(t, d, c.soon)
			if c.soon != c.as {
				ahead.Store(int64(time.Hour))
				w.check(t, d, c.as)
			}
			s, err := d.Status(t.Context(), w.alice, w.draft.ID)
			if err != nil {
				t.Fatal(err)
			}
			w.want(t, s, c.state, before, 1)
			if checked, err := d.Check(t.Context()); err != nil || len(checked) != 0 {
				t.Errorf("there is nothing left to check: %+v, %v", checked, err)
			}
			w.want(t, w.submit(t, d), remote.Submitted, 1, c.posts)
			if shown := w.holdfast(t, "effects", "show", s.Effect); !strings.Contains(shown, "verification job: "+string(c.as)) || !strings.Contains(shown, "evidence SHA-256") {
				t.Errorf("what the job found is not on the record:\n%s", shown)
			}
		})
	}
}

// Row 106: a service that takes a key once, and cannot be asked by it, is sent the
// order again, which is the only question that it answers.
func TestVerificationByKeyAlone(t *testing.T) {
	t.Parallel()
	for fault, c := range map[service.FaultKind]struct {
		as      kernel.Finding
		state   remote.State
		tickets int
	}{
		service.LoseResponse: {kernel.FoundUnknown, remote.Unknown, 1},
		service.None:         {kernel.FoundLanded, remote.Submitted, 1},
		service.Refuse:       {kernel.FoundNoEffect, remote.NotSent, 0},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, remote.PromiseKeys)
			first := service.LoseResponse
			if c.tickets == 0 {
				first = service.LoseRequest
			}
			w.Fail(service.Fault{Kind: first})
			var ahead atomic.Int64
			d := w.open(t, func(c *remote.Config) {
				c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			})
			w.want(t, w.submit(t, d), remote.Unknown, c.tickets, 3)
			w.Fail(service.Fault{Kind: fault})
			if fault == service.Refuse {
				w.check(t, d, kernel.FoundUnknown) // a request may be under way
				ahead.Store(int64(time.Hour))
			}
			posts := w.Posts() + 1
			w.want(t, w.check(t, d, c.as), c.state, c.tickets, posts)
		})
	}
}

// check runs the job and compares what it found.
func (w *world) check(t *testing.T, d *remote.Desk, as kernel.Finding) remote.Submission {
	t.Helper()
	checked, err := d.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(checked) != 1 || checked[0].As != as {
		t.Errorf("the job found %+v, want %s", checked, as)
	}
	s, err := d.Status(t.Context(), w.alice, w.draft.ID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Row 106: several jobs, and a desk that is closed in the middle of a submission,
// leave one finding and one ticket.
func TestJobsAtOnce(t *testing.T) {
	w := newWorld(t, remote.PromiseLookup)
	g := w.hold(service.LoseResponse)
	closing := w.open(t)
	left := make(chan struct{})
	go func() {
		defer close(left)
		// What it comes to depends on how far the closing is.
		_, _ = closing.Submit(t.Context(), w.alice, w.draft.ID, w.draft.Hash)
	}()
	<-g.reached
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	<-left
	close(g.until)
	w.want(t, w.submit(t, w.open(t)), remote.Unknown, 1, 1)

	var all sync.WaitGroup
	for range 4 {
		d := w.open(t)
		all.Go(func() {
			if _, err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := w.submit(t, w.open(t))
	w.want(t, s, remote.Submitted, 1, 1)
	if shown := w.holdfast(t, "effects", "show", s.Effect); strings.Count(shown, "verification job: ") != 1 {
		t.Errorf("there is not one finding:\n%s", shown)
	}
}
