package local

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// Workload is what Work drives.
type Workload struct {
	// Once ends Work when nothing can go on any more: runs that wait for people,
	// and those that another process drives, are left.
	Once bool
	// Only selects the runs that are driven; nil: all.
	Only func(journal.Head) bool
	// Taken is told of each run that is taken up, as it stood before: from
	// another process, or since it need not wait any more. Left is told of each
	// that could not be: it stays as it is, and is not tried again before its head
	// has changed, but for a journal that failed and may work again. nil: nobody.
	// Both return soon, and may be called at once.
	Taken func(journal.Head)
	Left  func(journal.Head, error)
}

// maxAtOnce bounds how many runs Work drives at the same time.
const maxAtOnce = 256

// Work takes over whatever can go on: runs whose process is gone, and runs that
// waited and have been decided on or are due. It needs Config.Agents. The end
// of ctx ends it: runs are then handed back where they can be cut without
// loss, and after a grace wherever they are; no run is cancelled by that. The
// engine begins nothing any more then. An error is the journal's.
func (e *Engine) Work(ctx context.Context, w Workload) error {
	if e.agents == nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "an engine needs to be told how to make agents before it can take runs over"}
	}
	e.tell(w.Taken)
	defer e.tell(nil)
	shift := &shift{e: e, w: w, left: map[string]left{}}
	for {
		more, err := shift.round(ctx)
		if ctx.Err() != nil {
			err = nil // it was told to end
		}
		if err != nil || ctx.Err() != nil {
			e.Leave()
			return err
		}
		if more {
			continue
		}
		wait, on := shift.pause()
		if !on {
			return nil
		}
		e.wait(ctx.Done(), e.nudged, wait)
	}
}

// tell names who is told of runs that are taken up.
func (e *Engine) tell(taken func(journal.Head)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken = taken
}

// shift is one Work.
type shift struct {
	e    *Engine
	w    Workload
	left map[string]left // runs that could not be taken up
	late map[string]time.Time
	full bool // more could go on than are driven at the same time
	// looked is when leases of processes that are gone were last looked for.
	looked time.Time
}

// round takes over what is ready. It reports whether to look again at once.
func (s *shift) round(ctx context.Context) (more bool, err error) {
	s.free(ctx)
	s.full = false
	heads, err := s.e.journal.Ready(ctx, s.e.clock.Now().UTC(), 0)
	if err != nil {
		return false, err
	}
	for i := range heads {
		h := &heads[i]
		if s.full = s.e.count() >= maxAtOnce; s.full || ctx.Err() != nil {
			break // until there is room
		}
		if s.leaves(h) || s.e.live(h.Run) != nil || !s.wants(h) {
			continue
		}
		if err := s.e.takeUp(ctx, h.Run); err != nil {
			if kernel.CodeOf(err) == kernel.CodeConflict || ctx.Err() != nil {
				continue // someone else was faster, or it was not tried in earnest
			}
			s.leave(h, err)
			continue
		}
		more = true
	}
	return more && s.e.count() < maxAtOnce, nil
}

// left is a run that could not be taken up, as it stood then.
type left struct {
	seq     int64
	pending int
	again   time.Time // it is tried again all the same from then on; zero: never
}

// retryLeft is how many polls a run is left alone whose journal failed: it may
// have been a moment's trouble, or damage that stays.
const retryLeft = 10

func (s *shift) leaves(h *journal.Head) bool {
	l, known := s.left[h.Run]
	return known && l.seq == h.LastSeq && l.pending == h.Pending && (l.again.IsZero() || s.e.clock.Now().Before(l.again))
}

// leave tells of a run that could not be taken up, once for each state of it.
func (s *shift) leave(h *journal.Head, err error) {
	before, known := s.left[h.Run]
	l := left{seq: h.LastSeq, pending: h.Pending}
	if kernel.CodeOf(err) == kernel.CodeLocalStorage {
		l.again = s.e.clock.Now().Add(retryLeft * s.e.poll)
	}
	s.left[h.Run] = l
	if told := known && before.seq == l.seq && before.pending == l.pending; s.w.Left != nil && !told {
		s.w.Left(*h, err)
	}
}

func (s *shift) wants(h *journal.Head) bool { return s.w.Only == nil || s.w.Only(*h) }

