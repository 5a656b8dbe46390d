package desk_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/script"
)

// office is a desk with its fixtures, and a runtime to ask it in.
type office struct {
	*sqlite.DB
	rt  *holdfast.Runtime
	dir string
}

func open(t testing.TB) *office {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlite.Create(t.Context(), filepath.Join(dir, "desk.db"), sqlite.Options{})
	if err == nil {
		err = db.AddFixtures(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	rt, err := holdfast.Open(t.Context(), holdfast.Options{File: filepath.Join(dir, "runs.db")})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{db, rt, dir}
	t.Cleanup(func() {
		if err := o.rt.Close(); err != nil {
			t.Error(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func person(t testing.TB, user string) desk.Identity {
	t.Helper()
	who, err := desk.Fixture(user)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// ask asks the desk in a session of its own drafts.
func (o *office) ask(t testing.TB, m model.Model, user, session string, change ...func(*holdfast.Agent)) (*holdfast.Run, *desk.Result) {
	t.Helper()
	agent, err := desk.Agent(m, desk.Services{Tickets: o, Drafts: o, Policies: o, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(agent)
	}
	who := person(t, user)
	run, err := o.rt.RunStart(t.Context(), holdfast.Start{Agent: agent, Question: "T1001 为什么待补材料？", Tenant: who.Tenant, User: who.User})
	if err != nil {
		t.Fatal(err)
	}
	r, err := desk.ResultOf(t.Context(), o, who, run)
	if err != nil {
		t.Fatal(err)
	}
	return run, r
}

func scenario(t testing.TB, name string) model.Model {
	t.Helper()
	m, err := desk.Script(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plays is a model that plays these steps.
func plays(t testing.TB, steps ...script.Step) model.Model {
	t.Helper()
	m, err := script.New(script.Config{Script: &script.Script{Steps: steps}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func calls(id, tool, args string) script.Step {
	return script.Step{Calls: []script.Call{{ID: id, Name: tool, Args: args}}}
}

// results are the texts that the model was told.
func results(run *holdfast.Run) (texts []string) {
	for _, m := range run.History {
		if m.Role == kernel.RoleTool {
			texts = append(texts, m.Blocks[0].Text)
		}
	}
	return texts
}

// Case 47: turns, calls and status of the two scenarios, and no ticket.
func TestScenarios(t *testing.T) {
	o := open(t)
	run, r := o.ask(t, scenario(t, desk.ScenarioExplain), "alice", "demo")
	if run.Outcome.Turns != 3 || run.Outcome.Calls != 2 || r.Status != desk.Answered || run.Outcome.Verified != kernel.VerdictTrue {
		t.Errorf("explain: %s, %+v", r.Status, run.Outcome)
	}
	if !slices.Equal(r.Cited, []string{"P1001"}) || len(r.Drafts) != 0 {
		t.Errorf("explain: cites %v, drafts %v", r.Cited, r.Drafts)
	}
	run, r = o.ask(t, scenario(t, desk.ScenarioDraft), "alice", "demo")
	if run.Outcome.Turns != 4 || run.Outcome.Calls != 3 || r.Status != desk.DraftPrepared || len(r.Drafts) != 1 {
		t.Errorf("draft: %s, %+v", r.Status, run.Outcome)
	}
	if run.Outcome.ReportedReplies != 0 {
		t.Errorf("%d replies reported usage", run.Outcome.ReportedReplies)
	}
	tickets, err := o.Tickets(t.Context(), person(t, "alice"))
	if err != nil || len(tickets) != 1 {
		t.Errorf("%d tickets, %v", len(tickets), err)
	}

	draft := r.Drafts[0]
	if _, err := o.Confirm(t.Context(), person(t, "alice"), draft.ID, draft.Hash); err != nil {
		t.Fatal(err)
	}
	run, r = o.ask(t, scenario(t, desk.ScenarioDraft), "alice", "demo")
	if r.Status != desk.AlreadySubmitted || len(r.Tickets) != 1 || !strings.Contains(run.Answer, "此前") {
		t.Errorf("prepared again after it was submitted: %s, %v, %s", r.Status, r.Tickets, run.Answer)
	}
}

// Last table of the inventory: an answer after a call that failed is no success.
func TestFailedToolIsNoSuccess(t *testing.T) {
	run, r := open(t).ask(t, scenario(t, desk.ScenarioDraft), "bob", "s")
	if r.Status != desk.ToolFailed || r.Status.Done() || run.Outcome.Verified != kernel.VerdictNot {
		t.Errorf("%s, %+v", r.Status, run.Outcome)
	}
	if run.Outcome.Calls != 1 {
		t.Errorf("%d calls: the script goes on after a failure", run.Outcome.Calls)
	}
}

// Case 35, rows 24, 31 and 32: identity comes from the host alone, approving is
// no tool, and the run goes on with the refusal.
func TestToolsTakeNoIdentityAndNoApproval(t *testing.T) {
	o := open(t)
	run, r := o.ask(t, plays(t,
		calls("1", desk.GetTicket, `{"ticket_id":"T1002","user_id":"bob"}`),
		calls("2", "approve_draft", `{"draft_id":"D1"}`),
		calls("3", desk.GetTicket, `{"ticket_id":"T1002"}`),
		calls("4", desk.GetTicket, `{"ticket_id":"T9001"}`),
		calls("5", desk.GetTicket, `{"ticket_id":7}`),
		calls("6", desk.PrepareTicketDraft, `{"subject":"`+strings.Repeat("字", desk.MaxSubject+1)+`","body":"b"}`),
		script.Step{Text: "没有找到。"},
	), "alice", "s")
	want := []string{
		"unexpected arguments: user_id",
		"no tool is named approve_draft",
		"NOT_FOUND", "NOT_FOUND",
		"ticket_id must be a string",
		"subject",
	}
	got := results(run)
	for i, w := range want {
		if i >= len(got) || !strings.Contains(got[i], w) {
			t.Errorf("result %d of %q has no %q", i+1, got, w)
		}
	}
	if got[2] != got[3] {
		t.Errorf("somebody else's ticket reads %q, and another tenant's %q", got[2], got[3])
	}
	if r.Status.Done() {
		t.Errorf("status %s", r.Status)
	}
	drafts, err := o.Drafts(t.Context(), person(t, "alice"))
	if err != nil || len(drafts) != 0 {
		t.Errorf("drafts %v, %v", drafts, err)
	}
}

// Rows 53 and 56, cases 13 and 14: of a reply that is over the limit, or cut,
// nothing runs.
func TestNothingOfARefusedReplyRuns(t *testing.T) {
	draft := script.Call{ID: "1", Name: desk.PrepareTicketDraft, Args: `{"subject":"a","body":"b"}`}
	read := script.Call{ID: "2", Name: desk.GetTicket, Args: `{"ticket_id":"T1001"}`}
	for name, tt := range map[string]struct {
		step script.Step
		stop kernel.Stop
	}{ // a cut reply is asked for once more, with twice the room
		"over the calls": {script.Step{Calls: []script.Call{draft, read}}, kernel.StopToolLimit},
		"cut":            {script.Step{Calls: []script.Call{draft}, Stop: kernel.StopLength}, kernel.StopTruncated},
		"unknown stop":   {script.Step{Calls: []script.Call{draft}, Stop: "other:unknown"}, kernel.StopProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t)
			run, r := o.ask(t, plays(t, tt.step, tt.step), "alice", "s", func(a *holdfast.Agent) { a.Limits.Calls = 1 })
			if run.Outcome.Stop != tt.stop || r.Status != desk.Status(tt.stop) {
				t.Errorf("stop %s, status %s", run.Outcome.Stop, r.Status)
			}
			if drafts, err := o.Drafts(t.Context(), person(t, "alice")); err != nil || len(drafts) != 0 {
				t.Errorf("drafts %v, %v", drafts, err)
			}
		})
	}
}

// Case 16: what was done before a limit stays, and the status says the limit.
func TestTurnLimitLeavesADraft(t *testing.T) {
	o := open(t)
	_, r := o.ask(t, scenario(t, desk.ScenarioDraft), "alice", "s", func(a *holdfast.Agent) { a.Limits.Turns = 3 })
	if r.Status != "turn_limit" || len(r.Drafts) != 1 || len(r.Tickets) != 0 {
		t.Errorf("%+v", r)
	}
}

// Row 98: a verdict rests on what the run's calls returned. Report A45: words in
// a ticket or a policy grant nothing.
func TestCitations(t *testing.T) {
	read := calls("1", desk.GetTicket, `{"ticket_id":"T1001"}`)
	find := calls("2", desk.SearchPolicies, `{"query":"报销"}`)
	for name, tt := range map[string]struct {
		answer string
		steps  []script.Step
		want   desk.Status
	}{
		"cites what it found":      {"按 P1001 补材料。", []script.Step{read, find}, desk.Answered},
		"cites nothing":            {"补材料就行。", []script.Step{read, find}, desk.Unsupported},
		"cites what is not there":  {"按 P1001 和 P7777。", []script.Step{read, find}, desk.Unsupported},
		"cites another tenant's":   {"按 P1001 和 P9001。", []script.Step{read, find}, desk.Unsupported},
		"looked nothing up":        {"按 P1001 补材料。", nil, desk.Unsupported},
		"found none and says so":   {"没有找到相关制度。", []script.Step{calls("3", desk.SearchPolicies, `{"query":"年会抽奖"}`)}, desk.Answered},
		"found none and makes one": {"按 P4242。", []script.Step{calls("3", desk.SearchPolicies, `{"query":"年会抽奖"}`)}, desk.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := open(t).ask(t, plays(t, append(tt.steps, script.Step{Text: tt.answer})...), "alice", "s")
			if r.Status != tt.want {
				t.Errorf("status %s, want %s", r.Status, tt.want)
			}
		})
	}
}

// Row 67 and I14: every reading and every draft of a run leaves a line in the
// audit, which names the call.
func TestRunLeavesItsLines(t *testing.T) {
	o := open(t)
	run, _ := o.ask(t, scenario(t, desk.ScenarioDraft), "alice", "s")
	lines, err := o.Accesses(t.Context(), "acme", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		if l.Who.Through != "" {
			got = append(got, l.Action+" "+strings.TrimPrefix(l.Who.Through, run.Head.Run+"/"))
		}
	}
	want := []string{"ticket.read desk_1", "policy.search desk_2", "draft.prepare desk_3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Questions at once, on one file: each run stops with its draft, its
// trace and its lines of the audit are whole, and nothing is told of a lock.
func TestManyAskAtOnce(t *testing.T) {
	const sessions = 10
	o := open(t)
	runs := make([]*holdfast.Run, atOnce)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			var r *desk.Result
			runs[i], r = o.ask(t, scenario(t, desk.ScenarioDraft), "alice", fmt.Sprint("session ", i%sessions), inGoodTime)
			if r.Status != desk.DraftPrepared {
				t.Errorf("%s, %+v", r.Status, runs[i].Outcome)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	lines, err := o.Accesses(t.Context(), "acme", 0)
	if err != nil {
		t.Fatal(err)
	}
	through := map[string][]string{}
	for _, l := range lines {
		run, _, _ := strings.Cut(l.Who.Through, "/")
		through[run] = append(through[run], l.Action)
	}
	want := []string{"ticket.read", "policy.search", "draft.prepare"}
	for _, run := range runs {
		id := run.Head.Run
		if len(run.Results) != 3 || run.Outcome.Stop != kernel.StopVerified || !slices.Equal(through[id], want) {
			t.Errorf("run %s: %d results, stop %s, audit %v", id, len(run.Results), run.Outcome.Stop, through[id])
		}
	}
	if heads, err := o.rt.List(t.Context(), journal.Query{State: journal.Running}); err != nil || len(heads) != 0 {
		t.Errorf("%d runs have not stopped, %v", len(heads), err)
	}
	drafts, err := o.Drafts(t.Context(), person(t, "alice"))
	if err != nil || len(drafts) != sessions {
		t.Errorf("%d drafts, %v", len(drafts), err)
	}
}

// inGoodTime lets a question take its time on a machine that has other work.
func inGoodTime(a *holdfast.Agent) { a.Limits.Deadline = 10 * time.Minute }

// late replies once its time is over, whatever the deadline says.
type late struct{ model.Model }

func (m late) Call(ctx context.Context, r *model.Request, watch func(model.Delta)) (*model.Reply, error) {
	<-ctx.Done()
	return m.Model.Call(context.WithoutCancel(ctx), r, watch)
}

// Case 15 and row 54: a reply that comes after the deadline runs nothing.
func TestLateReplyRunsNothing(t *testing.T) {
	o := open(t)
	m := late{plays(t, calls("1", desk.PrepareTicketDraft, `{"subject":"a","body":"b"}`))}
	run, r := o.ask(t, m, "alice", "s", func(a *holdfast.Agent) { a.Limits.Deadline = 50 * time.Millisecond })
	if run.Outcome.Stop != kernel.StopDeadline || r.Status != "deadline" || run.Outcome.Calls != 0 {
		t.Errorf("status %s, %+v", r.Status, run.Outcome)
	}
	if drafts, err := o.Drafts(t.Context(), person(t, "alice")); err != nil || len(drafts) != 0 {
		t.Errorf("drafts %v, %v", drafts, err)
	}
}
