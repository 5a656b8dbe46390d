package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// The long scenario: a call in each of twelve turns, one of which needs a yes. Its
// window holds a few of them, and the model itself summarizes the rest.
const (
	longTurns  = 12
	chargeTurn = 7
	summed     = "summed" // counts the requests for a summary, outside
)

func (p part) long(tools *tool.Set, rules policy.Policy, limits kernel.Limits) *engine.Agent {
	limits.Turns, limits.Calls, limits.Repeat = 2*longTurns, 2*longTurns, 0
	return &engine.Agent{
		Model: summarizer{p}, Tools: tools, Policy: rules, Limits: limits,
		Context: engine.Context{Window: 1250, Reserve: 10, Summarize: true, SummaryTokens: 200},
	}
}

// summarizer answers by the last call that it is shown, which no compaction
// takes away, and writes summaries.
type summarizer struct{ part part }

func (summarizer) Info() model.Info { return planned{}.Info() }

func (s summarizer) Call(_ context.Context, req *model.Request, _ func(model.Delta)) (*model.Reply, error) {
	if len(req.Tools) == 0 {
		return s.summary(req)
	}
	if _, err := accept(req.Messages); err != nil {
		return nil, &model.Error{Kind: kernel.FailRequest, Message: err.Error()}
	}
	n := 0
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			if b.Call != nil {
				n, _ = strconv.Atoi(strings.TrimLeft(b.Call.ID, "abcdefghijklmnopqrstuvwxyz"))
			}
		}
	}
	switch n++; {
	case n > longTurns:
		return answered("done"), nil
	case n == chargeTurn:
		return asksFor(kernel.Call{ID: charge + strconv.Itoa(n), Name: charge, Arguments: `{}`}), nil
	}
	return asksFor(kernel.Call{ID: look + strconv.Itoa(n), Name: look, Arguments: `{}`}), nil
}

func (s summarizer) summary(req *model.Request) (*model.Reply, error) {
	dies := s.part.Sum == req.Turn
	if dies && !s.part.After {
		die()
	}
	if err := happen(s.part.Dir, summed, strconv.Itoa(req.Turn)); err != nil {
		return nil, err
	}
	if dies {
		die()
	}
	return answered("They looked."), nil
}

func answered(text string) *model.Reply {
	return &model.Reply{
		Stop: kernel.StopEnd, Usage: &kernel.Usage{Input: 10, Output: 5},
		Message: kernel.Message{Role: kernel.RoleAssistant, Blocks: []kernel.Block{{Kind: kernel.BlockText, Text: text}}},
	}
}

// killedInACompaction kills the process around everything that makes a history
// smaller: the order for a summary, the request for it, and the event that
// compacts. What was removed is kept, a question that waits for a person still
// does, and no summary but the one in doubt is paid for twice.
func killedInACompaction(t *testing.T, s Subject) {
	dir := t.TempDir()
	if _, died := play(t, part{Dir: dir, Long: true}); died {
		t.Fatal("undisturbed: killed")
	}
	base := readLong(t, dir)
	base.wantLong(t)
	if len(base.summaries) < 2 {
		t.Fatalf("undisturbed: summaries of the turns %q", base.summaries)
	}
	var kills []Kill
	for i, turn := range base.summaries {
		for _, kind := range []kernel.EventKind{kernel.KindContextOver, kernel.KindSummarized} {
			kills = append(kills, Kill{Event: string(kind), Nth: i + 1}, Kill{Event: string(kind), Nth: i + 1, After: true})
		}
		n, _ := strconv.Atoi(turn)
		kills = append(kills, Kill{Sum: n}, Kill{Sum: n, After: true})
	}
	kills = append(kills, Kill{Call: charge})
	for _, k := range kills {
		t.Run(fmt.Sprintf("%+v", k), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if _, died := play(t, part{Dir: dir, Long: true, Kill: k}); !died {
				t.Fatal("nobody was killed")
			}
			if _, err := (part{Dir: dir, Long: true, Work: true}).play(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got := readLong(t, dir)
			got.wantLong(t)
			want := len(base.summaries)
			if k.Sum > 0 && k.After || k.Event == string(kernel.KindSummarized) && !k.After {
				want++ // nobody knows what became of the first
			}
			if len(got.summaries) != want {
				t.Errorf("%d summaries, want %d: %q", len(got.summaries), want, got.summaries)
			}
			if k.Call == "" && len(got.outside[charge]) != 1 {
				t.Errorf("charged %d times", len(got.outside[charge]))
			}
		})
	}
}

// long is the end of a run of the long scenario.
type long struct {
	*end
	summaries []string // the turns for which one was asked for
	kept      []string // the calls that are in the history, or in an archive
	archives  int
}

func readLong(t *testing.T, dir string) *long {
	t.Helper()
	l := &long{end: read(t, dir), summaries: happened(dir, summed)}
	j := open(t, dir)
	defer func() { _ = j.Close() }()
	l.keep(l.run.History)
	records, err := j.Read(t.Context(), run, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		e, err := kernel.DecodeEvent(records[i].Payload)
		p, ok := e.(kernel.ContextPrepared)
		if err != nil || !ok || p.Compacted == nil {
			continue
		}
		a, err := engine.ReadArchive(t.Context(), j, p.Compacted.Archive)
		if err != nil {
			t.Fatal(err)
		}
		l.archives++
		l.keep(a.Removed)
	}
	slices.Sort(l.kept)
	return l
}

func (l *long) keep(messages []kernel.Message) {
	for i := range messages {
		for _, b := range messages[i].Blocks {
			if b.Kind == kernel.BlockCall {
				l.kept = append(l.kept, b.Call.ID)
			}
		}
	}
}

// wantLong holds for a run of the long scenario that came to its stop.
func (l *long) wantLong(t *testing.T) {
	t.Helper()
	if out := l.run.Outcome; out == nil || out.Stop != kernel.StopAnswered || l.flaw != nil {
		t.Fatalf("%+v, %v", out, l.flaw)
	}
	var want []string
	for n := 1; n <= longTurns; n++ {
		want = append(want, map[bool]string{true: charge, false: look}[n == chargeTurn]+strconv.Itoa(n))
	}
	slices.Sort(want)
	if !slices.Equal(l.kept, want) || l.archives == 0 {
		t.Errorf("history and %d archives hold the calls %q, want %q", l.archives, l.kept, want)
	}
	if len(l.approvals) != 1 || l.approvals[0].State != journal.ApprovalSpent {
		t.Errorf("approvals %+v", l.approvals)
	}
	l.wantLedger(t)
}
