package local_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// approve and refuse are votes.
func approve(approval, by string) engine.Signal {
	return engine.Signal{Kind: engine.SignalApprove, Approval: approval, By: by}
}

func refuse(approval, by string) engine.Signal {
	return engine.Signal{Kind: engine.SignalRefuse, Approval: approval, By: by, Reason: "no"}
}

func approval(t *testing.T, j journal.Reader, id string) journal.Approval {
	t.Helper()
	a, err := j.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Report A16: of two people who decide at once, in one process or in two, one
// wins and the other is told who did; the call runs once, or not at all, and
// the record has one decision.
func TestOneDecision(t *testing.T) {
	for round := range 40 {
		j := memory.New()
		var paid atomic.Int64
		e, other := open(t, j, often), open(t, j)
		r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
		votes := []engine.Signal{approve(r.Head.Approval, "ann"), approve(r.Head.Approval, "bob")}
		if round%2 == 1 {
			votes[1] = refuse(r.Head.Approval, "bob")
		}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, at := range []*local.Engine{e, []*local.Engine{e, other}[round/2%2]} {
			wg.Go(func() { errs[i] = at.Signal(t.Context(), r.Head.Run, votes[i]) })
		}
		wg.Wait()
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		a := approval(t, j, events(t, j, r.Head.Run)[asked(t, j, r.Head.Run)].(kernel.ApprovalDecided).Approval)
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		loser := errs[1-winner]
		if errs[winner] != nil || kernel.CodeOf(loser) != kernel.CodeAlreadyDecided || !strings.Contains(loser.Error(), votes[winner].By) {
			t.Fatalf("round %d: %v, %v", round, errs[0], errs[1])
		}
		if yes := votes[winner].Kind == engine.SignalApprove; paid.Load() != map[bool]int64{true: 1}[yes] || len(a.Votes) != 1 || a.Votes[0].By != votes[winner].By {
			t.Errorf("round %d: paid %d times, approval %+v", round, paid.Load(), a)
		}
	}
}

// asked is the place of the one decision that a run's record has.
func asked(t *testing.T, j journal.Reader, run string) int {
	t.Helper()
	at := -1
	for i, e := range events(t, j, run) {
		if _, ok := e.(kernel.ApprovalDecided); !ok {
			continue
		}
		if at >= 0 {
			t.Fatal("two decisions")
		}
		at = i
	}
	if at < 0 {
		t.Fatal("no decision")
	}
	return at
}

// Report A16: a process that dies right after the decision was recorded leaves a
// run that goes on elsewhere, once.
func TestKilledAfterTheDecision(t *testing.T) {
	j := &mortal{Journal: memory.New()}
	var paid atomic.Int64
	a := payer(t, paying(`{}`), &paid, asking{})
	r := start(t, open(t, j), engine.Start{Agent: a})
	if _, err := j.Decide(t.Context(), journal.Vote{ID: "v", Approval: r.Head.Approval, By: "ann", Approve: true, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	j.dead.Store(true)
	for range 2 {
		worker := open(t, j.Journal, knows(a))
		work(t, worker)
		wantStop(t, get(t, worker, r.Head.Run), kernel.StopAnswered, "")
		if paid.Load() != 1 {
			t.Errorf("paid %d times", paid.Load())
		}
	}
	if got := approval(t, j, r.Head.Approval); got.State != journal.ApprovalSpent {
		t.Errorf("approval %+v", got)
	}
}

// Report A15: after a yes for one call, (a) the same tool with other arguments,
// (b) another tool with the same, (c) and (d) the identical call, under a new id
// and again: each is asked about anew, nothing runs on the yes of another, and
// the record shows what was presented and what ran.
func TestApprovalIsForOneCall(t *testing.T) {
	var ran []string
	reply := func(name string) tool.Tool {
		return probe{name: name, effect: kernel.Once, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			ran = append(ran, name+string(c.Arguments))
			return tool.Result{Text: "sent"}, nil
		}}
	}
	m := &script{steps: []step{
		calls(call("first", "send", `{"n":1}`)),
		calls(call("a", "send", `{"n":2}`)),
		calls(call("b", "post", `{"n":1}`)),
		calls(call("c", "send", `{"n":1}`)),
		calls(call("d", "send", `{"n":1}`)),
		says("done"),
	}}
	j := memory.New()
	agent := &engine.Agent{Model: m, Tools: tools(t, reply("send"), reply("post")), Policy: asking{}, Limits: limits(func(l *kernel.Limits) { l.Repeat = 0 })}
	e := open(t, j)
	r := start(t, e, engine.Start{Agent: agent})
	first := r.Head.Approval
	_ = e.Close() // and everything goes on after a restart
	e = open(t, j)
	if err := e.Signal(t.Context(), r.Head.Run, approve(first, "ann")); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"a", "b", "c", "d"} {
		work(t, open(t, j, knows(agent)))
		now := get(t, e, r.Head.Run)
		wantWaiting(t, now)
		shown := approval(t, j, now.Head.Approval)
		if shown.Call != want || shown.ID == first || len(ran) != n+1 {
			t.Fatalf("asked about %+v after %q ran", shown, ran)
		}
		// The yes of the first call is spent, and another's does not count.
		if err := e.Signal(t.Context(), r.Head.Run, approve(first, "ann")); kernel.CodeOf(err) != kernel.CodeAlreadyDecided {
			t.Errorf("the first approval again: %v", err)
		}
		sig := approve(shown.ID, "ann")
		sig.Hash = approval(t, j, first).Hash
		if err := e.Signal(t.Context(), r.Head.Run, sig); kernel.CodeOf(err) != kernel.CodeStaleApproval {
			t.Errorf("a yes to what the first approval showed: %v", err)
		}
		sig.Hash = shown.Hash
		if err := e.Signal(t.Context(), r.Head.Run, sig); err != nil {
			t.Fatal(err)
		}
	}
	work(t, open(t, j, knows(agent)))
	wantStop(t, get(t, e, r.Head.Run), kernel.StopAnswered, "")
	var presented []string
	all, err := j.Approvals(t.Context(), journal.ApprovalQuery{Run: r.Head.Run})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.State != journal.ApprovalSpent {
			t.Errorf("approval %+v", a)
		}
		presented = append([]string{a.Tool + string(a.Arguments)}, presented...)
	}
	want := []string{`send{"n":1}`, `send{"n":2}`, `post{"n":1}`, `send{"n":1}`, `send{"n":1}`}
	if !cmp.Equal(presented, want) || !cmp.Equal(ran, want) {
		t.Errorf("presented %q, ran %q", presented, ran)
	}
}

