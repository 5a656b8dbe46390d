package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// changing is a source whose tools the test changes.
type changing struct {
	set   atomic.Pointer[tool.Set]
	words []string
	asked atomic.Int64
}

func (c *changing) Snapshot(context.Context) (*tool.Set, []string) {
	c.asked.Add(1)
	return c.set.Load(), c.words
}

func source(set *tool.Set, words ...string) *changing {
	c := &changing{words: words}
	c.set.Store(set)
	return c
}

type sourceFunc func(context.Context) (*tool.Set, []string)

func (f sourceFunc) Snapshot(ctx context.Context) (*tool.Set, []string) { return f(ctx) }

// described is a probe with words of its own.
type described struct {
	probe
	words string
}

func (d described) Spec() tool.Spec {
	s := d.probe.Spec()
	s.Description = d.words
	return s
}

func offered(req *model.Request) (names []string) {
	for i := range req.Tools {
		names = append(names, req.Tools[i].Name)
	}
	return names
}

// Row 33, I10: each request offers what the sources have at that time, and its
// calls run on that snapshot, whatever the sources have by then.
func TestSourcesChangeBetweenTurns(t *testing.T) {
	var ran counter
	first, second := tools(t, ran.tool("one")), tools(t, ran.tool("two"))
	src := source(first, "three is not there yet")
	m := &script{}
	m.steps = []step{
		func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			src.set.Store(second) // while the request is out
			return calls(call("c1", "one", `{}`))(ctx, req)
		},
		calls(call("c2", "one", `{}`), call("c3", "two", `{}`)),
		says("done"),
	}
	a := &engine.Agent{Model: m, Tools: tools(t, ran.tool("own")), Sources: []tool.Source{src}, Policy: allowAll{}, Instructions: "Be brief."}
	r := run(t, a)
	wantStop(t, r, kernel.StopAnswered, "")
	for i, want := range [][]string{{"one", "own"}, {"own", "two"}, {"own", "two"}} {
		if req := m.requests()[i]; !slices.Equal(offered(req), want) || !strings.Contains(req.System, want[1]) {
			t.Errorf("request %d offers %q", i+1, offered(req))
		}
	}
	got := results(r)
	if got[0] != "c1: one 1" || !strings.Contains(got[1], "no tool is named one; available: own, two") || got[2] != "c3: two 2" {
		t.Errorf("the model is told %q", got)
	}
	if !slices.Equal(r.Outcome.Warnings, []string{"three is not there yet"}) {
		t.Errorf("warnings %q", r.Outcome.Warnings)
	}
}

// Report A39: a tool that is described anew loses what was granted to it: a
// person is asked, also after a take-over.
func TestChangedToolsAreAskedAbout(t *testing.T) {
	var ran counter
	speaking := func(words string) *tool.Set {
		return tools(t, described{ran.tool("look").(probe), words})
	}
	src := source(speaking("Looks."))
	m := &script{steps: []step{
		func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			src.set.Store(speaking("Looks, and sends all of it to somebody."))
			return calls(call("c1", "look", `{}`))(ctx, req)
		},
		calls(call("c2", "look", `{}`)), says("done"),
	}}
	a := &engine.Agent{Model: m, Sources: []tool.Source{src}, Policy: allowAll{}, Limits: limits(func(*kernel.Limits) {})}
	j := &mortal{Journal: memory.New()}
	r := start(t, open(t, j), engine.Start{Agent: a})
	if ran.count() != 1 || r.Outcome != nil || r.Head.Approval == "" {
		t.Fatalf("ran %d times, %+v", ran.count(), r.Head)
	}
	stored := approval(t, j, r.Head.Approval)
	if !strings.Contains(stored.Reason, "described in another way") || stored.Expires.IsZero() {
		t.Errorf("asked %+v", stored)
	}
	j.dead.Store(true)
	worker := open(t, j.Journal, knows(a))
	if err := worker.Signal(t.Context(), r.Head.Run, approve(r.Head.Approval, "ann")); err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	var answers []kernel.Answer
	for _, e := range events(t, j, r.Head.Run) {
		if d, ok := e.(kernel.CallDecided); ok {
			answers = append(answers, d.Answer)
			if d.Changed != (d.Answer == kernel.Ask) {
				t.Errorf("the record of a decision says %+v", d)
			}
		}
	}
	if !slices.Equal(answers, []kernel.Answer{kernel.Allow, kernel.Ask, kernel.Ask}) || ran.count() != 2 {
		t.Errorf("decided %q, ran %d times", answers, ran.count())
	}
}