// free gives back the leases of processes that have provably ended, so that
// their runs need not wait. Whatever fails here delays them at most: a lease
// ends by itself.
func (s *shift) free(ctx context.Context) {
	now := s.e.clock.Now()
	if !s.w.Once && now.Sub(s.looked) < s.e.lease/3 {
		return
	}
	s.looked = now
	for _, h := range s.held(ctx, now) {
		if gone(h.Lease.Owner) {
			_ = s.e.journal.Release(ctx, h.Run, h.Lease)
		}
	}
}

// held returns the runs that could go on and are under somebody's lease; none
// where the journal cannot be read, which the next round reports.
func (s *shift) held(ctx context.Context, now time.Time) []journal.Head {
	var heads []journal.Head
	for _, q := range []journal.Query{{State: journal.Running}, {State: journal.Waiting, Signalled: true}} {
		found, _ := s.e.journal.Heads(ctx, q)
		heads = append(heads, found...)
	}
	return slices.DeleteFunc(heads, func(h journal.Head) bool { return !h.Lease.Held(now) || !s.wants(&h) })
}

// pause returns what to wait for before the next round, and whether there is to
// be one.
func (s *shift) pause() (wait <-chan struct{}, on bool) {
	done := make(chan struct{})
	if s.w.Once && !s.full {
		if wait := s.e.any(); wait != nil {
			return wait, true
		}
		until, held := s.heldByOthers()
		if !held {
			return nil, false
		}
		s.e.clock.AfterFunc(max(until.Sub(s.e.clock.Now()), time.Millisecond), func() { close(done) })
		return done, true
	}
	s.e.clock.AfterFunc(s.e.poll, func() { close(done) })
	return done, true
}

// heldByOthers reports when the next lease of a run ends that could go on and
// whose process may be gone. One that is renewed in the meantime is driven by
// somebody, and is not waited for.
func (s *shift) heldByOthers() (until time.Time, held bool) {
	seen := map[string]time.Time{}
	for _, h := range s.held(context.Background(), s.e.clock.Now()) {
		before, known := s.late[h.Run]
		if known && before.Before(h.Lease.Until) {
			seen[h.Run] = before // renewed since: it is driven
			continue
		}
		seen[h.Run] = h.Lease.Until
		if !held || h.Lease.Until.Before(until) {
			until, held = h.Lease.Until, true
		}
	}
	s.late = seen
	return until, held
}

func (e *Engine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs)
}

// any returns what is closed when a run is over that is under way, or has been
// taken up that is about to be. nil: there is none.
func (e *Engine) any() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.underWay() {
		return r.done
	}
	for _, id := range slices.Sorted(maps.Keys(e.taking)) {
		return e.taking[id]
	}
	return nil
}

// mayTakeUp reports whether this process goes on with a run as soon as it can,
// since it parked it.
func (e *Engine) mayTakeUp(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, parked := e.parked[id]
	return parked && !e.closed && !e.leaving.Load()
}

// park remembers a run that waits for people, and its agent.
func (e *Engine) park(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed && !e.leaving.Load() {
		e.parked[r.id] = r.agent
		e.keepUp()
	}
}

// takeUp goes on with a run from its journal. CONFLICT when somebody else
// drives it, or is about to: whoever takes it up hears its signals afterwards.
func (e *Engine) takeUp(ctx context.Context, id string) error {
	if !e.begins(id) {
		return &kernel.Error{Code: kernel.CodeConflict, Message: "run " + id + " is being taken up"}
	}
	defer e.begun(id)
	now := e.clock.Now().UTC()
	lease, err := e.journal.Acquire(ctx, id, e.owner, now, now.Add(e.lease))
	if err != nil {
		return err
	}
	stored, err := engine.ReadStored(ctx, e.journal, id)
	switch {
	case err == nil && !stillReady(stored.Head, now):
		err = &kernel.Error{Code: kernel.CodeConflict, Message: "somebody else took run " + id + " up, and it waits again"}
	case err == nil:
		err = e.goOnWith(ctx, stored, lease)
	}
	if err != nil {
		_ = e.journal.Release(context.WithoutCancel(ctx), id, lease) // or it ends by itself
		return err
	}
	e.mu.Lock()
	taken := e.taken
	e.mu.Unlock()
	if taken != nil {
		taken(stored.Head)
	}
	return nil
}

// stillReady reports whether a run has anything to go on with, now that nobody
// else drives it: what was ready when somebody looked may have been taken up
// since, by one of many processes that look at the same time.
func stillReady(h journal.Head, now time.Time) bool {
	h.Lease = journal.Lease{}
	return h.Ready(now)
}

// begins reserves a run for whoever takes it up here: the journal gives the
// same lease to all of them.
func (e *Engine) begins(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[id] != nil || e.taking[id] != nil {
		return false
	}
	e.taking[id] = make(chan struct{})
	return true
}