// Parallel asks of one reply are separate approvals, decided in any order; the
// model is asked again when all of them are, and what ran is not run again.
func TestParallelAsks(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		j := memory.New()
		var ran []string
		pay := probe{name: "pay", effect: kernel.Once, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			ran = append(ran, c.ID)
			return tool.Result{Text: "paid"}, nil
		}}
		m := &script{steps: []step{calls(call("a", "pay", `{"n":1}`), call("b", "pay", `{"n":2}`), call("c", "pay", `{"n":3}`)), says("done")}}
		e := open(t, j)
		r := start(t, e, engine.Start{Agent: &engine.Agent{Model: m, Tools: tools(t, pay), Policy: asking{}}})
		open, err := j.Approvals(t.Context(), journal.ApprovalQuery{Run: r.Head.Run, State: journal.ApprovalOpen})
		if err != nil || len(open) != 3 {
			t.Fatalf("%d approvals, %v", len(open), err)
		}
		byCall := map[string]string{}
		for _, a := range open {
			byCall[a.Call] = a.ID
		}
		for n, i := range order {
			if len(m.requests()) != 1 {
				t.Fatalf("the model was asked again after %d decisions", n)
			}
			id := []string{"a", "b", "c"}[i]
			sig := approve(byCall[id], "ann")
			if id == "b" {
				sig = refuse(byCall[id], "ann")
			}
			if err := e.Signal(t.Context(), r.Head.Run, sig); err != nil {
				t.Fatal(err)
			}
		}
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		if want := []string{"a: paid", "b: Not run: not approved: no", "c: paid"}; !cmp.Equal(results(r), want) || !cmp.Equal(ran, []string{"a", "c"}) {
			t.Errorf("order %v: %q, ran %q", order, results(r), ran)
		}
	}
}

