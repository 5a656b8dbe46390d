package holdfast_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
)

// pages is a tool with long results.
type pages struct{}

func (pages) Spec() tool.Spec {
	return tool.Spec{
		Name: "page", Description: "Reads a page.", Effect: kernel.Read,
		Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
	}
}

func (pages) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{Text: string(c.Arguments) + strings.Repeat(" line \"of\" text\n", 250)}, nil
}

// reading is a conversation that reads a page in each of n turns.
func reading(n int) (steps []stub.Step) {
	for i := range n {
		steps = append(steps, stub.Answer(stub.Reply{Text: "Next.", Calls: []stub.Call{
			{ID: fmt.Sprint("p", i), Name: "page", Args: fmt.Sprintf(`{"n":%d}`, i)},
		}}))
	}
	return append(steps, stub.Text("read"))
}

func reader(t *testing.T, w wire, srv *stub.Server) *holdfast.Agent {
	t.Helper()
	a, _ := agent(t, w.model(t, srv, kernel.Strict))
	set, err := tool.NewSet(pages{})
	if err != nil {
		t.Fatal(err)
	}
	a.Tools = set
	a.Limits.Turns, a.Limits.Calls, a.Limits.Repeat = 100, 100, 0
	return a
}

// Report A13, rows 73, 74 and 102: a session that outgrows its window again and
// again, over several runs and processes, sends no request that a strict
// endpoint refuses, and none over the window.
func TestCompactedSessionOnTheWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t, append(append(reading(12), reading(7)...), reading(3)...)...)
		file := filepath.Join(t.TempDir(), "runs.db")
		for i, question := range []string{"Read twelve.", "Read seven.", "Read three."} {
			rt, err := holdfast.Open(t.Context(), holdfast.Options{File: file})
			if err != nil {
				t.Fatal(err)
			}
			a := reader(t, w, srv)
			a.Context = engine.Context{Window: 14_000, Reserve: 500}
			id, err := rt.Start(t.Context(), holdfast.Start{Agent: a, Session: "s", Question: question})
			if err != nil {
				t.Fatal(err)
			}
			compactions := 0
			for u, err := range rt.Watch(t.Context(), id, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := u.Event.(kernel.ContextPrepared); ok && p.Compacted != nil {
					compactions++
				}
			}
			run, err := rt.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			stopped(t, run, kernel.StopAnswered)
			if compactions == 0 && i < 2 {
				t.Errorf("run %d was never compacted", i+1)
			}
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
		}
		requests := accepted(t, srv, 13+8+4)
		for _, r := range requests {
			if n := prompt.EstimateTokens(r.Body); n > 14_000 {
				t.Errorf("request %d has about %d tokens", r.Index, n)
			}
		}
		if last := string(requests[24].Body); !strings.Contains(last, "Read twelve.") || !strings.Contains(last, "archive run_") {
			t.Error("the last request knows nothing of the beginning")
		}
	})
}

// A provider that says "too long" gets a smaller request, once; any other 400 is
// what it is.
func TestTooLongOnTheWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		steps := reading(3)
		srv := serve(t, append(append(steps[:3:3], stub.TooLong()), stub.Text("read"))...)
		a := reader(t, w, srv)
		stopped(t, ask(t, a), kernel.StopAnswered)
		requests := accepted(t, srv, 5)
		if before, after := len(requests[3].Body), len(requests[4].Body); after > before*4/5 {
			t.Errorf("from %d to %d bytes", before, after)
		}

		srv = serve(t, append(steps[:3:3], stub.Status(http.StatusBadRequest), stub.Text("never"))...)
		stopped(t, ask(t, reader(t, w, srv)), kernel.StopModelError)
		accepted(t, srv, 4)
	})
}

// The model of each wire summarizes, without tools, what has to go.
func TestModelSummarizesOnTheWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t)
		next, summaries := 0, 0
		srv.Respond(func(r *stub.Request) stub.Step {
			if len(r.Tools) == 0 {
				summaries++
				return stub.Text("The pages are lines of text.")
			}
			next++
			return reading(6)[next-1]
		})
		a := reader(t, w, srv)
		a.Context = engine.Context{Window: 6_500, Reserve: 100, Summarize: true, SummaryTokens: 600}
		run := ask(t, a)
		stopped(t, run, kernel.StopAnswered)
		if summaries == 0 {
			t.Fatal("nothing was summarized")
		}
		for _, r := range accepted(t, srv, 7+summaries) {
			if len(r.Tools) == 0 && r.MaxTokens != 600 {
				t.Errorf("a summary of %d tokens is asked for", r.MaxTokens)
			}
		}
		if !strings.Contains(prompt.Text(&run.History[0]), "The pages are lines of text.") {
			t.Errorf("the history begins with %q", prompt.Text(&run.History[0]))
		}
	})
}

// told attaches the same to every request.
type told struct{}

func (told) Attach(context.Context, prompt.AttachRequest) ([]prompt.Attachment, error) {
	return []prompt.Attachment{{Kind: "memory", ID: "house.md", Text: "The door is blue."}}, nil
}

// Cases 42 and 43, rows 71, 72, 75 and 78, I9, on every wire: what is attached
// stands before the question in each request, a notice behind the results in the
// requests until it was seen, and neither in the history; a request that fails
// leaves the notice for the next.
func TestAttachmentsOnTheWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		srv := serve(t)
		rt, err := holdfast.Open(t.Context(), holdfast.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rt.Close() }()
		steps := append(append(reading(1)[:1], stub.Status(529)), reading(2)[1:]...)
		next := 0
		srv.Respond(func(*stub.Request) stub.Step {
			if next++; next == 1 { // comes while the first request is out
				if err := rt.Signal(t.Context(), "run_1", holdfast.Signal{ID: "n1", Kind: holdfast.SignalNotice, Text: "The bell rang."}); err != nil {
					t.Error(err)
				}
			}
			return steps[next-1]
		})
		a := reader(t, w, srv)
		a.Attach = []prompt.Attacher{told{}}
		if _, err := rt.Start(t.Context(), holdfast.Start{Agent: a, Run: "run_1", Session: "s", Question: "Read two."}); err != nil {
			t.Fatal(err)
		}
		for _, err := range rt.Watch(t.Context(), "run_1", 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
		run, err := rt.Get(t.Context(), "run_1")
		if err != nil {
			t.Fatal(err)
		}
		stopped(t, run, kernel.StopAnswered)
		rang := []int{0, 1, 1, 0}
		for i, r := range accepted(t, srv, 4) {
			body := string(r.Body)
			door, question, page, bell := strings.Index(body, "The door is blue."), strings.Index(body, "Read two."), strings.LastIndex(body, "line"), strings.Index(body, "The bell rang.")
			if strings.Count(body, "The door is blue.") != 1 || door > question {
				t.Errorf("request %d: attached at %d, the question at %d", i, door, question)
			}
			if strings.Count(body, "The bell rang.") != rang[i] || rang[i] == 1 && bell < page {
				t.Errorf("request %d: the notice is at %d, the last result at %d", i, bell, page)
			}
		}
		for i := range run.History {
			if text := prompt.Text(&run.History[i]); strings.Contains(text, "door") || strings.Contains(text, "bell") {
				t.Errorf("the history holds %q", text)
			}
		}
	})
}
