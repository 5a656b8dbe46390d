package local_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// Work that is told to end hands its runs back: what is under way may end by
// itself within the grace, nothing begins any more, nothing is cancelled and
// nothing is lost. Whoever works next goes on from there.
func TestHandBack(t *testing.T) {
	for name, c := range map[string]struct {
		at    string // what is under way when Work is told to end
		takes time.Duration
		ran   int // in all
		asked int // requests in all
		kinds []kernel.EventKind
		cut   bool // not within the grace
		want  string
	}{
		"a tool that ends in time": {at: "tool", takes: 5 * time.Second, ran: 1, asked: 2, want: "a: acted",
			kinds: []kernel.EventKind{kernel.KindCallReturned}},
		"a tool that does not": {at: "tool", takes: time.Minute, ran: 1, asked: 2, cut: true, want: "a: Interrupted, may have taken effect"},
		"a request that ends in time": {at: "request", takes: 5 * time.Second, ran: 1, asked: 2, want: "a: acted",
			kinds: []kernel.EventKind{kernel.KindModelReplied}},
		"a request that does not": {at: "request", takes: time.Minute, ran: 1, asked: 3, cut: true, want: "a: acted"},
		"backing off":             {at: "backing off", ran: 1, asked: 3, want: "a: acted"},
		"a tool's retry":          {at: "tool waits", ran: 2, asked: 2, want: "a: acted"},
		"an approver":             {at: "approver", takes: time.Minute, ran: 1, asked: 2, cut: true, want: "a: acted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				ran, asked, first := 0, 0, true
				ended := make(chan error, 1)
				// pause is at the place at which Work is told to end, once.
				pause := func(ctx context.Context, at string) {
					if at != c.at || !first {
						return
					}
					first = false
					stop()
					select {
					case <-time.After(c.takes):
					case <-ctx.Done():
					}
					ended <- ctx.Err()
				}
				act := probe{name: "act", effect: kernel.Once, tries: 2, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					ran++
					if c.at == "tool waits" && first {
						first = false
						stop()
						return tool.Result{}, &tool.Error{Message: "busy", Transient: true, Disposition: kernel.DidNotHappen}
					}
					pause(ctx, "tool")
					return tool.Result{Text: "acted"}, nil
				}}
				m := turns(func(ctx context.Context, req *model.Request) (*model.Reply, error) {
					asked++
					if req.Messages[len(req.Messages)-1].Role == kernel.RoleTool {
						return says("done")(ctx, req)
					}
					if c.at == "backing off" && first {
						first = false
						stop()
						return fails(overloaded)(ctx, req)
					}
					pause(ctx, "request")
					return calls(call("a", "act", `{}`))(ctx, req)
				})
				answer := policy.Decision{Answer: kernel.Allow}
				if c.at == "approver" {
					answer.Answer = kernel.Ask
				}
				agent := &engine.Agent{
					Model: m, Tools: tools(t, patient{act}), RequestTimeout: time.Hour,
					Policy: deciding(func(policy.Request) (policy.Decision, error) { return answer, nil }),
					Approver: approver(func(ctx context.Context, _ policy.Approval) (policy.Verdict, error) {
						pause(ctx, "approver")
						return policy.Verdict{Approved: true, By: "op"}, ctx.Err()
					}),
					Limits: limits(func(l *kernel.Limits) { l.Deadline = time.Hour }),
				}
				j := memory.New()
				begun := begins(t, j, agent)
				worker := open(t, j, later(time.Minute), knows(agent))
				if err := worker.Work(ctx, local.Workload{}); err != nil {
					t.Fatal(err)
				}
				head, err := j.Head(t.Context(), "r")
				if err != nil || head.State == journal.Stopped || head.Lease.Owner != "" {
					t.Fatalf("handed back as %+v, %v", head, err)
				}
				got := kinds(t, j, "r")[begun:]
				if last := got[len(got)-1]; len(c.kinds) > 0 && last != c.kinds[0] && last != kernel.KindCallDecided || count(got, kernel.KindCancelled) != 0 {
					t.Errorf("recorded %q", got)
				}
				if c.takes > 0 {
					synctest.Wait()
					if err := <-ended; (err != nil) != c.cut {
						t.Errorf("what was under way ended with %v", err)
					}
				}
				if _, err := worker.Start(t.Context(), engine.Start{Agent: agent, Question: "q"}); kernel.CodeOf(err) != kernel.CodeCancelled {
					t.Errorf("a run begins after all: %v", err)
				}
				next := open(t, j, later(time.Minute), knows(agent))
				work(t, next)
				if c.at == "approver" { // the question is still open
					wantWaiting(t, get(t, next, "r"))
					decide(t, next, "r", true)
					work(t, next)
				}
				r := get(t, next, "r")
				wantStop(t, r, kernel.StopAnswered, "")
				sameAsStored(t, j, r)
				res := results(r)
				if res[0] = res[0][:min(len(res[0]), len(c.want))]; !cmp.Equal(res, []string{c.want}) || ran != c.ran || asked != c.asked {
					t.Errorf("%q, ran %d times, asked %d times", results(r), ran, asked)
				}
			})
		})
	}
}

// turns is a model that answers whatever it is sent by one function.
type turns func(ctx context.Context, req *model.Request) (*model.Reply, error)

func (turns) Info() model.Info { return (&script{}).Info() }

func (f turns) Call(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	return f(ctx, req)
}

// begins records the beginning of the run r, whose process is gone then, and
// returns the number of its records.
func begins(t *testing.T, j journal.Journal, agent *engine.Agent) int {
	t.Helper()
	a := *agent
	a.Model = turns(nil)
	m := &mortal{Journal: j}
	e := open(t, &onAppend{m, func(n int) {
		if n == 1 {
			m.dead.Store(true)
		}
	}, 0})
	a.Model = &script{steps: []step{says("lost")}}
	if _, err := e.Run(t.Context(), engine.Start{Run: "r", Agent: &a, Question: "q"}); kernel.CodeOf(err) != kernel.CodeLocalStorage {
		t.Fatal(err)
	}
	return len(kinds(t, j, "r"))
}

// onAppend is a journal that calls then behind its n-th append.
type onAppend struct {
	journal.Journal
	then func(n int)
	n    int
}

func (o *onAppend) Append(ctx context.Context, e journal.Entry) error {
	err := o.Journal.Append(ctx, e)
	o.n++
	o.then(o.n)
	return err
}