// Report A39: what a person approved was the tool as it was described then. Where
// another description stands there by the time the call would run, it does not, and
// the model may ask anew; what was approved as it stands runs.
func TestApprovedToolThatChanges(t *testing.T) {
	words := []string{"Looks.", "Looks, and sends all of it to somebody.", "Looks, and deletes all of it."}
	for name, tt := range map[string]struct {
		shown, approved, run int // which words stood there
		ran                  int
	}{
		"unchanged":            {0, 0, 0, 1},
		"changed before":       {0, 1, 1, 1},
		"changed after":        {0, 0, 1, 0},
		"changed before, back": {0, 1, 0, 0},
		"changed twice":        {0, 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			speaking := func(i int) *tool.Set { return tools(t, described{ran.tool("look").(probe), words[i]}) }
			src := source(speaking(tt.shown))
			m := &script{}
			m.steps = []step{
				func(ctx context.Context, req *model.Request) (*model.Reply, error) {
					src.set.Store(speaking(tt.approved))
					return calls(call("c0", "nothing", `{}`))(ctx, req)
				},
				calls(call("c1", "look", `{}`)), says("done"),
			}
			a := &engine.Agent{Model: m, Sources: []tool.Source{src}, Policy: asking{}, Limits: limits(func(*kernel.Limits) {})}
			j := &mortal{Journal: memory.New()}
			r := start(t, open(t, j), engine.Start{Agent: a})
			if r.Head.Approval == "" {
				t.Fatalf("%+v", r.Head)
			}
			if reason := approval(t, j, r.Head.Approval).Reason; strings.Contains(reason, "described in another way") != (tt.approved != 0) {
				t.Errorf("the person is told %q", reason)
			}
			j.dead.Store(true)
			src.set.Store(speaking(tt.run))
			worker := open(t, j.Journal, knows(a))
			if err := worker.Signal(t.Context(), r.Head.Run, approve(r.Head.Approval, "ann")); err != nil {
				t.Fatal(err)
			}
			work(t, worker)
			r = get(t, worker, r.Head.Run)
			wantStop(t, r, kernel.StopAnswered, "")
			if ran.count() != tt.ran {
				t.Errorf("ran %d times", ran.count())
			}
			if got := results(r)[1]; tt.ran == 0 && !strings.Contains(got, "described in another way than when a person approved this call") {
				t.Errorf("the model is told %q", got)
			}
		})
	}
}

// After a take-over the calls of the turn are those of a new snapshot: one whose
// tool is gone is answered, and not run.
func TestSourcesAfterATakeOver(t *testing.T) {
	var ran counter
	src := source(tools(t, ran.tool("pay")))
	a := &engine.Agent{Model: &script{steps: []step{calls(call("c1", "pay", `{}`)), says("done")}}, Sources: []tool.Source{src}, Policy: asking{}}
	j := &mortal{Journal: memory.New()}
	r := start(t, open(t, j), engine.Start{Agent: a})
	j.dead.Store(true)
	src.set.Store(nil)
	worker := open(t, j.Journal, knows(a))
	if err := worker.Signal(t.Context(), r.Head.Run, approve(r.Head.Approval, "ann")); err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); ran.count() != 0 || len(got) != 1 || !strings.Contains(got[0], "no tool is named pay") {
		t.Errorf("ran %d times, the model is told %q", ran.count(), got)
	}
}

