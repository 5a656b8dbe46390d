package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// Case 42 and row 72 in the unit that holds here: the tokens of instructions,
// tools and messages, as they are estimated. What fits exactly is sent, and one
// token more is not; the history is as it was.
func TestWindowIsExact(t *testing.T) {
	for name, m := range models() {
		f, with := m()
		f.steps = []func(*model.Request) (*model.Reply, error){answers("done")}
		open := begin(t, agent(t, with, 10), "run_1", strings.Repeat("why ", 500), nil)
		open.run()
		tokens := one[kernel.ContextPrepared](t, open.events).InputTokens
		for over, want := range map[int64]kernel.Stop{0: kernel.StopAnswered, 1: kernel.StopContext} {
			f, with := m()
			f.steps = []func(*model.Request) (*model.Reply, error){answers("done")}
			a := agent(t, with, 10)
			a.Context.Reserve = 50
			a.Context.Window = tokens + 50 + 100 - over
			d := begin(t, a, "run_1", strings.Repeat("why ", 500), nil)
			out := d.run()
			if out.Stop != want || len(f.seen) != int(1-over) || len(d.x.History.Messages()) != int(2-over) {
				t.Errorf("%s, over by %d: %s (%s) after %d requests", name, over, out.Stop, out.Detail, len(f.seen))
			}
			for _, size := range []int64{tokens, tokens - over, a.Context.Window, 100, 50} {
				if over == 1 && !strings.Contains(out.Detail, fmt.Sprint(size)) {
					t.Errorf("%s: %q does not name %d", name, out.Detail, size)
				}
			}
		}
	}
}

