package local_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/engine/local"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

type beforeFunc func(context.Context, policy.Request) (string, error)

func (f beforeFunc) Before(ctx context.Context, r policy.Request) (string, error) { return f(ctx, r) }

type afterFunc func(context.Context, policy.Request, policy.Answered) error

func (f afterFunc) After(ctx context.Context, r policy.Request, a policy.Answered) error {
	return f(ctx, r, a)
}

func before(name, pattern string, f beforeFunc) policy.BeforeHook {
	return policy.BeforeHook{Name: name, Tool: pattern, Timeout: 30 * time.Millisecond, Hook: f}
}

func after(name, pattern string, f afterFunc) policy.AfterHook {
	return policy.AfterHook{Name: name, Tool: pattern, Timeout: 30 * time.Millisecond, Hook: f}
}

// noted is what hooks and people saw, in order.
type noted struct {
	mu   sync.Mutex
	list []string
}

func (n *noted) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *noted) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

func impatient(c *local.Config) { c.Grace = 20 * time.Millisecond }

// Case 40, row 42, Report A34 (a)-(d): a before-hook that returns a text, fails,
// panics, does not end or ends its goroutine keeps the call from running. Nobody
// is asked about it. Whatever the next hook would say is not heard.
func TestBeforeHooksRefuse(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	for name, tt := range map[string]struct {
		hook beforeFunc
		want string
	}{
		"text":  {func(context.Context, policy.Request) (string, error) { return "not on \x1b[31mSunday", nil }, "the hook gate refuses it: not on Sunday"},
		"blank": {func(context.Context, policy.Request) (string, error) { return " ", nil }, "the hook gate refuses it"},
		"error": {func(context.Context, policy.Request) (string, error) { return "", errForeign }, "the hook gate failed"},
		"panic": {func(context.Context, policy.Request) (string, error) { panic("secret") }, "the hook gate failed"},
		"slow": {func(ctx context.Context, _ policy.Request) (string, error) {
			<-ctx.Done()
			return "", nil
		}, "the hook gate did not answer in time"},
		"stuck": {func(context.Context, policy.Request) (string, error) {
			<-stuck
			return "", nil
		}, "the hook gate did not answer"},
		"exit": {func(context.Context, policy.Request) (string, error) {
			runtime.Goexit()
			return "", nil
		}, "the hook gate did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			var later noted
			a := &engine.Agent{
				Model: &script{steps: []step{calls(call("c1", "look", `{}`)), says("done")}},
				Tools: tools(t, ran.tool("look")), Policy: asking{},
				Hooks: policy.Hooks{Before: []policy.BeforeHook{before("gate", "*", tt.hook), before("next", "*", func(context.Context, policy.Request) (string, error) {
					later.note("asked")
					return "", nil
				})}},
				Approver: approverFunc(func(context.Context, policy.Approval) (policy.Verdict, error) {
					later.note("a person")
					return policy.Verdict{Approved: true}, nil
				}),
			}
			j := memory.New()
			r, err := open(t, j, impatient).Run(t.Context(), engine.Start{Agent: a, Question: "do it"})
			if err != nil {
				t.Fatal(err)
			}
			wantStop(t, r, kernel.StopAnswered, "")
			if got := results(r); len(got) != 1 || got[0] != "c1: Not run: denied by policy: "+tt.want+"." && got[0] != "c1: Not run: denied by policy: "+tt.want {
				t.Errorf("the model is told %q, want %q", got, tt.want)
			}
			if ran.count() != 0 || len(later.all()) != 0 {
				t.Errorf("it ran %d times; %q", ran.count(), later.all())
			}
			d := decided(t, j, r.Head.Run)
			if d.Answer != kernel.Deny || d.Rule != "hook gate" || !strings.HasPrefix(d.Reason, tt.want) {
				t.Errorf("decided %+v", d)
			}
		})
	}
}

func decided(t *testing.T, j *memory.Journal, run string) kernel.CallDecided {
	t.Helper()
	for _, e := range events(t, j, run) {
		if d, ok := e.(kernel.CallDecided); ok {
			return d
		}
	}
	t.Fatal("nothing was decided")
	return kernel.CallDecided{}
}

