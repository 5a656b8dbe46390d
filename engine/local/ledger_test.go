package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	"github.com/holdfast-run/holdfast/tool"
)

// guarded is a probe with a repeat window, or one that any unknown blocks.
type guarded struct {
	probe
	window    time.Duration
	exclusive bool
}

func (g guarded) Spec() tool.Spec {
	s := g.probe.Spec()
	s.RepeatWindow, s.Exclusive = g.window, g.exclusive
	return s
}

// shaky is a tool whose run number n, from 1, comes to what fate says of it: nil
// is a receipt.
func shaky(ran *int, fate func(n int) error) probe {
	return probe{name: "pay", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
		*ran++
		if err := fate(*ran); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: fmt.Sprint("receipt ", *ran)}, nil
	}}
}

func firstFails(n int) error {
	if n == 1 {
		return errors.New("the connection was lost")
	}
	return nil
}

// insistent is a model that, told that a call may have taken effect, asks for
// the same again at once under a new id, in each of the given spellings.
func insistent(t *testing.T, args ...string) *script {
	t.Helper()
	m := &script{}
	for i, a := range args {
		m.steps = append(m.steps, func(ctx context.Context, req *model.Request) (*model.Reply, error) {
			if last := req.Messages[len(req.Messages)-1].Blocks[0]; i > 0 && last.Kind != kernel.BlockResult {
				t.Errorf("request %d ends with %+v", i+1, last)
			}
			return calls(call(fmt.Sprint("try", i+1), "pay", a))(ctx, req)
		})
	}
	m.steps = append(m.steps, says("done"))
	return m
}

func quick(m model.Model, set *tool.Set) *engine.Agent {
	return &engine.Agent{Model: m, Tools: set, Policy: allowAll{}, Limits: limits(func(l *kernel.Limits) { l.Repeat = 0 })}
}

