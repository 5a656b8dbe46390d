package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"testing"

	"github.com/holdfast-run/holdfast/bench/loop"
	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/bench/scripted"
)

// sampleTurns is how many turns a sample has at least: enough that a sample
// takes tens of milliseconds, far more than the clock's grain.
const sampleTurns = 400

// BenchmarkLoop compares the contestants. One iteration is one round: a sample
// of each, in an order that is shuffled. Use -benchtime=Nx with N of 10 or more.
func BenchmarkLoop(b *testing.B) {
	s := serve(b)
	for _, stream := range []bool{false, true} {
		for _, turns := range []int{2, 50, 200} {
			name := fmt.Sprintf("plain/turns=%d", turns)
			if stream {
				name = fmt.Sprintf("stream/turns=%d", turns)
			}
			b.Run(name, func(b *testing.B) { compare(b, s, turns, stream) })
		}
	}
}

// entrant is a contestant on the course, and its samples so far.
type entrant struct {
	name    string
	runner  loop.Runner
	samples []measure.Sample // of one turn
	seen    scripted.Stats
}

func compare(b *testing.B, s *scripted.Server, turns int, stream bool) {
	var field []*entrant
	for _, c := range contestants() {
		if stream && c.NoStream {
			continue
		}
		prove(b, s, c, min(turns, 20), stream)
		r, err := c.New(loop.Config{BaseURL: s.Count(turns), Turns: turns, Stream: stream})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(r.Close)
		field = append(field, &entrant{name: c.Name, runner: r})
	}
	for _, e := range field { // warm up: connections, caches, pools
		if err := e.sample(b, s, turns); err != nil {
			b.Fatal(err)
		}
		e.samples = nil
	}
	shuffle := rand.New(rand.NewPCG(1, 2)) // who runs after whom must not matter
	for b.Loop() {
		for _, i := range shuffle.Perm(len(field)) {
			if err := field[i].sample(b, s, turns); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b, field)
}

func (e *entrant) sample(b *testing.B, s *scripted.Server, turns int) error {
	runs := max(1, sampleTurns/turns)
	if _, err := s.Stats(); err != nil {
		return err
	}
	spent, err := measure.Take(func() (err error) {
		// The label tells the contestants apart in a CPU profile.
		pprof.Do(b.Context(), pprof.Labels("contestant", e.name), func(ctx context.Context) { err = e.runs(ctx, runs, turns) })
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	if e.seen, err = s.Stats(); err != nil {
		return err
	}
	if want := int64(runs * turns); e.seen.Requests != want {
		return fmt.Errorf("%s: the server saw %d requests, want %d", e.name, e.seen.Requests, want)
	}
	e.samples = append(e.samples, spent.Per(runs*turns))
	return nil
}

func (e *entrant) runs(ctx context.Context, n, turns int) error {
	for range n {
		got, err := e.runner.Run(ctx)
		if err != nil {
			return err
		}
		if err := got.Check(turns); err != nil {
			return err
		}
	}
	return nil
}

// report gives the medians, and the medians of the ratios within a round.
func report(b *testing.B, field []*entrant) {
	b.ReportMetric(0, "ns/op")
	var own *entrant
	for _, e := range field {
		if e.name == loop.Holdfast().Name {
			own = e
		}
		b.ReportMetric(e.median(func(m measure.Sample) float64 { return float64(m.CPU.Nanoseconds()) / 1000 }), e.name+"-cpu-µs/turn")
		b.ReportMetric(e.median(func(m measure.Sample) float64 { return m.Allocs }), e.name+"-allocs/turn")
		b.ReportMetric(e.median(func(m measure.Sample) float64 { return m.Bytes }), e.name+"-B/turn")
	}
	if own == nil {
		return // picked out of the field
	}
	for _, e := range field {
		// All must have sent about the same: the bodies differ in the
		// instructions and in escapes only.
		if r := float64(e.seen.Bytes) / float64(own.seen.Bytes); r < 0.7 || r > 1.4 {
			b.Errorf("%s sent %.2f times the bytes of %s", e.name, r, own.name)
		}
		if e == own {
			continue
		}
		ratios := make([]float64, len(own.samples))
		for i := range ratios {
			ratios[i] = float64(own.samples[i].CPU) / float64(e.samples[i].CPU)
		}
		b.ReportMetric(measure.Median(ratios), "cpu-vs-"+e.name)
	}
}

func (e *entrant) median(of func(measure.Sample) float64) float64 {
	values := make([]float64, len(e.samples))
	for i, s := range e.samples {
		values[i] = of(s)
	}
	return measure.Median(values)
}