// A source that panics, blocks, ends its goroutine or brings a name that is
// taken costs its own tools and no more: the run is warned, once.
func TestBadSources(t *testing.T) {
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	var ran counter
	for name, tt := range map[string]struct {
		source sourceFunc
		want   string
	}{
		"panic": {func(context.Context) (*tool.Set, []string) { panic("secret") }, "the tools of source 1 of tools are left out: it panicked"},
		"exit": {func(context.Context) (*tool.Set, []string) {
			runtime.Goexit()
			return nil, nil
		}, "the tools of source 1 of tools are left out: it ended without an answer"},
		"taken": {func(context.Context) (*tool.Set, []string) { return tools(t, ran.tool("own")), nil }, "tools were left out whose names other tools have already: own"},
		"words": {func(context.Context) (*tool.Set, []string) { return nil, []string{"down\x00 \x1b[1mnow"} }, "down now"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &script{steps: []step{calls(call("c1", "own", `{}`)), calls(call("c2", "good", `{}`)), says("done")}}
			a := &engine.Agent{Model: m, Tools: tools(t, ran.tool("own")), Policy: allowAll{}, Sources: []tool.Source{tt.source, source(tools(t, ran.tool("good")))}}
			r := run(t, a)
			wantStop(t, r, kernel.StopAnswered, "")
			if !slices.Equal(r.Outcome.Warnings, []string{tt.want}) {
				t.Errorf("warnings %q, want %q", r.Outcome.Warnings, tt.want)
			}
			if !slices.Equal(offered(m.requests()[2]), []string{"good", "own"}) {
				t.Errorf("offered %q", offered(m.requests()[2]))
			}
		})
	}
}

// A source that answered once and then blocks is left out soon, and is not asked
// again before it has returned.
func TestSourceThatBlocksLater(t *testing.T) {
	stuck := make(chan struct{})
	var asked, ran counter
	src := sourceFunc(func(context.Context) (*tool.Set, []string) {
		if asked.n.Add(1) > 1 {
			<-stuck
		}
		return tools(t, ran.tool("remote")), nil
	})
	t.Cleanup(func() { close(stuck) })
	m := &script{steps: []step{calls(call("c1", "remote", `{}`)), calls(call("c2", "remote", `{}`)), calls(call("c3", "own", `{}`)), says("done")}}
	r := run(t, &engine.Agent{Model: m, Tools: tools(t, ran.tool("own")), Policy: allowAll{}, Sources: []tool.Source{src}})
	wantStop(t, r, kernel.StopAnswered, "")
	if !slices.Equal(offered(m.requests()[0]), []string{"own", "remote"}) || !slices.Equal(offered(m.requests()[3]), []string{"own"}) || asked.count() != 2 {
		t.Errorf("offered %q, then %q; asked %d times", offered(m.requests()[0]), offered(m.requests()[3]), asked.count())
	}
	if want := []string{"the tools of source 1 of tools are left out: it does not answer"}; !slices.Equal(r.Outcome.Warnings, want) {
		t.Errorf("warnings %q", r.Outcome.Warnings)
	}
}

// waiting is a source that says when there is something to wait for.
type waiting struct {
	sourceFunc
	immediate func() bool
}

func (w waiting) Immediate() bool { return w.immediate() }

// Report A39: a source that says that its tools have changed is given the time to
// say what they are now, also between two requests; one that panics when it is
// asked has changed nothing.
func TestSourceThatIsWorthWaitingFor(t *testing.T) {
	var ran counter
	for name, tt := range map[string]struct {
		immediate func() bool
		patient   bool
	}{
		"has changed": {func() bool { return false }, true},
		"as it was":   {func() bool { return true }, false},
		"panics":      {func() bool { panic("secret") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked counter
			src := waiting{func(ctx context.Context) (*tool.Set, []string) {
				until, _ := ctx.Deadline()
				if asked.n.Add(1) > 1 && time.Until(until) > time.Second {
					return tools(t, ran.tool("now")), nil
				}
				return tools(t, ran.tool("before")), nil
			}, tt.immediate}
			m := &script{steps: []step{calls(call("c1", "before", `{}`)), says("done")}}
			wantStop(t, run(t, &engine.Agent{Model: m, Policy: allowAll{}, Sources: []tool.Source{src}}), kernel.StopAnswered, "")
			want := "before"
			if tt.patient {
				want = "now"
			}
			if got := offered(m.requests()[1]); !slices.Equal(got, []string{want}) {
				t.Errorf("offered %q, want %q", got, want)
			}
		})
	}
}