func TestContextIsChecked(t *testing.T) {
	for name, c := range map[string]engine.Context{
		"a window that output and reserve fill": {Window: 150, Reserve: 50},
		"a negative window":                     {Window: -1},
		"a negative reserve":                    {Reserve: -1},
		"too large a summary":                   {SummaryTokens: 1_000_001},
		"notices":                               {Notices: engine.NoticeLimits{Max: 65}},
		"characters":                            {Notices: engine.NoticeLimits{Chars: 4097}},
	} {
		a := agent(t, &fake{}, 10)
		a.Context = c
		_, err := engine.NewExecution(engine.Env{Log: engine.QuietLog(nil)}, engine.Start{Agent: a, Run: "r", Question: "q"}, nil)
		if kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// long is a script of n turns with a call each, and an answer.
func long(n int) (steps []func(*model.Request) (*model.Reply, error)) {
	for i := range n {
		steps = append(steps, asks(fmt.Sprint("c", i)))
	}
	return append(steps, answers("done"))
}

// Rows 73, 74 and 102: a run that outgrows its window goes on: seen results lose
// their middle first, then older turns become a digest. Every request fits, the
// question stays, and what was not seen is whole.
func TestLongRunIsCompacted(t *testing.T) {
	for name, m := range models() {
		f, with := m()
		f.steps = long(40)
		a := agent(t, with, 4000)
		a.Context = engine.Context{Window: 8000, Reserve: 100}
		d := begin(t, a, "run_1", "why is the door blue", nil)
		out := d.run()
		if out.Stop != kernel.StopAnswered || out.Turns != 41 {
			t.Fatalf("%s: %+v", name, out)
		}
		spilled, digested := 0, 0
		for _, e := range d.events {
			p, ok := e.(kernel.ContextPrepared)
			if !ok {
				continue
			}
			if p.InputTokens > 8000-100-100 {
				t.Errorf("%s: a request of %d tokens", name, p.InputTokens)
			}
			if c := p.Compacted; c != nil {
				spilled += c.Spilled
				if c.Summary == kernel.SummaryDigest {
					digested++
				}
				if c.Archive != fmt.Sprint("run_1.", p.Cmd) {
					t.Errorf("%s: archive %s of command %d", name, c.Archive, p.Cmd)
				}
			}
		}
		if spilled == 0 || digested == 0 {
			t.Errorf("%s: %d results shortened, %d digests", name, spilled, digested)
		}
		for i := range f.seen {
			all := texts(&f.seen[i])
			if n := slices.Index(all, "user|why is the door blue"); n < 0 || n > 1 {
				t.Fatalf("%s: request %d has its question at %d: %.300q", name, i+1, n, all)
			}
			if i > 0 && !strings.Contains(all[len(all)-1], strings.Repeat("x", 4000)) {
				t.Fatalf("%s: request %d: what was not seen is not whole", name, i+1)
			}
		}
		replayed(t, d, a)
	}
}

// Nothing is encoded twice: after a compaction, the summary and the shortened
// results are.
func TestNothingIsEncodedTwice(t *testing.T) {
	f := &fake{steps: long(40), encoded: map[string]int{}}
	a := agent(t, encoder{f}, 4000)
	a.Attach = []prompt.Attacher{remembers("fine")}
	a.Context = engine.Context{Window: 8000, Reserve: 100}
	d := begin(t, a, "run_1", "why", nil)
	if out := d.run(); out.Stop != kernel.StopAnswered {
		t.Fatalf("%+v", out)
	}
	for text, n := range f.encoded {
		if n > 1 {
			t.Errorf("encoded %d times: %.200s", n, text)
		}
	}
}

// The model writes the summary, in a request of its own: with its own output
// limit, without tools, the record as data.
func TestModelSummarizes(t *testing.T) {
	f := &fake{}
	summaries := 0
	reply := long(12)
	next := 0
	step := func(req *model.Request) (*model.Reply, error) {
		if len(req.Tools) > 0 {
			next++
			return reply[next-1](req)
		}
		summaries++
		all := texts(req)
		if req.MaxTokens != 333 || len(all) != 1 || !strings.HasPrefix(all[0], "user|<record>\n") || strings.Contains(req.System, "Be brief") {
			t.Errorf("a summary is asked for with %d tokens, %q, %.200q", req.MaxTokens, req.System, all)
		}
		return answers(fmt.Sprintf("summary %d: the door is blue", summaries))(req)
	}
	for range 30 {
		f.steps = append(f.steps, step)
	}
	a := agent(t, f, 1500)
	a.Context = engine.Context{Window: 3000, Reserve: 100, Summarize: true, SummaryTokens: 333}
	d := begin(t, a, "run_1", "why", nil)
	out := d.run()
	if out.Stop != kernel.StopAnswered || summaries == 0 || out.Requests != 13+summaries || out.Turns != 13 {
		t.Fatalf("%d summaries: %+v", summaries, out)
	}
	if !strings.Contains(prompt.Text(&d.x.History.Messages()[0]), fmt.Sprintf("summary %d: the door is blue", summaries)) {
		t.Errorf("the history begins with %q", prompt.Text(&d.x.History.Messages()[0]))
	}
	whole := engine.NewReplay("run_1", nil)
	if err := whole.Fold(d.records); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.x.History.Messages(), whole.History.Messages()); diff != "" {
		t.Error(diff)
	}
}

// A summary that fails, is empty, cut short or no smaller changes nothing. Two
// are tried; then the run stops with its sizes.
func TestModelSummaryFails(t *testing.T) {
	cut := func(*model.Request) (*model.Reply, error) {
		r, _ := answers("They spoke of the do")(nil)
		r.Stop = kernel.StopLength
		return r, nil
	}
	for name, bad := range map[string]func(*model.Request) (*model.Reply, error){
		"failed":     fails(model.Error{Kind: kernel.FailStatus, Status: 500}),
		"empty":      answers("  "),
		"cut":        cut,
		"calls":      asks("c9"),
		"no smaller": answers(strings.Repeat("long ", 4000)),
	} {
		for _, second := range []bool{false, true} {
			f := &fake{steps: []func(*model.Request) (*model.Reply, error){asks("c1"), asks("c2"), asks("c3"), bad, bad}}
			if second {
				f.steps = []func(*model.Request) (*model.Reply, error){asks("c1"), asks("c2"), asks("c3"), bad, answers("They looked."), answers("done")}
			}
			a := agent(t, f, 1800)
			a.Context = engine.Context{Window: 1250, Reserve: 10, Summarize: true}
			d := begin(t, a, "run_1", "why", nil)
			out := d.run()
			if second {
				if out.Stop != kernel.StopAnswered {
					t.Errorf("%s, then well: %s (%s)", name, out.Stop, out.Detail)
				}
				continue
			}
			if out.Stop != kernel.StopContext || len(f.seen) != 5 || !strings.Contains(out.Detail, "1140") {
				t.Errorf("%s: %s (%s) after %d requests", name, out.Stop, out.Detail, len(f.seen))
			}
			if n := len(d.x.History.Messages()); n != 7 {
				t.Errorf("%s: %d messages", name, n)
			}
		}
	}
}

// A provider's "context too long" makes the history smaller, once a turn: also
// where no window is known. Other refusals do not.
func TestProviderSaysTooLong(t *testing.T) {
	tooLong := fails(model.Error{Kind: kernel.FailContext, Status: 400})
	f := &fake{steps: append(long(3)[:3], tooLong, answers("done"))}
	a := agent(t, f, 3000)
	d := begin(t, a, "run_1", "why", nil)
	out := d.run()
	if out.Stop != kernel.StopAnswered || out.Turns != 4 || len(f.seen) != 5 {
		t.Fatalf("%s (%s) after %d requests", out.Stop, out.Detail, len(f.seen))
	}
	if n, m := size(&f.seen[3]), size(&f.seen[4]); m > n*3/4+200 {
		t.Errorf("from %d to %d bytes", n, m)
	}

	f = &fake{steps: append(append(long(3)[:3], tooLong), tooLong, answers("never"))}
	d = begin(t, agent(t, f, 3000), "run_1", "why", nil)
	if out := d.run(); out.Stop != kernel.StopContext || len(f.seen) != 5 {
		t.Errorf("refused twice: %s (%s) after %d requests", out.Stop, out.Detail, len(f.seen))
	}

	f = &fake{steps: []func(*model.Request) (*model.Reply, error){tooLong, answers("never")}}
	d = begin(t, agent(t, f, 3000), "run_1", "why", nil)
	if out := d.run(); out.Stop != kernel.StopContext || len(f.seen) != 1 || !strings.Contains(out.Detail, "the provider refused it") {
		t.Errorf("nothing to make smaller: %s (%s) after %d requests", out.Stop, out.Detail, len(f.seen))
	}

	f = &fake{steps: append(long(3)[:3], fails(model.Error{Kind: kernel.FailStatus, Status: 400}), answers("never"))}
	d = begin(t, agent(t, f, 3000), "run_1", "why", nil)
	if out := d.run(); out.Stop != kernel.StopModelError || len(f.seen) != 4 {
		t.Errorf("another 400: %s (%s) after %d requests", out.Stop, out.Detail, len(f.seen))
	}
}

func size(r *model.Request) (n int) {
	for _, s := range texts(r) {
		n += len(s)
	}
	return n
}

// The estimate follows what providers report, within bounds: both ways for the
// window, and only upwards for what is reserved.
func TestEstimateIsCorrected(t *testing.T) {
	reports := func(input int64, step func(*model.Request) (*model.Reply, error)) func(*model.Request) (*model.Reply, error) {
		return func(req *model.Request) (*model.Reply, error) {
			r, err := step(req)
			r.Usage = &kernel.Usage{Input: input, Output: 1}
			return r, err
		}
	}
	raw := func(reported int64) (first, second int64) {
		f := &fake{steps: []func(*model.Request) (*model.Reply, error){reports(reported, asks("c1")), answers("done")}}
		d := begin(t, agent(t, f, 2000), "run_1", "why", nil)
		d.run()
		for _, e := range d.events {
			if p, ok := e.(kernel.ContextPrepared); ok {
				first, second = second, p.InputTokens
			}
		}
		return first, second
	}
	first, plain := raw(0)
	for reported, want := range map[int64]int64{first: plain, 2 * first: 2 * plain, 100 * first: 4 * plain, first / 4: plain} {
		if _, got := raw(reported); got < want || got > want+5 {
			t.Errorf("%d reported for %d: %d, want %d", reported, first, got, want)
		}
	}
	// What a provider counts as less leaves room for more.
	for reported, want := range map[int64]kernel.Stop{first / 2: kernel.StopAnswered, first: kernel.StopContext} {
		f := &fake{steps: []func(*model.Request) (*model.Reply, error){reports(reported, asks("c1")), answers("done")}}
		a := agent(t, f, 2000)
		a.Context.Window = 100 + plain*3/4
		if out := begin(t, a, "run_1", "why", nil).run(); out.Stop != want {
			t.Errorf("%d reported for %d: %s (%s)", reported, first, out.Stop, out.Detail)
		}
	}
}

// Going back to a mark takes a compaction back.
func TestMarkBeforeACompaction(t *testing.T) {
	f := &fake{steps: long(6), encoded: map[string]int{}}
	a := agent(t, encoder{f}, 4000)
	a.Context = engine.Context{Window: 4000, Reserve: 100}
	d := begin(t, a, "run_1", "why", nil)
	compactions := 0
	d.before = func(c kernel.PrepareContext) {
		mark, before := d.x.Mark(), d.x.History.Messages()
		e, content := d.x.Task(c).Do(context.Background(), nil)
		p := e.(kernel.ContextPrepared)
		if p.Compacted != nil {
			compactions++
		}
		if _, err := d.x.Apply(e, content); err != nil {
			t.Fatal(err)
		}
		after := d.x.History.Messages()
		d.x.Reset(&mark)
		if !cmp.Equal(d.x.History.Messages(), before) {
			t.Fatal("the history is not what it was")
		}
		if _, err := d.x.Apply(e, content); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(d.x.History.Messages(), after) {
			t.Fatal("the same comes to something else")
		}
		d.x.Reset(&mark)
	}
	if out := d.run(); out.Stop != kernel.StopAnswered || compactions == 0 {
		t.Fatalf("%d compactions: %+v", compactions, out)
	}
	d.before = nil
	replayed(t, d, a)
}

// A session's next run starts from the compacted history, and may compact it
// further; each archive gives back what it took.
func TestSessionGoesOnCompacted(t *testing.T) {
	j := memory.New()
	var before []kernel.Message
	for n := 1; n <= 4; n++ {
		run := fmt.Sprint("run_", n)
		f := &fake{steps: long(4), encoded: map[string]int{}}
		a := agent(t, encoder{f}, 3000)
		a.Context = engine.Context{Window: 5000, Reserve: 100}
		if n == 1 {
			a.Context.Window = 1700 // less than its own turns
		} else {
			head := journal.Head{Run: run, Session: "s"}
			prior, err := engine.SessionBefore(context.Background(), j, &head)
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(prior, before) {
				t.Fatalf("run %d begins with another history: %s", n, cmp.Diff(before, prior))
			}
		}
		d := begin(t, a, run, "question "+fmt.Sprint(n), before)
		if out := d.run(); out.Stop != kernel.StopAnswered {
			t.Fatalf("%s: %+v", run, out)
		}
		store(t, j, d, n)
		for i := range f.seen {
			unique(t, &f.seen[i])
			if n := count(texts(&f.seen[i]), fmt.Sprint("user|question ", n)); n != 1 {
				t.Errorf("%s: request %d holds the question %d times", run, i+1, n)
			}
		}
		alone, err := engine.Load(context.Background(), j, run)
		if err != nil {
			t.Fatal(err)
		}
		whole := d.x.Snapshot(journal.Head{}).History
		if _, is := prompt.IsSummary(&whole[0]); n == 1 && !is {
			t.Errorf("%s does not show the summary of its turns", run)
		}
		if !cmp.Equal(alone.History, whole) {
			t.Errorf("%s alone reads as another: %s", run, cmp.Diff(whole, alone.History))
		}
		before = d.x.Left()
		archives(t, j, d)
	}
	if _, is := prompt.IsSummary(&before[0]); !is || count([]string{prompt.Text(&before[0])}, "question 1") == 0 {
		t.Errorf("the session begins with %q", prompt.Text(&before[0]))
	}
}

// unique: no call id comes twice in a request.
func unique(t *testing.T, r *model.Request) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Call != nil && seen[b.Call.ID] {
				t.Errorf("call %s comes twice", b.Call.ID)
			}
			if b.Call != nil {
				seen[b.Call.ID] = true
			}
		}
	}
}

