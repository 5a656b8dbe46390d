package local

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// rounds are what an engine looks after from time to time while it has runs: it
// renews their leases, and takes up what other processes have recorded. They
// are timers, and no goroutine waits for them.
type rounds struct {
	mu     sync.Mutex
	beat   engine.Timer // nil: not set
	poll   engine.Timer
	tidied string // the last run that was parked and looked at
	seen   int64  // journal.Changes at the last look, or unseen
	ended  bool
}

// unseen is no number of changes: the next look is a whole one.
const unseen = -1

// keepUp sets the timers that are not set. The engine is locked.
func (e *Engine) keepUp() {
	e.rounds.mu.Lock()
	defer e.rounds.mu.Unlock()
	if e.rounds.ended {
		return
	}
	if e.rounds.beat == nil {
		e.rounds.beat = e.clock.AfterFunc(e.lease/3, e.onBeat)
	}
	if e.rounds.poll == nil {
		e.rounds.poll = e.clock.AfterFunc(e.poll, e.onPoll)
	}
}

func (r *rounds) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, t := range []engine.Timer{r.beat, r.poll} {
		if t != nil {
			t.Stop()
		}
	}
}

func (r *rounds) lastSeen() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func (r *rounds) saw(changes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = changes
}

func (e *Engine) onBeat() {
	e.beat()
	e.tidy()
	e.again(func(r *rounds) { r.beat = nil })
}

// maxTidied bounds how many parked runs are looked at in a round.
const maxTidied = 64

// tidy forgets parked runs that have stopped under another process, a few at a
// time.
func (e *Engine) tidy() {
	e.mu.Lock()
	ids := slices.Sorted(maps.Keys(e.parked))
	e.mu.Unlock()
	next, _ := slices.BinarySearch(ids, e.rounds.tidied+"\x00")
	ids = append(ids[next:len(ids):len(ids)], ids[:next]...)
	for _, id := range ids[:min(len(ids), maxTidied)] {
		e.rounds.tidied = id // of one beat at a time
		h, err := e.headOf(context.Background(), id)
		if err != nil && kernel.CodeOf(err) != kernel.CodeNotFound || err == nil && h.State != journal.Stopped {
			continue
		}
		e.mu.Lock()
		delete(e.parked, id)
		e.mu.Unlock()
	}
}

func (e *Engine) onPoll() {
	if err := e.look(); err != nil {
		e.log.Warn("signals not looked for", "error", err)
	}
	e.again(func(r *rounds) { r.poll = nil })
}

// again sets a timer anew, while there is something to look after.
func (e *Engine) again(fired func(*rounds)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rounds.mu.Lock()
	fired(&e.rounds)
	e.rounds.mu.Unlock()
	if len(e.runs) > 0 || len(e.parked) > 0 {
		e.keepUp()
	}
}

// look takes up what others have recorded for the runs of this process, and
// those of its parked runs that are due. What fails is tried again the next
// time.
func (e *Engine) look() (err error) {
	defer e.containJournal(&err)
	ctx := context.Background()
	changes, err := e.journal.Changes(ctx)
	if err != nil {
		return err
	}
	if changes != e.rounds.lastSeen() {
		heads, err := e.journal.Heads(ctx, journal.Query{Signalled: true})
		if err != nil {
			return err
		}
		e.rounds.saw(changes)
		for i := range heads {
			e.wake(ctx, heads[i].Run)
		}
	}
	e.mu.Lock()
	parked := len(e.parked) > 0
	e.mu.Unlock()
	if !parked {
		return nil
	}
	ready, err := e.journal.Ready(ctx, e.clock.Now().UTC(), 0)
	if err != nil {
		return err
	}
	for i := range ready {
		if e.mayTakeUp(ready[i].Run) && e.live(ready[i].Run) == nil {
			e.wake(ctx, ready[i].Run)
		}
	}
	return nil
}