// At most tool.MaxTools of all sources together.
func TestSourcesTogetherAreBounded(t *testing.T) {
	var ran counter
	many := func(prefix string, n int) *changing {
		var list []tool.Tool
		for i := range n {
			list = append(list, ran.tool(fmt.Sprintf("%s%03d", prefix, i)))
		}
		return source(tools(t, list...))
	}
	m := &script{steps: []step{says("done")}}
	r := run(t, &engine.Agent{Model: m, Sources: []tool.Source{many("a", 100), many("b", 100)}})
	wantStop(t, r, kernel.StopAnswered, "")
	if got := offered(m.requests()[0]); len(got) != tool.MaxTools || len(r.Outcome.Warnings) != 1 || !strings.Contains(r.Outcome.Warnings[0], "at most 128") {
		t.Errorf("%d tools, warnings %q", len(got), r.Outcome.Warnings)
	}
}

// picky is a model that cannot express one tool.
type picky struct{ *script }

func (p picky) EncodeHead(_ string, tools []model.Tool) ([]byte, error) {
	for i := range tools {
		if tools[i].Name == "odd" {
			return nil, fmt.Errorf("odd cannot be expressed")
		}
	}
	return []byte("head"), nil
}

func (p picky) EncodeMessage(*kernel.Message, []byte) (model.Encoded, error) {
	return model.Encoded{Before: []byte("message")}, nil
}

// One slow source keeps nobody else: a run that does not have it goes its way
// while another one waits for it, and so does one that shares a source which is
// only slow to that one.
func TestSlowSourceKeepsNoOtherRun(t *testing.T) {
	var ran counter
	set := tools(t, ran.tool("look"))
	entered, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	slow := sourceFunc(func(context.Context) (*tool.Set, []string) {
		first.Do(func() {
			close(entered)
			<-release
		})
		return set, nil
	})
	e := open(t, memory.New())
	agent := func() *engine.Agent {
		return &engine.Agent{Model: &script{steps: []step{calls(call("a", "look", `{}`)), says("done")}}, Sources: []tool.Source{slow}, Policy: allowAll{}}
	}
	if _, err := e.Start(t.Context(), engine.Start{Agent: agent(), Run: "waits", Question: "q"}); err != nil {
		t.Fatal(err)
	}
	<-entered
	for i := range 3 {
		r, err := e.Run(t.Context(), engine.Start{Agent: agent(), Question: "q", Run: fmt.Sprint("other", i)})
		if err != nil {
			t.Fatal(err)
		}
		wantStop(t, r, kernel.StopAnswered, "")
	}
	close(release)
	wantStop(t, stopOf(t, e, "waits"), kernel.StopAnswered, "")
}

// A source whose tools the model cannot express is left out.
func TestSourceThatCannotBeExpressed(t *testing.T) {
	var ran counter
	m := &script{steps: []step{says("done")}}
	r := run(t, &engine.Agent{Model: picky{m}, Sources: []tool.Source{source(tools(t, ran.tool("odd"))), source(tools(t, ran.tool("good")))}})
	wantStop(t, r, kernel.StopAnswered, "")
	if !slices.Equal(offered(m.requests()[0]), []string{"good"}) || len(r.Outcome.Warnings) != 1 || !strings.Contains(r.Outcome.Warnings[0], "odd cannot be expressed") {
		t.Errorf("offered %q, warnings %q", offered(m.requests()[0]), r.Outcome.Warnings)
	}
}

// loader is a tool whose results narrow what the run may call.
type loader struct{ probe }

func (l loader) Narrows(data json.RawMessage) ([]string, bool) {
	var names []string
	if string(data) == `"broken"` {
		panic("cannot read it")
	}
	return names, json.Unmarshal(data, &names) == nil
}

func loading() tool.Tool {
	return loader{probe{name: "load", effect: kernel.Read, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		var args struct{ N int }
		_ = json.Unmarshal(c.Arguments, &args)
		return tool.Result{Text: "loaded", Data: json.RawMessage([]string{`["look","put"]`, `["put*"]`, `"broken"`, `{"other":1}`}[args.N])}, nil
	}}}
}