// What expiry means is declared: to refuse, or to ask others once more.
func TestExpiry(t *testing.T) {
	rule := kernel.Asking{Expires: time.Minute, OnExpiry: kernel.ExpiryEscalate, Approvers: kernel.Approvers{From: []string{"ann"}, Escalate: []string{"boss"}}}
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		var paid atomic.Int64
		e := open(t, j)
		r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`, `{"n":1}`), &paid, asking{rule})})
		first := r.Head.Approval
		if !r.Head.Due.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("due %s", r.Head.Due)
		}
		expired := func(by string, id string) {
			t.Helper()
			if err := e.Signal(t.Context(), r.Head.Run, approve(id, by)); kernel.CodeOf(err) != kernel.CodeExpired {
				t.Errorf("%s decides too late: %v", by, err)
			}
		}
		time.Sleep(59 * time.Second)
		if got := get(t, e, r.Head.Run); got.Head.Approval != first {
			t.Error("expired too early")
		}
		time.Sleep(2 * time.Second)
		r = get(t, e, r.Head.Run)
		wantWaiting(t, r)
		second := approval(t, j, r.Head.Approval)
		if second.ID == first || !second.Escalated || approval(t, j, first).State != journal.ApprovalExpired {
			t.Fatalf("after the expiry %+v", second)
		}
		expired("ann", first)
		if err := e.Signal(t.Context(), r.Head.Run, approve(second.ID, "ann")); kernel.CodeOf(err) != kernel.CodeForbidden {
			t.Errorf("who was asked first decides what was escalated: %v", err)
		}
		if err := e.Signal(t.Context(), r.Head.Run, approve(second.ID, "boss")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if paid.Load() != 1 {
			t.Errorf("paid %d times", paid.Load())
		}
		time.Sleep(3 * time.Minute) // nobody decides about the second call, twice
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		if got := results(r); paid.Load() != 1 || got[1] != "c2: Not run: nobody decided about this call in time." {
			t.Errorf("paid %d times, %q", paid.Load(), got)
		}
		all, err := j.Approvals(t.Context(), journal.ApprovalQuery{State: journal.ApprovalExpired})
		if err != nil || len(all) != 3 {
			t.Errorf("%d expired, %v", len(all), err)
		}
	})
}

// A decision that comes at the same time as the expiry is a decision or comes
// too late, and the run does what the approval says.
func TestDecisionAtTheExpiry(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			j := memory.New()
			var paid atomic.Int64
			e, other := open(t, j), open(t, j, later(-1)) // whose clock is a bit late
			r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{kernel.Asking{Expires: time.Second}})})
			id := r.Head.Approval
			late := make(chan error)
			go func() {
				time.Sleep(time.Second) // a poll of e falls on the same instant
				late <- other.Signal(context.Background(), r.Head.Run, approve(id, "ann"))
			}()
			err := <-late
			wantStop(t, stopOf(t, e, r.Head.Run), kernel.StopAnswered, "")
			state := approval(t, j, id).State
			if yes := err == nil; yes != (state == journal.ApprovalSpent) || yes != (paid.Load() == 1) || !yes && kernel.CodeOf(err) != kernel.CodeExpired {
				t.Errorf("%v, approval %s, paid %d times", err, state, paid.Load())
			}
		})
	}
}

// A yes has its own time: one that could not be used in it lapses, and is asked
// for again.
func TestGrantLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		var paid atomic.Int64
		a := payer(t, paying(`{}`), &paid, asking{kernel.Asking{Grant: time.Minute}})
		e := open(t, j)
		r := start(t, e, engine.Start{Agent: a})
		_ = e.Close()
		first := r.Head.Approval
		// Recorded while nobody drives the run, and taken up in time: it counts
		// from there, and is used at once.
		if err := open(t, j).Signal(t.Context(), r.Head.Run, approve(first, "ann")); err != nil {
			t.Fatal(err)
		}
		work(t, open(t, j, knows(a)))
		wantStop(t, get(t, e, r.Head.Run), kernel.StopAnswered, "")

		// The second of two calls waits for the first one, longer than its yes.
		slow := probe{name: "slow", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(2 * time.Minute)
			return tool.Result{Text: "at last"}, nil
		}}
		m := &script{steps: []step{calls(call("a", "slow", `{}`), call("b", "pay", `{}`)), says("done")}}
		pay := probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
			paid.Add(1)
			return tool.Result{Text: "paid"}, nil
		}}
		two := &engine.Agent{
			Model: m, Tools: tools(t, patient{slow}, pay), Policy: asking{kernel.Asking{Grant: time.Minute}},
			Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour }),
		}
		e = open(t, j)
		r = start(t, e, engine.Start{Agent: two})
		list, err := j.Approvals(t.Context(), journal.ApprovalQuery{Run: r.Head.Run})
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		for _, a := range list {
			if err := e.Signal(t.Context(), r.Head.Run, approve(a.ID, "ann")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Minute)
		r = get(t, e, r.Head.Run)
		wantWaiting(t, r)
		states := map[string]journal.ApprovalState{}
		for _, a := range list {
			states[a.Call] = approval(t, j, a.ID).State
		}
		if want := map[string]journal.ApprovalState{"a": journal.ApprovalSpent, "b": journal.ApprovalLapsed}; !cmp.Equal(states, want) || paid.Load() != 1 {
			t.Errorf("%v, paid %d times", states, paid.Load())
		}
		decide(t, e, r.Head.Run, true)
		wantStop(t, stopOf(t, e, r.Head.Run), kernel.StopAnswered, "")
		if paid.Load() != 2 {
			t.Errorf("paid %d times", paid.Load())
		}
	})
}

// patient is a probe that may take its time.
type patient struct{ probe }

func (p patient) Spec() tool.Spec {
	s := p.probe.Spec()
	s.Limits.Timeout = time.Hour
	return s
}

// Row 45: who may decide is a rule. One person has one vote, whoever asked may
// be excluded, and one no refuses.
func TestWhoDecides(t *testing.T) {
	rule := kernel.Asking{Approvers: kernel.Approvers{NotAsker: true, Quorum: 2}}
	for _, last := range []string{"yes", "no"} {
		j := memory.New()
		var paid atomic.Int64
		a := payer(t, paying(`{}`), &paid, asking{rule})
		a.Approver = approver(func(context.Context, policy.Approval) (policy.Verdict, error) {
			t.Error("whoever asked was asked")
			return policy.Verdict{Approved: true, By: "ann"}, nil
		})
		e := open(t, j)
		r := start(t, e, engine.Start{Agent: a, User: "ann"})
		vote := func(sig engine.Signal, want kernel.Code) {
			t.Helper()
			if err := e.Signal(t.Context(), r.Head.Run, sig); kernel.CodeOf(err) != want {
				t.Errorf("%s by %q: %v, want %s", sig.Kind, sig.By, err, want)
			}
		}
		id := r.Head.Approval
		vote(approve(id, "ann"), kernel.CodeForbidden)
		vote(refuse(id, "ann"), kernel.CodeForbidden)
		vote(approve(id, ""), kernel.CodeForbidden)
		vote(approve(id, "bob"), "")
		vote(approve(id, "bob"), "") // the same vote
		if got := get(t, e, r.Head.Run); got.Head.State != journal.Waiting || paid.Load() != 0 {
			t.Fatalf("after one vote %+v", got.Head)
		}
		if last == "yes" {
			vote(approve(id, "cid"), "")
		} else {
			vote(refuse(id, "cid"), "")
		}
		r = stopOf(t, e, r.Head.Run)
		d := events(t, j, r.Head.Run)[asked(t, j, r.Head.Run)].(kernel.ApprovalDecided)
		if want := map[string]string{"yes": "bob, cid", "no": "cid"}[last]; d.By != want || d.Approved != (last == "yes") {
			t.Errorf("decided %+v", d)
		}
		if paid.Load() != map[string]int64{"yes": 1}[last] {
			t.Errorf("last vote %s: paid %d times", last, paid.Load())
		}
	}
}

// An approver in this process decides where the rule lets whoever asked decide;
// what another process decides meanwhile takes the question from it.
func TestApproverIsOvertaken(t *testing.T) {
	j := memory.New()
	shown, gone := make(chan string, 1), make(chan error, 1)
	pay := probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
		if err := <-gone; !errors.Is(err, context.Canceled) { // it is not asked for as long as the run goes on
			t.Errorf("the approver ends with %v", err)
		}
		return tool.Result{Text: "paid"}, nil
	}}
	a := &engine.Agent{Model: paying(`{}`), Tools: tools(t, pay), Policy: asking{kernel.Asking{Approvers: kernel.Approvers{From: []string{"ann", "boss"}}}}}
	a.Approver = approver(func(ctx context.Context, a policy.Approval) (policy.Verdict, error) {
		shown <- a.ID
		<-ctx.Done()
		gone <- ctx.Err()
		return policy.Verdict{}, ctx.Err()
	})
	e := open(t, j, often)
	id, err := e.Start(t.Context(), engine.Start{Agent: a, Question: "q", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, j).Signal(t.Context(), id, approve(<-shown, "boss")); err != nil {
		t.Fatal(err)
	}
	r := stopOf(t, e, id)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); got[0] != "c1: paid" {
		t.Errorf("results %q", got)
	}
}

// Policy is asked once more when a call was approved: what it denies by then
// does not run, whoever said yes.
func TestPolicyChangesBeforeTheYes(t *testing.T) {
	for answer, want := range map[kernel.Answer]struct {
		state journal.ApprovalState
		paid  int64
	}{
		kernel.Allow: {journal.ApprovalSpent, 1},
		kernel.Ask:   {journal.ApprovalSpent, 1},
		kernel.Deny:  {journal.ApprovalLapsed, 0},
	} {
		j := memory.New()
		var paid atomic.Int64
		var now atomic.Value
		now.Store(kernel.Ask)
		a := payer(t, paying(`{}`), &paid, deciding(func(policy.Request) (policy.Decision, error) {
			return policy.Decision{Answer: now.Load().(kernel.Answer), Reason: "so it is"}, nil
		}))
		e := open(t, j)
		r := start(t, e, engine.Start{Agent: a})
		now.Store(answer)
		id := r.Head.Approval
		decide(t, e, r.Head.Run, true)
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		if got := approval(t, j, id).State; got != want.state || paid.Load() != want.paid {
			t.Errorf("policy says %s: approval %s, paid %d times, %q", answer, got, paid.Load(), results(r))
		}
	}
}

// Why a person refuses is told to the model, made fit for it like any result.
func TestRefusedReasonIsClean(t *testing.T) {
	e := open(t, memory.New())
	var paid atomic.Int64
	r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{})})
	no := engine.Signal{Kind: engine.SignalRefuse, Approval: r.Head.Approval, By: "ann", Reason: "\x1b[2Jnot\a today"}
	if err := e.Signal(t.Context(), r.Head.Run, no); err != nil {
		t.Fatal(err)
	}
	r = stopOf(t, e, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); paid.Load() != 0 || !strings.HasSuffix(got[0], "not approved: not today") {
		t.Errorf("paid %d times, %q", paid.Load(), got)
	}
}

// tampered is a journal whose approvals somebody has changed behind their
// decision.
type tampered struct {
	journal.Journal
	change func(*journal.Approval)
}

func (j *tampered) Approval(ctx context.Context, id string) (journal.Approval, error) {
	a, err := j.Journal.Approval(ctx, id)
	j.change(&a)
	return a, err
}

// I7: a yes to what is not the call, or no longer what was shown, lets nothing
// run.
func TestTamperedApproval(t *testing.T) {
	for what, change := range map[string]func(*journal.Approval){
		"arguments": func(a *journal.Approval) { a.Arguments = []byte(`{"n":1}`) },
		"the tool":  func(a *journal.Approval) { a.Tool = "look" },
		"the asker": func(a *journal.Approval) { a.User = "mallory" },
		"arguments, with a hash that fits": func(a *journal.Approval) {
			a.Arguments = []byte(`{"n":2}`)
			a.Hash = a.ContentHash()
		},
	} {
		j := &tampered{Journal: memory.New(), change: change}
		var paid atomic.Int64
		e := openSpoilt(t, j)
		r := start(t, e, engine.Start{Agent: payer(t, paying(`{}`), &paid, asking{}), User: "ann"})
		decide(t, e, r.Head.Run, true)
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		sameAsStored(t, j, r)
		if got := results(r); paid.Load() != 0 || got[0] != "c1: Not run: not approved: what was approved is not this call" {
			t.Errorf("changed %s: paid %d times, %q", what, paid.Load(), got)
		}
	}
}

// rewritten is a journal whose records somebody has changed in the file.
type rewritten struct {
	journal.Journal
	change func(*journal.Record)
}

func (j *rewritten) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	records, err := j.Journal.Read(ctx, run, after, limit)
	for i := range records {
		j.change(&records[i])
	}
	return records, err
}

// A run whose records are not those that were written is not acted on: it is
// left as it is, and a person is told.
func TestRewrittenRunIsNotTakenUp(t *testing.T) {
	j := &rewritten{Journal: memory.New(), change: func(*journal.Record) {}}
	var paid atomic.Int64
	a := payer(t, paying(`{}`), &paid, asking{})
	e := openSpoilt(t, j)
	r := start(t, e, engine.Start{Agent: a})
	decide(t, e, r.Head.Run, true)
	_ = stopOf(t, e, r.Head.Run)
	second := start(t, e, engine.Start{Agent: payer(t, paying(`{"n":1}`), &paid, asking{})})
	_ = e.Close()
	if err := openSpoilt(t, j).Signal(t.Context(), second.Head.Run, approve(second.Head.Approval, "ann")); err != nil {
		t.Fatal(err)
	}
	j.change = func(rec *journal.Record) {
		if rec.Kind == kernel.KindModelReplied {
			rec.Payload = bytes.Replace(rec.Payload, []byte(`{\"n\":1}`), []byte(`{\"n\":9}`), 1)
		}
	}
	var left error
	err := openSpoilt(t, j, knows(a)).Work(t.Context(), local.Workload{Once: true, Left: func(_ journal.Head, err error) { left = err }})
	if err != nil || kernel.CodeOf(left) != kernel.CodeLocalStorage || paid.Load() != 1 {
		t.Errorf("%v, left because of %v, paid %d times", err, left, paid.Load())
	}
}