// Report A34 (e): a hook without objection grants nothing; a rule that denies
// wins, and what is to be asked is asked. A hook sees what the host knows, and
// its own copy of the arguments.
func TestBeforeHooksGrantNothing(t *testing.T) {
	var seen noted
	hooks := policy.Hooks{Before: []policy.BeforeHook{
		before("vandal", "*", func(_ context.Context, r policy.Request) (string, error) {
			seen.note("%s %s %s %s %s %s", r.Tool, r.Arguments, r.User, r.Tenant, r.Effect, r.Risk)
			copy(r.Arguments, `{"n":9}`)
			return "", nil
		}),
		before("other", "pay", func(_ context.Context, r policy.Request) (string, error) {
			seen.note("other %s", r.Tool)
			return "", nil
		}),
	}}
	var ran noted
	a := &engine.Agent{
		Model: &script{steps: []step{calls(call("c1", "look", `{"n":1}`), call("c2", "erase", `{"n":2}`)), says("done")}},
		Tools: tools(t, probe{name: "look", effect: kernel.Read, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			ran.note("%s", c.Arguments)
			return tool.Result{Text: "seen"}, nil
		}}, probe{name: "erase", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
			ran.note("erased")
			return tool.Result{}, nil
		}}),
		Policy: deciding(func(r policy.Request) (policy.Decision, error) {
			return policy.Decision{Answer: map[string]kernel.Answer{"look": kernel.Allow}[r.Tool], Rule: "r"}, nil
		}),
		Hooks: hooks,
	}
	r := run(t, a)
	wantStop(t, r, kernel.StopAnswered, "")
	slices.Sort(seen.list)
	if got := seen.all(); !slices.Equal(got, []string{`erase {"n":2}   once high`, `look {"n":1}   read low`}) {
		t.Errorf("hooks saw %q", got)
	}
	if got := ran.all(); !slices.Equal(got, []string{`{"n":1}`}) {
		t.Errorf("ran %q", got)
	}
}

// Hooks are asked again whenever the policy is: once more after a take-over.
func TestBeforeHooksAgainAfterATakeOver(t *testing.T) {
	j := &mortal{Journal: memory.New()}
	var asked noted
	no := ""
	var paid counter
	a := &engine.Agent{
		Model: &script{steps: []step{calls(call("c1", "pay", `{}`)), says("done")}},
		Tools: tools(t, paid.tool("pay")), Policy: asking{},
		Hooks: policy.Hooks{Before: []policy.BeforeHook{before("gate", "*", func(context.Context, policy.Request) (string, error) {
			asked.note("gate")
			return no, nil
		})}},
	}
	r := start(t, open(t, j), engine.Start{Agent: a})
	j.dead.Store(true)
	no = "closed by now"
	worker := open(t, j.Journal, knows(a))
	if err := worker.Signal(t.Context(), r.Head.Run, approve(r.Head.Approval, "ann")); err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); paid.count() != 0 || len(asked.all()) != 2 || len(got) != 1 || !strings.Contains(got[0], "the hook gate refuses it: closed by now") {
		t.Errorf("paid %d times, hooks asked %d times, the model is told %q", paid.count(), len(asked.all()), got)
	}
}

// Case 40, row 42: an after-hook that fails in whatever way leaves one warning
// that names it; the result stays, the others still look, and nothing runs
// again. They see refused calls too, once the answer is journaled.
func TestAfterHooks(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	for name, tt := range map[string]struct {
		hook afterFunc
		want string
	}{
		"fine":  {func(context.Context, policy.Request, policy.Answered) error { return nil }, ""},
		"error": {func(context.Context, policy.Request, policy.Answered) error { return errForeign }, "the hook bad failed after call c1"},
		"panic": {func(context.Context, policy.Request, policy.Answered) error { panic("secret") }, "the hook bad failed after call c1: the hook bad panicked"},
		"words": {func(context.Context, policy.Request, policy.Answered) error {
			return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the index is closed", Err: errForeign}
		}, "the hook bad failed after call c1: the index is closed"},
		"slow": {func(ctx context.Context, _ policy.Request, _ policy.Answered) error {
			<-ctx.Done()
			return nil
		}, "the hook bad did not end in time after call c1"},
		"stuck": {func(context.Context, policy.Request, policy.Answered) error {
			<-stuck
			return nil
		}, "the hook bad did not return after call c1"},
		"exit": {func(context.Context, policy.Request, policy.Answered) error {
			runtime.Goexit()
			return nil
		}, "the hook bad did not return after call c1"},
	} {
		t.Run(name, func(t *testing.T) {
			j := memory.New()
			var saw noted
			var ran counter
			a := &engine.Agent{
				Model: &script{steps: []step{calls(call("c1", "look", `{}`), call("c2", "erase", `{}`)), says("done")}},
				Tools: tools(t, ran.tool("look"), ran.tool("erase")),
				Policy: deciding(func(r policy.Request) (policy.Decision, error) {
					return policy.Decision{Answer: map[string]kernel.Answer{"look": kernel.Allow}[r.Tool], Reason: "no"}, nil
				}),
				Hooks: policy.Hooks{After: []policy.AfterHook{
					after("bad", "look", tt.hook),
					after("note", "*", func(_ context.Context, r policy.Request, a policy.Answered) error {
						there := slices.ContainsFunc(events(t, j, r.Run), func(e kernel.Event) bool {
							returned, ran := e.(kernel.CallReturned)
							decided, no := e.(kernel.CallDecided)
							return ran && returned.Call == r.Call || no && decided.Answer == kernel.Deny && decided.Call == r.Call
						})
						saw.note("%s %s %v, journaled %v", r.Call, a.Text, a.IsError, there)
						return nil
					}),
				}},
			}
			r, err := open(t, j, impatient).Run(t.Context(), engine.Start{Agent: a, Question: "do it", Run: "r"})
			if err != nil {
				t.Fatal(err)
			}
			wantStop(t, r, kernel.StopAnswered, "")
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if !slices.Equal(r.Outcome.Warnings, want) {
				t.Errorf("warnings %q, want %q", r.Outcome.Warnings, want)
			}
			if got := saw.all(); !slices.Equal(got, []string{"c1 look 1 false, journaled true", "c2 Not run: denied by policy: no true, journaled true"}) {
				t.Errorf("the hook behind it saw %q", got)
			}
			if got := results(r); ran.count() != 1 || got[0] != "c1: look 1" {
				t.Errorf("ran %d times, the model is told %q", ran.count(), got)
			}
		})
	}
}