func effects(t *testing.T, j journal.Reader, q journal.EffectQuery) []journal.Effect {
	t.Helper()
	list, err := j.Effects(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A new call id does not slip past an unknown outcome, however the arguments are
// spelled, in no run of the tenant; what is another request goes its way, and
// another tenant knows nothing of it.
func TestUnknownIsNotEvaded(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	ran := 0
	set := tools(t, shaky(&ran, firstFails))
	drive := func(s engine.Start, args ...string) []string {
		t.Helper()
		s.Question, s.Agent = "q", quick(insistent(t, args...), set)
		r, err := e.Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		wantStop(t, r, kernel.StopAnswered, "")
		return results(r)
	}
	evaded := func(got string) bool {
		return !strings.Contains(got, "Not run: the same request may have taken effect before") || !strings.Contains(got, "asking again does not help")
	}
	acme := engine.Start{Tenant: "acme", User: "ann"}
	got := drive(acme, `{"n":1}`, `{"n":1}`, `{ "n" : 1 }`, `{"n":2}`)
	if ran != 2 || !strings.Contains(got[0], "its outcome is unknown") || evaded(got[1]) || evaded(got[2]) || got[3] != "try4: receipt 2" {
		t.Errorf("ran %d times: %q", ran, got)
	}
	if got = drive(engine.Start{Tenant: "acme", User: "bob"}, `{"n":1}`); ran != 2 || evaded(got[0]) {
		t.Errorf("another run of the tenant: ran %d times, %q", ran, got)
	}
	if got = drive(engine.Start{Tenant: "other", User: "ann"}, `{"n":1}`); ran != 3 {
		t.Errorf("another tenant: %q", got)
	}

	// Once it is known not to have happened, it can be asked for.
	unknown := effects(t, j, journal.EffectQuery{State: journal.EffectUnknown})
	if len(unknown) != 1 {
		t.Fatalf("%d unknown", len(unknown))
	}
	if err := e.Signal(t.Context(), unknown[0].Run, engine.Signal{Kind: engine.SignalResolve, Effect: unknown[0].ID, As: kernel.FoundNoEffect, By: "op", Reason: "not in the books"}); err != nil {
		t.Fatal(err)
	}
	if got = drive(acme, `{"n":1}`); ran != 4 || got[0] != "try1: receipt 4" {
		t.Errorf("after the resolution: ran %d times, %q", ran, got)
	}
}

// lax is a probe that takes a number, and more that may be left out.
type lax struct{ probe }

func (l lax) Spec() tool.Spec {
	s := l.probe.Spec()
	s.Schema = []byte(`{"type":"object","properties":{"n":{"type":"number"},"to":{"type":"array"},"note":{"type":"string"},"now":{"type":"boolean"}},"additionalProperties":false}`)
	return s
}

// Neither does one that spells a number in another way, or what may be left out.
func TestUnknownIsNotEvadedBySpelling(t *testing.T) {
	ran := 0
	set := tools(t, lax{shaky(&ran, firstFails)})
	again := []string{
		`{"n":1.5}`, `{"n":1.50}`, `{"n":15e-1}`, `{"\u006e":0.15E+1}`, `{"n":1.5,"to":[]}`, `{"n":1.5,"note":"","now":false,"to":[]}`,
	}
	r, err := open(t, memory.New()).Run(t.Context(), engine.Start{Question: "q", Agent: quick(insistent(t, append(again, `{"n":1.5,"now":true}`)...), set)})
	if err != nil {
		t.Fatal(err)
	}
	got := results(r)
	for i := range again[1:] {
		if !strings.Contains(got[i+1], "Not run: the same request may have taken effect before") {
			t.Errorf("%s: %q", again[i+1], got[i+1])
		}
	}
	if last := got[len(got)-1]; ran != 2 || last != "try7: receipt 2" {
		t.Errorf("ran %d times; another request: %q", ran, last)
	}
}

// A tool may say that any unknown outcome blocks all of its calls.
func TestExclusiveTool(t *testing.T) {
	ran := 0
	r := run(t, quick(insistent(t, `{"n":1}`, `{"n":2}`), tools(t, guarded{probe: shaky(&ran, firstFails), exclusive: true})))
	if got := results(r); ran != 1 || !strings.Contains(got[1], "the outcome of an earlier call of this tool is unknown") {
		t.Errorf("ran %d times, %q", ran, got)
	}
}

// What landed is not repeated within the tool's window, and can be after it.
func TestRepeatWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, memory.New())
		ran := 0
		set := tools(t, guarded{probe: shaky(&ran, func(int) error { return nil }), window: time.Hour})
		for _, c := range []struct {
			after time.Duration
			ran   int
		}{{0, 1}, {time.Hour - time.Minute, 1}, {2 * time.Minute, 2}} {
			time.Sleep(c.after)
			r, err := e.Run(t.Context(), engine.Start{Agent: quick(insistent(t, `{"n":1}`, `{"n":1}`), set), Question: "q"})
			if err != nil {
				t.Fatal(err)
			}
			if got := results(r); ran != c.ran || !strings.Contains(got[1], "took effect a short while ago") {
				t.Errorf("after %s: ran %d times, %q", c.after, ran, got)
			}
		}
	})
}

// Row 70: a business key stands for one effect in all runs of the tenant. Its
// result is stored and told again; to someone else it is another request.
func TestStoredAcrossRuns(t *testing.T) {
	j := memory.New()
	e := open(t, j)
	ran := 0
	order := keyed{probe{name: "order", effect: kernel.Once, run: func(context.Context, tool.Call) (tool.Result, error) {
		ran++
		return tool.Result{Text: "receipt 1", Data: []byte(`{"no":1}`)}, nil
	}}}
	ask := func(user, args string) *engine.Run {
		t.Helper()
		m := &script{steps: []step{calls(call("a", "order", args)), says("done")}}
		r, err := e.Run(t.Context(), engine.Start{Agent: quick(m, tools(t, order)), Question: "q", User: user})
		if err != nil {
			t.Fatal(err)
		}
		sameAsStored(t, j, r)
		return r
	}
	first, second := ask("ann", `{"n":1}`), ask("ann", `{ "n":1 }`)
	if ran != 1 || !cmp.Equal(results(first), results(second)) || string(second.Results[0].Data) != `{"no":1}` {
		t.Errorf("ran %d times: %q, %q", ran, results(first), results(second))
	}
	if r := ask("bob", `{"n":1}`); ran != 1 || !strings.Contains(results(r)[0], "belongs to a different request") {
		t.Errorf("ran %d times, %q", ran, results(r))
	}
}

