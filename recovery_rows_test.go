package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/verify"
)

// transfer is an external write under a key of its own.
type transfer struct {
	run func(context.Context, tool.Call) (tool.Result, error)
}

func (transfer) Spec() tool.Spec {
	return tool.Spec{
		Name: "transfer", Description: "Transfers money.", Effect: kernel.Once,
		Schema: []byte(`{"type":"object","properties":{"to":{"type":"string","maxLength":120}},"required":["to"],"additionalProperties":false}`),
		Limits: tool.Limits{Timeout: 50 * time.Millisecond, Attempts: 3},
	}
}

func (p transfer) Run(ctx context.Context, c tool.Call) (tool.Result, error) { return p.run(ctx, c) }

func (transfer) Key(c tool.Call) (string, error) {
	var in struct{ To string }
	err := json.Unmarshal(c.Arguments, &in)
	return "invoice for " + in.To, err
}

// scripted is a model that plays steps.
func scripted(t *testing.T, steps ...script.Step) *script.Model {
	t.Helper()
	m, err := script.New(script.Config{Script: &script.Script{Steps: steps}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func calling(name, args string) script.Step {
	return script.Step{Calls: []script.Call{{ID: "c", Name: name, Args: args}}}
}

func toolsOf(t *testing.T, list ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func opened(t *testing.T, o holdfast.Options) *holdfast.Runtime {
	t.Helper()
	rt, err := holdfast.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	return rt
}

// dying is the journal of a process that is gone once dead is set.
type dying struct {
	journal.Journal
	dead atomic.Bool
}

func (d *dying) gone() error {
	if d.dead.Load() {
		return &kernel.Error{Code: kernel.CodeLocalStorage, Message: "the process is gone"}
	}
	return nil
}

func (d *dying) Append(ctx context.Context, e journal.Entry) error {
	if err := d.gone(); err != nil {
		return err
	}
	return d.Journal.Append(ctx, e)
}

func (d *dying) Renew(ctx context.Context, owner string, runs []string, until time.Time) ([]string, error) {
	if err := d.gone(); err != nil {
		return nil, err
	}
	return d.Journal.Renew(ctx, owner, runs, until)
}

// resultsOf is what the model was told of each call.
func resultsOf(r *holdfast.Run) (out []string) {
	for _, m := range r.History {
		if m.Role == kernel.RoleTool {
			out = append(out, m.Blocks[0].Text)
		}
	}
	return out
}

// Rows 34, 95 and 106: a write that cannot be repeated is planned first, exactly
// and with its class, and waits for a person. What is needed to find it again is
// recorded before it begins. Cut short, it is unknown: it is not run again, a job
// and a person say what they found, with evidence, and both stay on the record.
// Each change of state is an event that names what it changed.
func TestLifeOfAWrite(t *testing.T) {
	under := memory.New()
	first := &dying{Journal: under}
	sent := 0
	pay := transfer{func(context.Context, tool.Call) (tool.Result, error) {
		sent++
		first.dead.Store(true)
		return tool.Result{Text: "receipt 1"}, nil
	}}
	agent := &holdfast.Agent{
		Model: scripted(t, calling("transfer", `{"to":"bob"}`), script.Step{Text: "We will see."}),
		Tools: toolsOf(t, pay),
		Policy: policyFunc(func(policy.Request) policy.Decision {
			return policy.Decision{Answer: kernel.Ask, Reason: "it is money"}
		}),
	}
	rt := opened(t, holdfast.Options{Journal: first, Lease: 100 * time.Millisecond})
	run, err := rt.RunStart(t.Context(), holdfast.Start{Agent: agent, Question: "Pay bob.", User: "ann", Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := under.Approval(t.Context(), run.Head.Approval)
	if err != nil || plan.Tool != "transfer" || string(plan.Arguments) != `{"to":"bob"}` || plan.Effect != kernel.Once || plan.Reason != "it is money" || sent != 0 {
		t.Fatalf("the plan: %+v, %v; sent %d times", plan, err, sent)
	}
	err = rt.Signal(t.Context(), run.Head.Run, holdfast.Signal{Kind: holdfast.SignalApprove, Approval: plan.ID, Hash: plan.Hash, By: "ben"})
	if err != nil {
		t.Fatal(err)
	}
	for range rt.Watch(t.Context(), run.Head.Run, 0) { // until its process is gone
	}

	worker := opened(t, holdfast.Options{Journal: under, Agents: func(context.Context, *holdfast.Stored) (*holdfast.Agent, error) { return agent, nil }})
	if err := worker.Work(t.Context(), holdfast.Workload{Once: true}); err != nil {
		t.Fatal(err)
	}
	run, err = worker.Get(t.Context(), run.Head.Run)
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, run, kernel.StopAnswered)
	list, err := under.Effects(t.Context(), journal.EffectQuery{State: journal.EffectUnknown})
	if err != nil || len(list) != 1 {
		t.Fatalf("unknown effects %+v, %v", list, err)
	}
	row := list[0]
	if row.Run != run.Head.Run || row.Call != "c" || row.Tool != "transfer" || row.Key != "key invoice for bob" || string(row.Arguments) != `{"to":"bob"}` || row.Class != kernel.Once || row.Owner() != run.Head.Owner() {
		t.Errorf("to find it again: %+v", row)
	}
	if got := resultsOf(run); sent != 1 || !strings.HasPrefix(got[0], "Interrupted, may have taken effect") || !strings.Contains(got[0], row.ID) || len(run.Outcome.Warnings) != 1 {
		t.Errorf("sent %d times, told %q, warnings %q", sent, got, run.Outcome.Warnings)
	}
	wantNamed(t, under, run.Head.Run, plan.ID, row.ID)

	evidence := strings.Repeat("0f", 32)
	findings := []holdfast.Signal{
		{Kind: holdfast.SignalResolve, By: "nightly job", As: kernel.FoundUnknown, Reason: "the statement is not there yet"},
		{Kind: holdfast.SignalResolve, By: "ben", As: kernel.FoundLanded, Reason: "it is on the statement", Evidence: evidence, Result: []byte("receipt 1")},
	}
	for _, f := range findings {
		f.Effect = row.ID
		if err := worker.Signal(t.Context(), row.Run, f); err != nil {
			t.Fatal(err)
		}
	}
	if row, err = under.Effect(t.Context(), row.ID); err != nil || row.State != journal.EffectLanded || len(row.Resolutions) != 2 ||
		row.Resolutions[0].By != "nightly job" || row.Resolutions[1].By != "ben" || row.Resolutions[1].Evidence != evidence {
		t.Errorf("resolved: %+v, %v", row, err)
	}

	// The same write in another run has that result, and does not happen again.
	agent.Policy = policyFunc(func(policy.Request) policy.Decision { return policy.Decision{Answer: kernel.Allow} })
	agent.Model = scripted(t, calling("transfer", `{ "to": "bob" }`), script.Step{Text: "Done."})
	again, err := worker.RunStart(t.Context(), holdfast.Start{Agent: agent, Question: "Pay bob.", User: "ann", Tenant: "acme"})
	if err != nil || sent != 1 || !cmp.Equal(resultsOf(again), []string{"receipt 1"}) {
		t.Errorf("asked for again: %v, sent %d times, %q", err, sent, resultsOf(again))
	}
}

// wantNamed looks for the approval and the effect in the events that changed
// them.
func wantNamed(t *testing.T, j journal.Reader, run, approval, effect string) {
	t.Helper()
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var decided, started, resumed bool
	for i := range records {
		e, err := kernel.DecodeEvent(records[i].Payload)
		if err != nil || records[i].At.IsZero() {
			t.Fatalf("record %d: %v", i+1, err)
		}
		switch e := e.(type) {
		case kernel.ApprovalDecided:
			decided = e.Approval == approval && e.By == "ben" && e.Approved
		case kernel.CallStarted:
			started = e.Effect == effect && decided
		case kernel.Resumed:
			resumed = started && e.By != ""
		}
	}
	if !resumed {
		t.Errorf("the record does not name what became of %s and %s", approval, effect)
	}
}

// Case 39: only a yes lets a call run that is asked about. A no, a failure and
// nobody to ask do not; what is denied, what no rule is about and what does not
// exist is not even asked about.
func TestOnlyAYesRuns(t *testing.T) {
	asks := policy.Rule{Answer: kernel.Ask, Tool: "transfer"}
	yes := policy.Verdict{Approved: true, By: "ann"}
	for name, c := range map[string]struct {
		rules   []policy.Rule
		call    string
		verdict policy.Verdict
		err     error
		asked   int
		ran     int
		waits   bool
	}{
		"yes":                       {rules: []policy.Rule{asks}, verdict: yes, asked: 1, ran: 1},
		"no":                        {rules: []policy.Rule{asks}, verdict: policy.Verdict{By: "ann"}, asked: 1},
		"a failure, whatever it is": {rules: []policy.Rule{asks}, verdict: yes, err: errors.New("no terminal"), asked: 1, waits: true},
		"no rule":                   {verdict: yes},
		"denied as well":            {rules: []policy.Rule{asks, {Answer: kernel.Deny, Tool: "*"}}, verdict: yes},
		"a tool from nowhere":       {rules: []policy.Rule{{Answer: kernel.Ask, Tool: "*"}}, call: "approve_draft", verdict: yes},
	} {
		t.Run(name, func(t *testing.T) {
			asked, ran := 0, 0
			pay := transfer{func(context.Context, tool.Call) (tool.Result, error) {
				ran++
				return tool.Result{Text: "sent"}, nil
			}}
			rules, err := policy.NewRules(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			called := c.call
			if called == "" {
				called = "transfer"
			}
			a := &holdfast.Agent{
				Model: scripted(t, calling(called, `{"to":"bob"}`), script.Step{Text: "Done."}),
				Tools: toolsOf(t, pay), Policy: rules,
				Approver: approverFunc(func(a policy.Approval) (policy.Verdict, error) {
					asked++
					if string(a.Arguments) != `{"to":"bob"}` || a.Hash == "" {
						t.Errorf("shown %+v", a)
					}
					return c.verdict, c.err
				}),
			}
			r := ask(t, a)
			if waits := r.Outcome == nil; waits != c.waits || asked != c.asked || ran != c.ran {
				t.Errorf("waits %t, asked %d times, ran %d times: %q", waits, asked, ran, resultsOf(r))
			}
			if !c.waits && c.ran == 0 && (len(resultsOf(r)) != 1 || !strings.HasPrefix(resultsOf(r)[0], "Not run: ")) {
				t.Errorf("told %q", resultsOf(r))
			}
		})
	}
}

type approverFunc func(policy.Approval) (policy.Verdict, error)

func (f approverFunc) Approve(_ context.Context, a policy.Approval) (policy.Verdict, error) {
	return f(a)
}

// Case 40, as far as code before and after a call goes: a policy that fails or
// panics lets nothing run and nobody be asked; a verifier that does takes nothing
// from what was done, and is one warning.
func TestFailureBeforeAndAfterACall(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("out of order") },
		"a panic":  func() error { panic("out of order") },
	} {
		for _, before := range []bool{true, false} {
			asked, ran := 0, 0
			a := &holdfast.Agent{
				Model: scripted(t, calling("transfer", `{"to":"bob"}`), script.Step{Text: "Done."}),
				Tools: toolsOf(t, transfer{func(context.Context, tool.Call) (tool.Result, error) {
					ran++
					return tool.Result{Text: "sent"}, nil
				}}),
				Approver: approverFunc(func(policy.Approval) (policy.Verdict, error) {
					asked++
					return policy.Verdict{Approved: true}, nil
				}),
			}
			if before {
				a.Policy = failing(fail)
			} else {
				a.Policy = policyFunc(func(policy.Request) policy.Decision { return policy.Decision{Answer: kernel.Allow} })
				a.Verifier = brokenVerifier(fail)
			}
			r := ask(t, a)
			stopped(t, r, kernel.StopAnswered)
			want, runs, warnings := "sent", 1, 1
			if before {
				want, runs, warnings = "Not run: denied by policy: the policy could not be asked", 0, 0
			}
			if !strings.HasPrefix(resultsOf(r)[0], want) || ran != runs || asked != 0 || len(r.Outcome.Warnings) != warnings || r.Outcome.Verified == kernel.VerdictTrue {
				t.Errorf("%s, before %t: told %q, ran %d times, asked %d times, outcome %+v", name, before, resultsOf(r), ran, asked, r.Outcome)
			}
		}
	}
}

type failing func() error

func (f failing) Decide(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Answer: kernel.Allow}, f()
}

type brokenVerifier func() error

func (f brokenVerifier) Verify(context.Context, verify.Facts) (verify.Verdict, error) {
	return verify.Verdict{Verified: true}, f()
}

// Case 41: arguments that are not the tool's reach nobody outside; a call that
// comes to no answer in time is not tried again, and nobody says that it failed.
func TestExternalCall(t *testing.T) {
	for name, c := range map[string]struct{ tool, args, told string }{
		"121 characters": {"transfer", `{"to":"` + strings.Repeat("b", 121) + `"}`, "Not run: "},
		"a number":       {"transfer", `{"to":1}`, "Not run: "},
		"a field less":   {"transfer", `{}`, "Not run: "},
		"a field more":   {"transfer", `{"to":"bob","user_id":"ann"}`, "Not run: "},
		"no such tool":   {"mcp__bank__transfer", `{"to":"bob"}`, "Not run: "},
		"no answer":      {"transfer", `{"to":"bob"}`, "its outcome is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			invoked := 0
			a := &holdfast.Agent{
				Model: scripted(t, calling(c.tool, c.args), script.Step{Text: "Done."}),
				Tools: toolsOf(t, transfer{func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					invoked++
					<-ctx.Done()
					return tool.Result{}, ctx.Err()
				}}),
				Policy: policyFunc(func(policy.Request) policy.Decision { return policy.Decision{Answer: kernel.Allow} }),
			}
			r := ask(t, a)
			stopped(t, r, kernel.StopAnswered)
			want := 0
			if name == "no answer" {
				want = 1
			}
			last := r.History[len(r.History)-2].Blocks[0]
			if invoked != want || !last.IsError || !strings.Contains(last.Text, c.told) {
				t.Errorf("invoked %d times, told %q", invoked, last.Text)
			}
		})
	}
}

// Rows 77, 79 and 88: that the run stopped, that its task is verified and that
// what it held is closed are three facts. Closing happens once however often it
// is asked for, changes neither of the others, and whoever opens the file again
// finds all of it.
func TestThreeFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	rt := opened(t, holdfast.Options{File: path})
	a := &holdfast.Agent{
		Model:    scripted(t, script.Step{Text: "Done."}),
		Verifier: verdict{},
		Limits:   kernel.DefaultLimits(),
	}
	r, err := rt.Run(t.Context(), a, "Do it.")
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, r, kernel.StopAnswered) // and not verified: the one says nothing of the other
	if r.Outcome.Verified != kernel.VerdictNot {
		t.Errorf("outcome %+v", r.Outcome)
	}
	for range 2 {
		if err := rt.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := rt.Run(t.Context(), a, "Do it."); kernel.CodeOf(err) != kernel.CodeCancelled {
		t.Errorf("after the close: %v", err)
	}
	if _, err := rt.Get(t.Context(), r.Head.Run); kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Errorf("read after the close: %v", err)
	}
	for range 2 { // opened again, and again
		j, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := opened(t, holdfast.Options{Journal: j}).Get(t.Context(), r.Head.Run)
		if err != nil || !cmp.Equal(stored.Outcome, r.Outcome) || len(stored.History) != len(r.History) {
			t.Errorf("opened again: %+v, %v", stored, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// verdict finds that nothing was done.
type verdict struct{}

func (verdict) Verify(_ context.Context, f verify.Facts) (verify.Verdict, error) {
	return verify.Verdict{Finding: "nothing was done", Evidence: []string{f.AnswerEvidence}}, nil
}

// Compensation is a call of its own, with a row of its own: the row of what it
// makes good stays as it was.
func TestCompensation(t *testing.T) {
	var log []string
	acting := func(name string) func(context.Context, tool.Call, struct{ To string }) (string, error) {
		return func(_ context.Context, _ tool.Call, in struct{ To string }) (string, error) {
			log = append(log, name+" "+in.To)
			return name, nil
		}
	}
	var list []tool.Tool
	for _, name := range []string{"pay", "refund"} {
		f, err := tool.Func(tool.Spec{Name: name, Description: "Moves money."}, acting(name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	j := memory.New()
	a := &holdfast.Agent{
		Model: scripted(t,
			script.Step{Calls: []script.Call{{ID: "c1", Name: "pay", Args: `{"To":"bob"}`}}},
			script.Step{Calls: []script.Call{{ID: "c2", Name: "refund", Args: `{"To":"bob"}`}}}, script.Step{Text: "Undone."}),
		Tools:  toolsOf(t, list...),
		Policy: policyFunc(func(policy.Request) policy.Decision { return policy.Decision{Answer: kernel.Allow} }),
	}
	r, err := opened(t, holdfast.Options{Journal: j}).Run(t.Context(), a, "Pay bob, and take it back.")
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, r, kernel.StopAnswered)
	rows, err := j.Effects(t.Context(), journal.EffectQuery{Run: r.Head.Run})
	var got []string
	for _, e := range rows {
		got = append(got, e.Call+" "+e.Tool+" "+string(e.State))
	}
	if want := []string{"c2 refund landed", "c1 pay landed"}; err != nil || !cmp.Equal(got, want) || !cmp.Equal(log, []string{"pay bob", "refund bob"}) {
		t.Errorf("%v: effects %q, done %q", err, got, log)
	}
}
