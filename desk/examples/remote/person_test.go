package remote_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
)

// Rows 45, 47 and 106, case 36: nothing reaches the service but what its owner has read and
// confirmed.
func TestOnlyTheirOwn(t *testing.T) {
	w := newWorld(t, remote.PromiseLookup)
	d := w.open(t)
	for _, c := range []struct {
		user, hash string
		want       kernel.Code
	}{
		{"bob", w.draft.Hash, kernel.CodeNotFound},
		{"mallory", w.draft.Hash, kernel.CodeNotFound},
		{"alice", desk.HashOf("other", "text", 1), desk.CodeStaleConfirmation},
		{"alice", "", desk.CodeStaleConfirmation},
	} {
		who, err := desk.Fixture(c.user)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Submit(t.Context(), who, w.draft.ID, c.hash); kernel.CodeOf(err) != c.want {
			t.Errorf("%s with the hash %q: %v, want %s", c.user, c.hash, err, c.want)
		}
		if _, err := d.Status(t.Context(), who, w.draft.ID); err == nil {
			t.Errorf("%s is told of a submission that there is not", c.user)
		}
	}
	w.wantTickets(t, 0, 0)
	w.want(t, w.submit(t, d), remote.Submitted, 1, 1)
	if got := w.Tickets()[0]; got.Tenant != "acme" || got.User != "alice" || got.Subject != w.draft.Subject || got.Body != w.draft.Body {
		t.Errorf("the service was sent %+v", got)
	}
}

// Rows 51 and 106: a model that asks to submit has no such tool.
func TestNoModelSubmits(t *testing.T) {
	w := newWorld(t, remote.PromiseLookup)
	w.open(t) // the desk is attached
	m, err := script.New(script.Config{Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "c", Name: remote.SubmitTicket, Args: `{"ticket_id":"T1001","subject":"s","body":"b"}`}}},
		{Text: "Submitted."},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := desk.Agent(m, desk.Services{Tickets: w.db, Drafts: w.db, Policies: w.db, Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := holdfast.Open(t.Context(), holdfast.Options{File: filepath.Join(w.dir, "asks.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	run, err := rt.RunStart(t.Context(), holdfast.Start{Agent: agent, Question: "Submit it for me.", Tenant: w.alice.Tenant, User: w.alice.User})
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, m := range run.History {
		if m.Role == kernel.RoleTool {
			told += m.Blocks[0].Text
		}
	}
	if !strings.Contains(told, remote.SubmitTicket) || run.Outcome.Verified == kernel.VerdictTrue {
		t.Errorf("the model is told %q, and the run is %+v", told, run.Outcome)
	}
	w.wantTickets(t, 0, 0)
}

// Row 106: whoever stops waiting does not stop the submission, and is told of it
// the next time.
func TestNobodyWaits(t *testing.T) {
	w := newWorld(t, remote.PromiseLookup)
	g := w.hold(service.LoseResponse)
	d := w.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.reached
		cancel()
	}()
	if _, err := d.Submit(ctx, w.alice, w.draft.ID, w.draft.Hash); !errors.Is(err, context.Canceled) {
		t.Errorf("submitted: %v", err)
	}
	close(g.until)
	w.want(t, w.submit(t, d), remote.Submitted, 1, 1)
}
