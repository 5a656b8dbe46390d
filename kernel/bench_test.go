package kernel

import (
	"fmt"
	"testing"
	"time"
)

const benchTurns = 1000

// benchRun is a run of benchTurns turns with one call each, and the states
// between its turns.
func benchRun(b *testing.B) (events []Event, states []State) {
	b.Helper()
	spec := Spec{MaxTokens: 4096, Limits: DefaultLimits(), Retry: DefaultRetry()}
	spec.Limits.Turns, spec.Limits.Calls, spec.Retry.PerRun = benchTurns+1, benchTurns, benchTurns+1
	var s State
	feed := func(e Event) {
		s, _ = mustStep(b, s, e)
		events = append(events, e)
	}
	feed(RunStarted{At: scenarioStart, Spec: spec})
	states = append(states, s)
	for turn := 1; turn <= benchTurns; turn++ {
		for _, e := range benchTurn(turn, s.LastCmd) {
			feed(e)
		}
		states = append(states, s)
	}
	return events, states
}

// benchTurn are the events of one turn: prepared, replied, decided, started,
// returned. cmd is the number of its preparation.
func benchTurn(turn int, cmd Seq) []Event {
	at := scenarioStart.Add(time.Duration(turn) * time.Millisecond)
	id := fmt.Sprintf("call_%d", turn)
	call := Call{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/file_%d.go","from":1,"to":200}`, turn)}
	return []Event{
		ContextPrepared{At: at, Cmd: cmd, InputTokens: int64(1000 + turn), Messages: 2 * turn},
		ModelReplied{At: at, Cmd: cmd + 1, Turn: turn, Reply: ReplyFacts{
			Stop: StopCalls, Blocks: []BlockFact{{Kind: BlockText, Size: 40}, {Kind: BlockCall, Size: 60}}, Calls: []Call{call},
			Usage: &Usage{Input: int64(1000 + turn), Output: 50}, Size: 600,
		}},
		CallDecided{At: at, Cmd: cmd + 2, Call: id, Answer: Allow, Rule: "read_file", Effect: Read, Attempts: 1},
		CallStarted{At: at, Cmd: cmd + 3, Call: id},
		CallReturned{At: at, Cmd: cmd + 3, Call: id, Result: ResultFacts{Status: StatusOK, Disposition: Landed, Digest: "digest of " + id, Size: 2000}},
	}
}

// BenchmarkReplay replays a run of 1,000 turns. best-events/s is the quickest
// round: what a core can do when nothing else wants it.
func BenchmarkReplay(b *testing.B) {
	events, _ := benchRun(b)
	best := time.Hour
	b.ReportAllocs()
	for b.Loop() {
		var s State
		begin := time.Now()
		for _, e := range events {
			s, _ = mustStep(b, s, e)
		}
		best = min(best, time.Since(begin))
	}
	b.ReportMetric(float64(len(events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(len(events))/best.Seconds(), "best-events/s")
}

// BenchmarkGrowth compares the cost of an event early and late in a run: 50
// turns from turn 10, and the last 50 of 1,000, in alternation, the quickest
// round of each. late/early near 1 means that the cost does not grow with the
// history.
func BenchmarkGrowth(b *testing.B) {
	events, states := benchRun(b)
	const window, perTurn = 50, 5
	replay := func(turn int) time.Duration {
		s, from := states[turn], 1+turn*perTurn
		begin := time.Now()
		for _, e := range events[from : from+window*perTurn] {
			s, _ = mustStep(b, s, e)
		}
		return time.Since(begin)
	}
	early, late := time.Hour, time.Hour
	for b.Loop() {
		early = min(early, replay(10))
		late = min(late, replay(benchTurns-window))
	}
	const n = window * perTurn
	b.ReportMetric(float64(early.Nanoseconds())/n, "ns/early-event")
	b.ReportMetric(float64(late.Nanoseconds())/n, "ns/late-event")
	b.ReportMetric(float64(late)/float64(early), "late/early")
}

// BenchmarkShortRun takes the eight events of a run of two turns with one call:
// the whole of what the kernel does for it.
func BenchmarkShortRun(b *testing.B) {
	events := []Event{RunStarted{At: scenarioStart, Spec: Spec{MaxTokens: 4096, Limits: DefaultLimits(), Retry: DefaultRetry()}}}
	events = append(events, benchTurn(1, 2)...)
	at := events[len(events)-1].When()
	events = append(events, ContextPrepared{At: at, Cmd: 6, InputTokens: 1200, Messages: 3}, ModelReplied{At: at, Cmd: 7, Turn: 2, Reply: ReplyFacts{
		Stop: StopEnd, Blocks: []BlockFact{{Kind: BlockText, Size: 40}}, Usage: &Usage{Input: 1200, Output: 50}, Size: 600,
	}})
	b.Run("step", func(b *testing.B) {
		b.ReportAllocs()
		var room []Command
		for b.Loop() {
			var s State
			var err error
			for _, e := range events {
				if room, err = Advance(&s, room[:0], e); err != nil {
					b.Fatal(err)
				}
			}
			if s.Outcome == nil {
				b.Fatal("the run goes on")
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		var text []byte
		for b.Loop() {
			text = text[:0]
			for _, e := range events {
				text, _ = AppendEvent(text, e)
			}
		}
	})
}

// BenchmarkState encodes and decodes the state of a run of 1,000 turns, as a
// distributed engine does between two steps.
func BenchmarkState(b *testing.B) {
	_, states := benchRun(b)
	text := encoded(b, states[benchTurns])
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			encoded(b, states[benchTurns])
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeState(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