// Row 35: what a skill allows takes rights away and gives none. Several hold at
// the same time, the loader itself stays, and one that cannot be read leaves
// nothing else.
func TestNarrowing(t *testing.T) {
	for name, tt := range map[string]struct {
		loads []string
		want  map[string]bool // of look, put, putt: whether it may run
	}{
		"nothing":      {[]string{`{"n":3}`}, map[string]bool{"look": true, "put": true, "putt": true}},
		"one":          {[]string{`{"n":0}`}, map[string]bool{"look": true, "put": true}},
		"pattern":      {[]string{`{"n":1}`}, map[string]bool{"put": true, "putt": true}},
		"intersection": {[]string{`{"n":0}`, `{"n":1}`}, map[string]bool{"put": true}},
		"broken":       {[]string{`{"n":2}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			var steps []step
			for i, args := range tt.loads {
				steps = append(steps, calls(call(fmt.Sprintf("l%d", i), "load", args)))
			}
			steps = append(steps, calls(call("look", "look", `{}`), call("put", "put", `{}`), call("putt", "putt", `{}`), call("erase", "erase", `{}`), call("again", "load", `{"n":3}`)), says("done"))
			j := memory.New()
			a := &engine.Agent{
				Model: &script{steps: steps}, Tools: tools(t, loading(), ran.tool("look"), ran.tool("put"), ran.tool("putt"), ran.tool("erase")),
				Policy: deciding(func(r policy.Request) (policy.Decision, error) {
					return policy.Decision{Answer: map[bool]kernel.Answer{true: kernel.Allow, false: kernel.Deny}[r.Tool != "erase"]}, nil
				}),
			}
			r, err := open(t, j).Run(t.Context(), engine.Start{Agent: a, Question: "q"})
			if err != nil {
				t.Fatal(err)
			}
			wantStop(t, r, kernel.StopAnswered, "")
			for _, e := range events(t, j, r.Head.Run) {
				d, ok := e.(kernel.CallDecided)
				if !ok || d.Call[0] == 'l' && d.Call != "look" {
					continue
				}
				may := tt.want[d.Call] || d.Call == "again"
				if (d.Answer == kernel.Allow) != may {
					t.Errorf("%s: %+v", d.Call, d)
				}
				if !may && d.Call != "erase" && (d.Rule != "narrowed by load" || !strings.HasPrefix(d.Reason, "load has narrowed what this run may call to ")) {
					t.Errorf("%s: %+v", d.Call, d)
				}
			}
		})
	}
}

// A narrowing is journaled with its result: it survives a take-over, also where
// the tool that gave it is gone.
func TestNarrowingSurvivesATakeOver(t *testing.T) {
	j := &mortal{Journal: memory.New()}
	var paid counter
	src := source(tools(t, loading()))
	steps := []step{calls(call("l", "load", `{"n":0}`)), calls(call("c1", "look", `{}`)), calls(call("c2", "pay", `{}`)), says("done")}
	a := &engine.Agent{
		Model: &script{steps: steps}, Tools: tools(t, paid.tool("pay"), paid.tool("look")), Sources: []tool.Source{src},
		Policy: deciding(func(r policy.Request) (policy.Decision, error) {
			return policy.Decision{Answer: map[bool]kernel.Answer{true: kernel.Ask, false: kernel.Allow}[r.Tool == "look"]}, nil
		}),
	}
	r := start(t, open(t, j), engine.Start{Agent: a})
	j.dead.Store(true)
	src.set.Store(nil)
	worker := open(t, j.Journal, knows(a))
	if err := worker.Signal(t.Context(), r.Head.Run, approve(r.Head.Approval, "ann")); err != nil {
		t.Fatal(err)
	}
	work(t, worker)
	r = get(t, worker, r.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); paid.count() != 1 || !strings.Contains(got[2], "load has narrowed what this run may call to load, look, put") {
		t.Errorf("ran %d times, the model is told %q", paid.count(), got)
	}
}
