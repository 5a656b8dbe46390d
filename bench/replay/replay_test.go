// Package replay measures the kernel alone, through its exported API.
package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/kernel"
)

const (
	turns   = 1000
	perTurn = 5
	start   = kernel.Time(1_760_000_000_000_000_000)
)

// record is a run of n turns with one call each: its events, and the state
// before each turn.
func record(n int) (events []kernel.Event, states []kernel.State, err error) {
	spec := kernel.Spec{MaxTokens: 4096, Limits: kernel.DefaultLimits(), Retry: kernel.DefaultRetry()}
	spec.Limits.Turns, spec.Limits.Calls, spec.Retry.PerRun, spec.Limits.Deadline = n+1, n, n+1, time.Hour
	var s kernel.State
	feed := func(e kernel.Event) {
		if err != nil {
			return
		}
		events = append(events, e)
		s, _, err = kernel.Step(s, e)
	}
	feed(kernel.RunStarted{At: start, Spec: spec})
	for turn := 1; turn <= n; turn++ {
		states = append(states, s)
		for _, e := range events5(turn, s.LastCmd) {
			feed(e)
		}
	}
	if err == nil && (s.Turn != n || s.Calls != n || s.Phase != kernel.PhasePreparing) {
		err = fmt.Errorf("after %d turns the run is at turn %d with %d calls, %s", n, s.Turn, s.Calls, s.Phase)
	}
	return events, states, err
}

// events5 are the events of a turn. cmd is the number of its preparation.
func events5(turn int, cmd kernel.Seq) [perTurn]kernel.Event {
	at := start.Add(time.Duration(turn) * time.Millisecond)
	id := fmt.Sprintf("call_%06d", turn)
	call := kernel.Call{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/file_%d.go","from":1,"to":200}`, turn)}
	return [perTurn]kernel.Event{
		kernel.ContextPrepared{At: at, Cmd: cmd, InputTokens: int64(1000 + turn), Messages: 2 * turn},
		kernel.ModelReplied{At: at, Cmd: cmd + 1, Turn: turn, Reply: kernel.ReplyFacts{
			Stop: kernel.StopCalls, Blocks: []kernel.BlockFact{{Kind: kernel.BlockCall, Size: len(call.Arguments)}},
			Calls: []kernel.Call{call}, Usage: &kernel.Usage{Input: int64(1000 + turn), Output: 50}, Size: 600,
		}},
		kernel.CallDecided{At: at, Cmd: cmd + 2, Call: id, Answer: kernel.Allow, Rule: "rule 1", Effect: kernel.Read, Attempts: 1},
		kernel.CallStarted{At: at, Cmd: cmd + 3, Call: id},
		kernel.CallReturned{At: at, Cmd: cmd + 3, Call: id, Result: kernel.ResultFacts{
			Status: kernel.StatusOK, Disposition: kernel.Landed, Digest: "digest of " + id, Size: 2000,
		}},
	}
}

func replay(s kernel.State, events []kernel.Event) (kernel.State, error) {
	for i, e := range events {
		var err error
		if s, _, err = kernel.Step(s, e); err != nil {
			return s, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return s, nil
}

// A replay reaches the state of the run, and its last turn stands alone.
func TestReplay(t *testing.T) {
	events, states, err := record(20)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := replay(kernel.State{}, events)
	if err != nil {
		t.Fatal(err)
	}
	last, err := replay(states[19], events[1+19*perTurn:])
	if err != nil {
		t.Fatal(err)
	}
	if a, b := encode(t, whole), encode(t, last); a != b {
		t.Errorf("two ways to the same state differ:\n%s\n%s", a, b)
	}
}

func encode(t *testing.T, s kernel.State) string {
	t.Helper()
	b, err := kernel.EncodeState(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// BenchmarkReplay replays a run of 1,000 turns on one goroutine, in CPU time of
// the process: the garbage collector's share counts. One iteration is 20
// replays.
func BenchmarkReplay(b *testing.B) {
	events, _, err := record(turns)
	if err != nil {
		b.Fatal(err)
	}
	const replays = 20
	var rates, walls, allocs []float64
	for b.Loop() {
		spent, err := measure.Take(func() error { return repeat(replays, kernel.State{}, events) })
		if err != nil {
			b.Fatal(err)
		}
		n := float64(replays * len(events))
		rates = append(rates, n/spent.CPU.Seconds())
		walls = append(walls, n/spent.Wall.Seconds())
		allocs = append(allocs, spent.Bytes/n)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(rates), "events/cpu-s")
	b.ReportMetric(measure.Median(walls), "events/s")
	b.ReportMetric(measure.Median(allocs), "B/event")
}

// BenchmarkGrowth compares the events of turns 10 to 59 with those of turns 951
// to 1,000 of the same run, in alternation. late/early is 1 when the cost of an
// event does not grow with the history. One iteration is 100 replays of each.
func BenchmarkGrowth(b *testing.B) {
	events, states, err := record(turns)
	if err != nil {
		b.Fatal(err)
	}
	const window, replays = 50, 100
	part := func(turn int) (float64, error) {
		from := 1 + (turn-1)*perTurn
		spent, err := measure.Take(func() error {
			return repeat(replays, states[turn-1], events[from:from+window*perTurn])
		})
		return float64(spent.CPU.Nanoseconds()) / (replays * window * perTurn), err
	}
	var early, late, ratios []float64
	for b.Loop() {
		e, err := part(10)
		if err != nil {
			b.Fatal(err)
		}
		l, err := part(turns - window + 1)
		if err != nil {
			b.Fatal(err)
		}
		early, late, ratios = append(early, e), append(late, l), append(ratios, l/e)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(early), "cpu-ns/early-event")
	b.ReportMetric(measure.Median(late), "cpu-ns/late-event")
	b.ReportMetric(measure.Median(ratios), "late/early")
}

func repeat(n int, s kernel.State, events []kernel.Event) error {
	for range n {
		if _, err := replay(s, events); err != nil {
			return err
		}
	}
	return nil
}