// store journals a run that was driven.
func store(t *testing.T, j journal.Journal, d *drive, n int) {
	t.Helper()
	at := time.Unix(int64(1000+n), 0).UTC()
	head := journal.Head{Run: d.x.Run, Session: "s", StartedAt: at}
	head.Reach(&d.x.State, at)
	lease := journal.Lease{Owner: "test", Token: 1, Until: at.Add(time.Hour)}
	if err := j.Append(context.Background(), journal.Entry{Head: head, Records: d.records, Lease: &lease, Now: at, Release: true, Heard: true, Place: n}); err != nil {
		t.Fatal(err)
	}
}

// archives reads back what was removed.
func archives(t *testing.T, j journal.Journal, d *drive) {
	t.Helper()
	for i, e := range d.events {
		p, ok := e.(kernel.ContextPrepared)
		if !ok || p.Compacted == nil {
			continue
		}
		a, err := engine.ReadArchive(context.Background(), j, p.Compacted.Archive)
		if err != nil {
			t.Fatal(err)
		}
		c, err := engine.DecodeContent(e.Kind(), d.records[i].Content)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Removed) != c.Prepared.Compaction.Removed || len(a.Results) != p.Compacted.Spilled {
			t.Errorf("archive %s: %d messages and %d results", a.ID, len(a.Removed), len(a.Results))
		}
		for _, m := range a.Results {
			if !strings.Contains(m.Blocks[0].Text, strings.Repeat("x", 3000)) {
				t.Errorf("archive %s: a result is not whole", a.ID)
			}
		}
	}
	for _, id := range []string{"run_1.99", "run_9.1", "run_1", "", "run_1.x"} {
		if _, err := engine.ReadArchive(context.Background(), j, id); kernel.CodeOf(err) != kernel.CodeNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A run that is taken over while the model summarizes goes on with the same
// summary, or asks for the same one.
func TestTakeOverWhileSummarizing(t *testing.T) {
	f := &fake{steps: []func(*model.Request) (*model.Reply, error){asks("c1"), asks("c2"), asks("c3"), answers("They looked."), answers("done")}}
	a := agent(t, f, 1800)
	a.Context = engine.Context{Window: 1250, Reserve: 10, Summarize: true}
	d := begin(t, a, "run_1", "why", nil)
	if out := d.run(); out.Stop != kernel.StopAnswered {
		t.Fatalf("%s (%s)", out.Stop, out.Detail)
	}
	asked, sent := f.seen[3], f.seen[4]
	for n, e := range d.events {
		_, over := e.(kernel.ContextOver)
		_, summarized := e.(kernel.Summarized)
		if !over && !summarized {
			continue
		}
		again := begin(t, a, "run_1", "why", nil)
		if err := again.x.Fold(d.records[:n+1]); err != nil {
			t.Fatal(err)
		}
		s := &again.x.State
		f.seen, f.steps = nil, []func(*model.Request) (*model.Reply, error){fails(model.Error{Kind: kernel.FailRequest})}
		if over {
			again.x.Task(kernel.Summarize{Cmd: s.Awaiting, Turn: 4, MaxTokens: engine.DefaultSummaryTokens}).Do(context.Background(), nil)
			if diff := cmp.Diff(texts(&asked), texts(&f.seen[0])); diff != "" || f.seen[0].System != asked.System {
				t.Error(diff)
			}
			continue
		}
		queue := again.do(kernel.PrepareContext{Cmd: s.Awaiting, Turn: 4, Tries: s.Tries})
		again.x.Task(queue[0]).Do(context.Background(), nil)
		if diff := cmp.Diff(texts(&sent), texts(&f.seen[0])); diff != "" {
			t.Error(diff)
		}
	}
}