// findingWanted is a run that waits until somebody finds out what became of its
// one call.
type findingWanted struct {
	journal journal.Journal
	engine  *local.Engine
	agent   *engine.Agent
	run     *engine.Run
	effect  string
	ran     int
}

func waitsForAFinding(t *testing.T) *findingWanted {
	t.Helper()
	w := &findingWanted{journal: memory.New()}
	w.engine = open(t, w.journal)
	w.agent = quick(insistent(t, `{"n":1}`), tools(t, shaky(&w.ran, firstFails)))
	w.agent.Unknown = kernel.UnknownWait
	var err error
	if w.run, err = w.engine.Run(t.Context(), engine.Start{Agent: w.agent, Question: "q"}); err != nil {
		t.Fatal(err)
	}
	w.effect = effects(t, w.journal, journal.EffectQuery{State: journal.EffectUnknown})[0].ID
	return w
}

// A run may wait for what its unknown outcome is found to be. It is told that,
// and never runs the call again by it.
func TestResolution(t *testing.T) {
	for as, want := range map[kernel.Finding]string{
		kernel.FoundLanded:   "try1: receipt 7",
		kernel.FoundNoEffect: "try1: It was looked into, and had no effect: asked the bank",
		kernel.FoundUnknown:  "try1: It was looked into, and it is still not known whether it took effect: asked the bank",
	} {
		w := waitsForAFinding(t)
		j, e, r := w.journal, w.engine, w.run
		if h := r.Head; h.State != journal.Waiting || h.WaitingFor != string(kernel.WaitResolution) || h.Approval != "" {
			t.Fatalf("waits as %+v", h)
		}
		sig := engine.Signal{ID: "found", Kind: engine.SignalResolve, Effect: w.effect, As: as, By: "op", Reason: "asked the bank"}
		if as == kernel.FoundLanded {
			sig.Result = []byte("receipt 7")
		}
		for range 2 { // the second delivery changes nothing
			if err := e.Signal(t.Context(), r.Head.Run, sig); err != nil {
				t.Fatal(err)
			}
		}
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		sameAsStored(t, j, r)
		if got := results(r); w.ran != 1 || got[0] != want || count(kinds(t, j, r.Head.Run), kernel.KindEffectResolved) != 1 {
			t.Errorf("found %s: ran %d times, %q, events %q", as, w.ran, got, kinds(t, j, r.Head.Run))
		}
		row := effects(t, j, journal.EffectQuery{})[0]
		if state := map[kernel.Finding]journal.EffectState{kernel.FoundLanded: journal.EffectLanded, kernel.FoundNoEffect: journal.EffectNone, kernel.FoundUnknown: journal.EffectUnknown}[as]; row.State != state || len(row.Resolutions) != 1 {
			t.Errorf("found %s: effect %+v", as, row)
		}
	}
}

// Of two findings that wait for a run, what was found last is what it is told.
func TestLastFindingCounts(t *testing.T) {
	w := waitsForAFinding(t)
	_ = w.engine.Close() // nobody drives the run while people look
	other := open(t, w.journal)
	for _, sig := range []engine.Signal{
		{Kind: engine.SignalResolve, Effect: w.effect, As: kernel.FoundUnknown, By: "op", Reason: "the bank is closed"},
		{Kind: engine.SignalResolve, Effect: w.effect, As: kernel.FoundLanded, By: "op", Reason: "asked the bank", Result: []byte("receipt 7")},
	} {
		if err := other.Signal(t.Context(), w.run.Head.Run, sig); err != nil {
			t.Fatal(err)
		}
	}
	work(t, open(t, w.journal, knows(w.agent)))
	r := get(t, other, w.run.Head.Run)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); w.ran != 1 || got[0] != "try1: receipt 7" || r.Head.Pending != 0 {
		t.Errorf("ran %d times, %q, %d signals wait", w.ran, got, r.Head.Pending)
	}
}

