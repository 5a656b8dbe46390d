package local_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

func notice(id, text string) engine.Signal {
	return engine.Signal{ID: id, Kind: engine.SignalNotice, By: "ops", Text: text}
}

func toSession(s journal.SessionID, id, text string) engine.Signal {
	n := notice(id, text)
	n.Session = &s
	return n
}

var annsSession = journal.SessionID{Owner: journal.Owner{Tenant: "acme", User: "ann"}, Session: "s"}

func annsStart(a *engine.Agent, run string) engine.Start {
	return engine.Start{Agent: a, Question: "do it", Run: run, Session: "s", Tenant: "acme", User: "ann"}
}

// texts is all that a request says.
func texts(req *model.Request) string {
	var all []string
	for _, m := range req.Messages {
		all = append(all, prompt.Text(m.Message))
	}
	return strings.Join(all, "\n")
}

func wantPending(t *testing.T, j journal.Reader, want ...string) {
	t.Helper()
	waiting, err := j.Notices(t.Context(), annsSession)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range waiting {
		got = append(got, waiting[i].ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("waiting %q, want %q", got, want)
	}
}

// Row 78: a notice for a session waits for its first run, whose first request
// has it, and waits no more once the reply to that is journaled. Delivered twice
// is once.
func TestNoticeBeforeTheFirstRun(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	for range 2 {
		if err := e.Signal(t.Context(), "", toSession(annsSession, "n1", "the shop is closed")); err != nil {
			t.Fatal(err)
		}
	}
	m := &script{steps: []step{
		func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			wantPending(t, j, "n1")
			return says("done")(ctx, req)
		},
		says("again"),
	}}
	for i, run := range []string{"r1", "r2"} {
		r, err := e.Run(t.Context(), annsStart(&engine.Agent{Model: m}, run))
		if err != nil {
			t.Fatal(err)
		}
		wantStop(t, r, kernel.StopAnswered, "")
		if n := strings.Count(texts(m.requests()[i]), "the shop is closed"); n != 1-i {
			t.Errorf("request %d has the notice %d times", i+1, n)
		}
		for _, msg := range r.History {
			if strings.Contains(prompt.Text(&msg), "closed") {
				t.Errorf("the history of %s has it", run)
			}
		}
	}
	wantPending(t, j)
}

