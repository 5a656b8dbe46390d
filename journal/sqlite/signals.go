package sqlite

import (
	"slices"

	"github.com/holdfast-run/holdfast/journal"
)

const (
	selectSignalID = `SELECT id FROM signals WHERE run = ? AND id = ?`
	insertSignal   = `INSERT INTO signals (` + signalColumns + `)
		SELECT ?, 1 + (SELECT coalesce(max(number), 0) FROM signals WHERE run = ?), ?, ?, ?, ?, ?, 0`
	selectWaiting = `SELECT id FROM signals WHERE run = ? AND number = ? AND applied = 0`
	takeSignal    = `UPDATE signals SET applied = ? WHERE run = ? AND number = ?`
	changePending = `UPDATE runs SET pending = pending + ? WHERE run = ?`
)

// sending is a signal on its way.
type sending struct {
	signal journal.Signal
	fresh  bool
}

func (s *sending) apply(t *tx) error {
	s.fresh = false // of an attempt that was rolled back
	head, err := one(t, scanHead, selectHead, s.signal.Run)
	if err != nil {
		return err
	}
	if head == nil {
		return journal.NotFound(s.signal.Run)
	}
	known, err := one(t, scanText, selectSignalID, s.signal.Run, s.signal.ID)
	if err != nil || known != nil {
		return err
	}
	if head.State == journal.Stopped {
		return journal.OverAlready(s.signal.Run)
	}
	s.fresh = true
	return t.record(&s.signal)
}

// tell records a signal of the journal itself, if its run has not stopped.
func (t *tx) tell(s journal.Signal) error {
	head, err := one(t, scanHead, selectHead, s.Run)
	if err != nil || head == nil || head.State == journal.Stopped {
		return err
	}
	return t.record(&s)
}

// record writes a signal that is new, under the next number of its run.
func (t *tx) record(s *journal.Signal) error {
	err := t.exec(insertSignal, s.Run, s.Run, s.ID, string(s.Kind), s.By, s.At.UnixNano(), []byte(s.Payload))
	if err != nil {
		return err
	}
	return t.exec(changePending, 1, s.Run)
}

// takeUp decides whether the signals that the entry takes up wait for its run.
func (p *plan) takeUp() error {
	run := p.entry.Head.Run
	for i, number := range p.entry.Applied {
		waits, err := one(p.t, scanText, selectWaiting, run, number)
		if err != nil {
			return err
		}
		if waits == nil || slices.Contains(p.entry.Applied[:i], number) {
			return journal.Untaken(run, number)
		}
	}
	return nil
}

// markTaken marks the signals that an entry takes up.
func (t *tx) markTaken(e *journal.Entry) error {
	last := e.Records[len(e.Records)-1].Seq
	for _, number := range e.Applied {
		if err := t.exec(takeSignal, last, e.Head.Run, number); err != nil {
			return err
		}
	}
	if len(e.Applied) == 0 {
		return nil
	}
	return t.exec(changePending, -len(e.Applied), e.Head.Run)
}
