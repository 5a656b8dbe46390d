package memory

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

// note records a signal, once for each id, and says whether it is new.
func (r *run) note(s journal.Signal) bool {
	if r.known[s.ID] {
		return false
	}
	if r.known == nil {
		r.known = make(map[string]bool)
	}
	r.known[s.ID] = true
	s.At = instant(s.At)
	s.Number, s.Applied = int64(len(r.signals))+1, 0
	r.signals = append(r.signals, s)
	r.head.Pending++
	return true
}

// apply decides whether the signals that the entry takes up wait for its run.
func (p *plan) apply(e *journal.Entry) error {
	for i, n := range e.Applied {
		waits := p.run != nil && n >= 1 && n <= int64(len(p.run.signals)) && p.run.signals[n-1].Applied == 0
		if !waits || slices.Contains(e.Applied[:i], n) {
			return journal.Untaken(e.Head.Run, n)
		}
	}
	return nil
}

// take marks signals as taken up by the last record.
func (r *run) take(numbers []int64) int {
	for _, n := range numbers {
		r.signals[n-1].Applied = int64(len(r.records))
	}
	for r.taken < len(r.signals) && r.signals[r.taken].Applied != 0 {
		r.taken++
	}
	return len(numbers)
}

// Send records a signal. See [journal.Journal].
func (j *Journal) Send(ctx context.Context, s journal.Signal) (fresh bool, err error) {
	if err := journal.CheckSignal(&s); err != nil {
		return false, err
	}
	if err := j.lock(ctx); err != nil {
		return false, err
	}
	defer j.mu.Unlock()
	r := j.runs[s.Run]
	switch {
	case r == nil:
		return false, journal.NotFound(s.Run)
	case r.known[s.ID]:
		return false, nil
	case r.head.State == journal.Stopped:
		return false, journal.OverAlready(s.Run)
	}
	j.changes++
	return r.note(s), nil
}

// Signals returns the signals of a run that wait for it. See [journal.Reader].
func (j *Journal) Signals(ctx context.Context, run string) ([]journal.Signal, error) {
	if err := j.rlock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	r := j.runs[run]
	if r == nil {
		return nil, journal.NotFound(run)
	}
	var waiting []journal.Signal
	for _, s := range r.signals[r.taken:] {
		if s.Applied == 0 {
			waiting = append(waiting, s)
		}
	}
	return waiting, nil
}
