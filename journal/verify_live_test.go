package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// Verifying a journal that is written meanwhile raises no false alarm.
func TestVerifyWhileItGrows(t *testing.T) {
	j := written(t, 3, 3)
	done := make(chan struct{})
	var writers, verifiers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range 40 {
				grow(t, j, fmt.Sprintf("w%d-%d", w, n), 5)
			}
		})
	}
	for range 2 {
		verifiers.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				report, err := journal.VerifyAll(t.Context(), j, nil)
				if err != nil || report.Flaw != nil {
					t.Errorf("while it grows: %v, %v", report.Flaw, err)
					return
				}
				heads, _ := j.Heads(t.Context(), journal.Query{Limit: 1})
				report, err = journal.Verify(t.Context(), j, heads[0].Run, nil)
				if err != nil || report.Flaw != nil {
					t.Errorf("a run while it grows: %v, %v", report.Flaw, err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	verifiers.Wait()
}

// grow writes a run, a record at a time, and stops it.
func grow(t *testing.T, j journal.Journal, run string, length int64) {
	t.Helper()
	growFrom(t, j, run, 1, length, journal.Stopped)
}

// growFrom appends the records from first to last, and leaves the run in a
// state.
func growFrom(t *testing.T, j journal.Journal, run string, first, last int64, state journal.State) {
	t.Helper()
	h := journal.Head{Run: run, StartedAt: time.Unix(99, 0), UpdatedAt: time.Unix(99, 0)}
	if old, err := j.Head(t.Context(), run); err == nil {
		h = old
	}
	for seq := first; seq <= last; seq++ {
		h.State = journal.Running
		if seq == last {
			h.State = state
		}
		r := journal.Record{Seq: seq, At: time.Unix(99, 0), Kind: kernel.KindTimerFired, Payload: []byte("{}")}
		if err := j.Append(t.Context(), journal.Entry{Head: h, Records: []journal.Record{r}}); err != nil {
			t.Error(err)
		}
	}
}

// Whatever is written between any two reads of a verification, it raises no
// false alarm.
func TestVerifyBetweenReads(t *testing.T) {
	for name, write := range map[string]func(*memory.Journal){
		"a run goes on":           func(j *memory.Journal) { growFrom(t, j, "run-1", 4, 4, journal.Running) },
		"a run stops":             func(j *memory.Journal) { growFrom(t, j, "run-1", 4, 5, journal.Stopped) },
		"a run opens":             func(j *memory.Journal) { growFrom(t, j, "new", 1, 2, journal.Running) },
		"a run opens and stops":   func(j *memory.Journal) { grow(t, j, "new", 3) },
		"a run begins and is one": func(j *memory.Journal) { grow(t, j, "new", 1) },
	} {
		for _, run := range []string{"", "run-1", "new"} {
			t.Run(fmt.Sprint(name, ": ", run), func(t *testing.T) {
				for at := 0; ; at++ {
					j := written(t, 2, 3, 1)
					left := at
					r := between{j, func() error {
						if left--; left == -1 {
							write(j)
						}
						return nil
					}}
					var report journal.Report
					var err error
					if run == "" {
						report, err = journal.VerifyAll(t.Context(), r, nil)
					} else {
						report, err = journal.Verify(t.Context(), r, run, nil)
					}
					absent := run == "new" && kernel.CodeOf(err) == kernel.CodeNotFound
					if err != nil && !absent || report.Flaw != nil {
						t.Fatalf("written before read %d: %v, %v", at+1, report.Flaw, err)
					}
					if left >= 0 { // it needs no more than that many
						return
					}
				}
			})
		}
	}
}

// between does something before each read, which fails with its error.
type between struct {
	journal.Reader

	do func() error
}

func (b between) Heads(ctx context.Context, q journal.Query) ([]journal.Head, error) {
	return both(b.do(), func() ([]journal.Head, error) { return b.Reader.Heads(ctx, q) })
}

func (b between) Head(ctx context.Context, run string) (journal.Head, error) {
	return both(b.do(), func() (journal.Head, error) { return b.Reader.Head(ctx, run) })
}

func (b between) Read(ctx context.Context, run string, after int64, limit int) ([]journal.Record, error) {
	return both(b.do(), func() ([]journal.Record, error) { return b.Reader.Read(ctx, run, after, limit) })
}

func (b between) Links(ctx context.Context, run string, after int64, limit int) ([]journal.Hash, error) {
	return both(b.do(), func() ([]journal.Hash, error) { return b.Reader.Links(ctx, run, after, limit) })
}

func (b between) Seals(ctx context.Context, after int64, limit int) ([]journal.Seal, error) {
	return both(b.do(), func() ([]journal.Seal, error) { return b.Reader.Seals(ctx, after, limit) })
}

func (b between) Effects(ctx context.Context, q journal.EffectQuery) ([]journal.Effect, error) {
	return both(b.do(), func() ([]journal.Effect, error) { return b.Reader.Effects(ctx, q) })
}

func (b between) Approvals(ctx context.Context, q journal.ApprovalQuery) ([]journal.Approval, error) {
	return both(b.do(), func() ([]journal.Approval, error) { return b.Reader.Approvals(ctx, q) })
}

func both[T any](err error, read func() (T, error)) (none T, _ error) {
	if err != nil {
		return none, err
	}
	return read()
}

var errDisk = errors.New("the disk is gone")

// What cannot be read is neither sound nor a flaw.
func TestVerifyCannotRead(t *testing.T) {
	j := written(t, 2, 70)
	for name, verify := range map[string]func(journal.Reader) (journal.Report, error){
		"all": func(r journal.Reader) (journal.Report, error) { return journal.VerifyAll(t.Context(), r, nil) },
		"one": func(r journal.Reader) (journal.Report, error) { return journal.Verify(t.Context(), r, "run-1", nil) },
		"last": func(r journal.Reader) (journal.Report, error) {
			_, err := journal.LastSeal(t.Context(), r)
			return journal.Report{}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				left := n
				report, err := verify(between{j, func() error {
					if left--; left < 0 {
						return errDisk
					}
					return nil
				}})
				if left >= 0 { // it needs no more than n
					if err != nil || n < 3 {
						t.Errorf("after %d reads: %v", n, err)
					}
					return
				}
				if !errors.Is(err, errDisk) || report.Flaw != nil {
					t.Fatalf("read %d fails: %v, %v", n+1, report.Flaw, err)
				}
			}
		})
	}
}