func (e *Engine) begun(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.taking[id])
	delete(e.taking, id)
}

func (e *Engine) goOnWith(ctx context.Context, stored *engine.Stored, lease journal.Lease) error {
	id := stored.Head.Run
	signals, err := e.journal.Signals(ctx, id)
	if err != nil {
		return err
	}
	cancels := false
	for i := range signals {
		cancels = cancels || signals[i].Kind == journal.SignalCancel
	}
	agent, err := e.agentOf(ctx, stored, cancels)
	if err != nil {
		return err
	}
	prior, err := engine.SessionBefore(ctx, e.journal, &stored.Head)
	if err != nil {
		return err
	}
	r := e.newRun(stored.Head, agent)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease = lease
	if r.x, err = engine.Resume(e.env(r), agent, stored, prior); err != nil {
		return err
	}
	if err := e.admit(r); err != nil {
		return err
	}
	r.goOn(r.step(func() error { return r.resume(cancels) }))
	return nil
}

// agentOf is the agent that goes on with a run: the one that it began with, or
// one made from what it began with. A run that is cancelled needs none.
func (e *Engine) agentOf(ctx context.Context, s *engine.Stored, cancels bool) (*engine.Agent, error) {
	e.mu.Lock()
	agent := e.parked[s.Head.Run]
	e.mu.Unlock()
	switch {
	case agent != nil || cancels && e.agents == nil:
		return agent, nil
	case e.agents == nil:
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "this process does not know the agent of run " + s.Head.Run}
	}
	agent, err := e.makeAgent(ctx, s)
	switch {
	case cancels && err != nil:
		agent, err = nil, nil
	case cancels:
	case err == nil && agent == nil:
		err = &kernel.Error{Code: kernel.CodeConfiguration, Message: "there is no agent for run " + s.Head.Run}
	}
	return agent, err
}

// makeAgent calls code of the embedding program.
func (e *Engine) makeAgent(ctx context.Context, s *engine.Stored) (agent *engine.Agent, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked("the making of agents", kernel.CodeInternal, p)
		}
	}()
	return e.agents(ctx, s)
}

// resume applies the take-over and the signals that wait. What was said comes
// first, since the take-over may end the run, and a cancel: then nothing that
// was outstanding begins again.
func (r *run) resume(cancels bool) error {
	signals, err := r.signals()
	if err != nil {
		return err
	}
	first := said(signals)
	if cancels {
		first = signals
	}
	if err := r.heed(first); err != nil {
		return err
	}
	if err := r.take(kernel.Resumed{At: r.now(), By: kernel.Clip(r.eng.owner, 200)}, engine.Content{}); err != nil {
		return err
	}
	if cancels {
		return nil
	}
	return r.heed(signals)
}

// handBackGrace is how long runs have to come to a place where they can be cut
// without loss.
const handBackGrace = 10 * time.Second

// Leave lets every run go that this process drives or parked, without ending it:
// see Work for when. The engine begins nothing any more, and is still to be
// closed.
func (e *Engine) Leave() {
	e.mu.Lock()
	e.leaving.Store(true)
	runs := e.underWay()
	e.mu.Unlock()
	late := make(chan struct{})
	timer := e.clock.AfterFunc(handBackGrace, func() { close(late) })
	defer timer.Stop()
	for _, r := range runs {
		r.letGo((*run).leaves)
	}
	for _, r := range runs {
		e.wait(r.done, late, nil)
		r.letGo(func(*run) bool { return true })
	}
	e.rounds.end()
}

func (r *run) letGo(when func(*run) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && when(r) {
		r.handBack()
	}
}

// handBack lets the run go as it is: whoever takes it over finds out what
// became of what was under way.
func (r *run) handBack() {
	if err := r.eng.journal.Release(context.Background(), r.id, r.lease); err != nil {
		r.eng.log.Warn("lease not given back", "run", r.id, "error", err) // it ends by itself
	}
	r.close()
}

func (e *Engine) isLeaving() bool { return e.leaving.Load() }

// beginsNothing reports that the run only brings to an end what is under way.
func (r *run) beginsNothing() bool { return r.halting || r.eng.isLeaving() }

// leaves reports whether the run is handed back now: nothing is under way that
// would be lost.
func (r *run) leaves() bool {
	if !r.eng.isLeaving() {
		return false
	}
	return !slices.ContainsFunc(r.out, func(o order) bool { return o.leash != nil })
}