// A notice for a run under way goes with the next request; another one, sent as
// the last request is out, waits for the session's next run.
func TestNoticeWhileARunIsUnderWay(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	send := func(sig engine.Signal, then step) step {
		return func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			if err := e.Signal(ctx, "r1", sig); err != nil {
				t.Error(err)
			}
			return then(ctx, req)
		}
	}
	var ran counter
	m := &script{steps: []step{
		send(notice("n1", "first news"), calls(call("c1", "look", `{}`))),
		send(notice("n2", "second news"), says("done")),
		says("again"),
	}}
	a := &engine.Agent{Model: m, Tools: tools(t, ran.tool("look")), Policy: allowAll{}}
	r, err := e.Run(t.Context(), annsStart(a, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	wantPending(t, j, "n2")
	if err := e.Signal(t.Context(), "r1", notice("n3", "late")); kernel.CodeOf(err) != kernel.CodeRunStopped {
		t.Errorf("a notice for a run that has stopped: %v", err)
	}
	if _, err := e.Run(t.Context(), annsStart(a, "r2")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "first news", "second news"} {
		for _, news := range []string{"first news", "second news"} {
			if has := strings.Contains(texts(m.requests()[i]), news); has != (news == want) {
				t.Errorf("request %d has %q: %v", i+1, news, has)
			}
		}
	}
	wantPending(t, j)
}

// A notice for a run that waits for people stays until it goes on, in whatever
// process, and through a take-over.
func TestNoticeForAParkedRun(t *testing.T) {
	for _, whole := range []bool{true, false} {
		j := &mortal{Journal: memory.New()}
		var paid counter
		m := &script{steps: []step{calls(call("c1", "pay", `{}`)), says("done")}}
		a := &engine.Agent{Model: m, Tools: tools(t, paid.tool("pay")), Policy: asking{}}
		e := open(t, j)
		r := start(t, e, annsStart(a, "r1"))
		sender := e
		if !whole {
			j.dead.Store(true)
			sender = open(t, j.Journal)
			e = open(t, j.Journal, knows(a))
		}
		sig := notice("n1", "news")
		if !whole {
			sig.Session = &annsSession
		}
		if err := sender.Signal(t.Context(), map[bool]string{true: "r1"}[whole], sig); err != nil {
			t.Fatal(err)
		}
		if !whole {
			work(t, e) // it takes the notice up, and waits again
		}
		wantPending(t, j.Journal, "n1")
		if err := e.Signal(t.Context(), "r1", approve(r.Head.Approval, "ann")); err != nil {
			t.Fatal(err)
		}
		r = stopOf(t, e, "r1")
		wantStop(t, r, kernel.StopAnswered, "")
		if !strings.Contains(texts(m.requests()[1]), "news") || paid.count() != 1 {
			t.Errorf("the next request says %q; paid %d times", texts(m.requests()[1]), paid.count())
		}
		wantPending(t, j.Journal)
	}
}

// A request that fails leaves its notices: the next one has them again, and what
// no reply ever saw waits for the session's next run.
func TestNoticeOfAFailedRequest(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	if err := e.Signal(t.Context(), "", toSession(annsSession, "n1", "news")); err != nil {
		t.Fatal(err)
	}
	m := &script{steps: []step{fails(model.Error{Kind: kernel.FailRequest, Message: "bad"}), says("done")}}
	r, err := e.Run(t.Context(), annsStart(&engine.Agent{Model: m}, "r1"))
	if err != nil || r.Outcome.Stop != kernel.StopModelError {
		t.Fatalf("%+v, %v", r.Outcome, err)
	}
	wantPending(t, j, "n1")
	if _, err := e.Run(t.Context(), annsStart(&engine.Agent{Model: m}, "r2")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(texts(m.requests()[1]), "news") {
		t.Errorf("the next run's request says %q", texts(m.requests()[1]))
	}
	wantPending(t, j)
}

// Row 78: whoever sends without end fills a session's own list, and no more; what
// it holds fails the next run whole, with the number and the way out, and goes
// with one that takes so many.
func TestNoticesWithoutEnd(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	refused := 0
	for i := range 10_000 {
		err := e.Signal(t.Context(), "", toSession(annsSession, fmt.Sprint("n", i), "news"))
		if err != nil && kernel.CodeOf(err) != kernel.CodeConflict {
			t.Fatal(err)
		}
		if err != nil {
			refused++
		}
	}
	if refused != 10_000-journal.MaxNotices {
		t.Errorf("%d of 10,000 refused", refused)
	}
	m := &script{steps: []step{says("done")}}
	a := &engine.Agent{Model: m}
	r, err := e.Run(t.Context(), annsStart(a, "r1"))
	if err != nil || r.Outcome.Stop != kernel.StopContext || !strings.Contains(r.Outcome.Detail, "64 notices wait") || !strings.Contains(r.Outcome.Detail, "context.notices.max") {
		t.Errorf("%+v, %v", r.Outcome, err)
	}
	if len(m.requests()) != 0 {
		t.Error("something was sent")
	}
	a.Context.Notices.Max = journal.MaxNotices
	if r, err = e.Run(t.Context(), annsStart(a, "r2")); err != nil || r.Outcome.Stop != kernel.StopAnswered || strings.Count(texts(m.requests()[0]), "<notice ") != journal.MaxNotices {
		t.Errorf("%+v, %v", r.Outcome, err)
	}
	wantPending(t, j)
}

func TestNoticeRefused(t *testing.T) {
	e := open(t, memory.New())
	for name, tt := range map[string]struct {
		run  string
		sig  engine.Signal
		want kernel.Code
	}{
		"nowhere":    {"", notice("a", "b"), kernel.CodeInvalidArgument},
		"both":       {"r", toSession(annsSession, "a", "b"), kernel.CodeInvalidArgument},
		"no run":     {"r", notice("a", "b"), kernel.CodeNotFound},
		"no text":    {"", toSession(annsSession, "a", ""), kernel.CodeInvalidArgument},
		"no session": {"", toSession(journal.SessionID{}, "a", "b"), kernel.CodeInvalidArgument},
		"long":       {"", toSession(annsSession, "a", strings.Repeat("a", journal.MaxNotice+1)), kernel.CodeInvalidArgument},
	} {
		if err := e.Signal(t.Context(), tt.run, tt.sig); kernel.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