// Report A34 (f) and row 42: an agent whose hooks are not usable never starts.
func TestHooksAreChecked(t *testing.T) {
	pass := beforeFunc(func(context.Context, policy.Request) (string, error) { return "", nil })
	look := afterFunc(func(context.Context, policy.Request, policy.Answered) error { return nil })
	for name, hooks := range map[string]policy.Hooks{
		"no name":    {Before: []policy.BeforeHook{{Tool: "*", Hook: pass}}},
		"no pattern": {Before: []policy.BeforeHook{{Name: "a", Hook: pass}}},
		"no hook":    {Before: []policy.BeforeHook{{Name: "a", Tool: "*"}}},
		"negative":   {After: []policy.AfterHook{{Name: "a", Tool: "*", Timeout: -1, Hook: look}}},
		"twice":      {After: []policy.AfterHook{{Name: "a", Tool: "*", Hook: look}, {Name: "a", Tool: "x", Hook: look}}},
		"too many":   {Before: make([]policy.BeforeHook, policy.MaxHooks+1)},
	} {
		_, err := open(t, memory.New()).Start(t.Context(), engine.Start{Agent: &engine.Agent{Model: &script{}, Hooks: hooks}, Question: "q"})
		if kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type approverFunc func(context.Context, policy.Approval) (policy.Verdict, error)

func (f approverFunc) Approve(ctx context.Context, a policy.Approval) (policy.Verdict, error) {
	return f(ctx, a)
}

// Row 34: whoever is asked sees how grave the call is, as the rule sees it, and
// a grave write waits until then.
func TestAskedWithTheRisk(t *testing.T) {
	var paid counter
	var shown policy.Approval
	j := memory.New()
	a := &engine.Agent{
		Model: &script{steps: []step{calls(call("c1", "pay", `{}`)), says("done")}}, Tools: tools(t, paid.tool("pay")),
		Policy: deciding(func(r policy.Request) (policy.Decision, error) {
			if r.Risk != kernel.RiskLow {
				t.Errorf("the policy sees the risk %q", r.Risk)
			}
			return policy.Decision{Answer: kernel.Ask, Risk: kernel.RiskHigh}, nil
		}),
		Approver: approverFunc(func(_ context.Context, a policy.Approval) (policy.Verdict, error) {
			shown = a
			if paid.count() > 0 {
				t.Error("it ran before anyone was asked")
			}
			return policy.Verdict{Approved: true}, nil
		}),
	}
	r, err := open(t, j).Run(t.Context(), engine.Start{Agent: a, Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	wantStop(t, r, kernel.StopAnswered, "")
	if d := decided(t, j, r.Head.Run); shown.Risk != kernel.RiskHigh || d.Risk != kernel.RiskHigh || paid.count() != 1 {
		t.Errorf("shown %+v, recorded %+v, paid %d times", shown, d, paid.count())
	}
}