// What people write for a model is made fit for it, like any result.
func TestFoundTextIsClean(t *testing.T) {
	const odd = "\x1b[2Jreceipt\x00 7\xff"
	for as, want := range map[kernel.Finding]string{
		kernel.FoundLanded:   "try1: receipt 7\ufffd",
		kernel.FoundNoEffect: "try1: It was looked into, and had no effect: receipt 7\ufffd",
	} {
		w := waitsForAFinding(t)
		j, e, r := w.journal, w.engine, w.run
		sig := engine.Signal{Kind: engine.SignalResolve, Effect: w.effect, As: as, By: "op", Reason: odd}
		if as == kernel.FoundLanded {
			sig.Result = []byte(odd)
		}
		if err := e.Signal(t.Context(), r.Head.Run, sig); err != nil {
			t.Fatal(err)
		}
		r = stopOf(t, e, r.Head.Run)
		wantStop(t, r, kernel.StopAnswered, "")
		sameAsStored(t, j, r)
		if got := results(r); got[0] != want {
			t.Errorf("found %s: %q, want %q", as, got, want)
		}
	}
}

// A run that was only told of an unknown outcome goes on; what is found out
// later is recorded with the effect, and in the run if that goes on still.
func TestResolutionNobodyWaitsFor(t *testing.T) {
	j := memory.New()
	e := open(t, j, often)
	ran := 0
	reached, release := make(chan struct{}), make(chan struct{})
	m := insistent(t, `{"n":1}`)
	m.steps[1] = func(ctx context.Context, req *model.Request) (*model.Reply, error) {
		close(reached)
		<-release
		return says("done")(ctx, req)
	}
	id, err := e.Start(t.Context(), engine.Start{Agent: quick(m, tools(t, shaky(&ran, firstFails))), Question: "q"})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	unknown := effects(t, j, journal.EffectQuery{State: journal.EffectUnknown})[0].ID
	find := func(as kernel.Finding) error {
		return e.Signal(t.Context(), id, engine.Signal{Kind: engine.SignalResolve, Effect: unknown, As: as, By: "op", Reason: "looked"})
	}
	if err := find(kernel.FoundUnknown); err != nil {
		t.Fatal(err)
	}
	close(release)
	r := stopOf(t, e, id)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); !strings.Contains(got[0], "its outcome is unknown") || count(kinds(t, j, id), kernel.KindEffectResolved) != 1 {
		t.Errorf("%q, events %q", got, kinds(t, j, id))
	}
	if err := find(kernel.FoundLanded); err != nil { // after the stop
		t.Fatal(err)
	}
	if err := find(kernel.FoundNoEffect); kernel.CodeOf(err) != kernel.CodeConflict {
		t.Errorf("a finding about what is known: %v", err)
	}
	if row := effects(t, j, journal.EffectQuery{})[0]; row.State != journal.EffectLanded || len(row.Resolutions) != 2 {
		t.Errorf("effect %+v", row)
	}
	if n := len(kinds(t, j, id)); int64(n) != r.Head.LastSeq {
		t.Errorf("%d records, want %d: nothing follows a stop", n, r.Head.LastSeq)
	}
}

// Many calls of one reply may each be refused by the ledger; each is answered.
func TestManyRefusedClaims(t *testing.T) {
	var list []kernel.Call
	for i := range 32 {
		list = append(list, call(fmt.Sprint("c", i), "pay", `{"n":1}`))
	}
	ran := 0
	a := quick(&script{steps: []step{calls(list...), says("done")}}, tools(t, guarded{probe: shaky(&ran, firstFails), exclusive: true}))
	a.Limits.Calls = 32
	r := run(t, a)
	wantStop(t, r, kernel.StopAnswered, "")
	if got := results(r); ran != 1 || len(got) != 32 || !strings.HasPrefix(got[31], "c31: Not run: the same request may have taken effect") {
		t.Errorf("ran %d times, %q", ran, got)
	}
}
