package local

import (
	"context"
	"iter"
	"sync"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/model"
)

// maxDeltas is how many pieces of text wait for a slow watcher.
const maxDeltas = 256

// feed tells watchers that something was committed, and passes deltas on.
type feed struct {
	id       string
	watchers int // guarded by the engine's lock

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil: nobody waits for it
	driven  bool          // by this process
	lost    error         // why what came of the run is not among the records
	seq     int64         // of the last committed record
	deltas  map[chan delta]struct{}
}

// delta is a piece of text that arrived after the record of that number.
type delta struct {
	after int64
	text  string
}

func (f *feed) committed(seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = seq
	f.change()
}

// change wakes whoever waits. f.mu is held.
func (f *feed) change() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// drive says that this process drives the run now.
func (f *feed) drive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.driven, f.lost = true, nil
}

// rest says that this process drives the run no more.
func (f *feed) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.driven = false
	f.change()
}

// lose says why what came of the run is not journaled.
func (f *feed) lose(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = why
}

// state returns what is closed at the next change, and how the run stands.
func (f *feed) state() (changed <-chan struct{}, driven bool, lost error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed, f.driven, f.lost
}

// why returns why what came of the run is not among the records, if it is not.
func (f *feed) why() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// feedOf returns the feed of a run for one more watcher, who drops it.
func (e *Engine) feedOf(id string) *feed {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.feeds[id]
	if f == nil {
		if r := e.runs[id]; r != nil {
			f = r.feed
		} else {
			f = &feed{id: id}
		}
		e.feeds[id] = f
	}
	f.watchers++
	return f
}

// drop lets a feed go. One that says why a run was lost stays: a watcher who
// comes later has nowhere else to learn it.
func (e *Engine) drop(f *feed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f.watchers--; f.watchers == 0 && f.why() == nil {
		delete(e.feeds, f.id)
	}
}

// feedFor returns the feed of a run that is to be driven: that of those who watch
// it already, or what told of an earlier loss, else one of its own. The engine is
// locked.
func (e *Engine) feedFor(r *run) *feed {
	f := e.feeds[r.id]
	if f == nil {
		return &feed{id: r.id}
	}
	if f.watchers == 0 {
		delete(e.feeds, r.id)
	}
	return f
}

func (f *feed) delta(d model.Delta) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.deltas {
		select {
		case ch <- delta{f.seq, d.Text}:
		default:
		}
	}
}

func (f *feed) subscribe() (ch chan delta, cancel func()) {
	ch = make(chan delta, maxDeltas)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deltas == nil {
		f.deltas = map[chan delta]struct{}{}
	}
	f.deltas[ch] = struct{}{}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.deltas, ch)
	}
}

// Watch yields a run's records and deltas: see engine.Engine. For a run that
// nobody drives, or whose process has provably ended (see OwnerGone), and that
// does not wait for people, it ends with the last record there is.
func (e *Engine) Watch(ctx context.Context, id string, after int64) iter.Seq2[engine.Update, error] {
	return func(yield func(engine.Update, error) bool) {
		w := watcher{e: e, id: id, after: after, replay: engine.NewReplay(id, nil), yield: yield}
		if err := w.watch(ctx); err != nil {
			yield(engine.Update{}, err)
		}
	}
}

type watcher struct {
	e      *Engine
	id     string
	after  int64
	replay *engine.Replay
	deltas <-chan delta
	held   *delta // taken from deltas, not yet passed on
	told   int64  // the record at which the watcher was told that the run waits
	yield  func(engine.Update, error) bool
}

func (w *watcher) watch(ctx context.Context) error {
	f := w.e.feedOf(w.id)
	defer w.e.drop(f)
	deltas, cancel := f.subscribe()
	defer cancel()
	w.deltas = deltas
	for {
		changed, driven, lost := f.state()
		if on, err := w.records(ctx); !on || err != nil {
			return err
		}
		if lost != nil && !driven {
			return lost
		}
		if !driven {
			if on, err := w.undriven(ctx); !on || err != nil {
				return err
			}
		}
		if on, err := w.pause(ctx, changed, driven); !on || err != nil {
			return err
		}
	}
}

// undriven looks at a run that this process does not drive. It reports whether
// to go on.
func (w *watcher) undriven(ctx context.Context) (on bool, err error) {
	head, err := w.e.journal.Head(ctx, w.id)
	if err != nil || head.LastSeq > w.replay.Seq { // there is more to read
		return err == nil, err
	}
	held := head.Lease.Held(w.e.clock.Now()) && !gone(head.Lease.Owner)
	if head.State != journal.Waiting || held {
		return held, nil
	}
	if wait, waits := w.replay.State.Waiting(); waits && w.told < head.LastSeq {
		w.told = head.LastSeq
		return w.yield(engine.Update{Waiting: &wait}, nil), nil
	}
	return true, nil
}

// pause passes deltas on until something was committed, or it is time to look
// whether another process has.
func (w *watcher) pause(ctx context.Context, changed <-chan struct{}, driven bool) (on bool, err error) {
	look := make(chan struct{})
	if !driven {
		defer w.e.clock.AfterFunc(w.e.poll, func() { close(look) }).Stop()
	}
	for {
		if !w.passDeltas(w.replay.Seq + 1) {
			return false, nil
		}
		if w.held != nil { // it belongs behind records that were not read yet
			return true, nil
		}
		select {
		case d := <-w.deltas:
			w.held = &d
		case <-changed:
			return true, nil
		case <-look:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// passDeltas passes on the deltas that belong before the record of that
// number. It reports whether to go on.
func (w *watcher) passDeltas(record int64) (on bool) {
	for {
		if w.held == nil {
			select {
			case d := <-w.deltas:
				w.held = &d
			default:
				return true
			}
		}
		if w.held.after >= record {
			return true
		}
		text := w.held.text
		w.held = nil
		if !w.yield(engine.Update{Delta: text}, nil) {
			return false
		}
	}
}

// letGo waits until this process has let a run go that has stopped, so that
// whoever is told of the stop finds its session free.
func (e *Engine) letGo(ctx context.Context, id string) {
	if r := e.live(id); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
}

// records yields what was committed since. It reports whether to go on.
func (w *watcher) records(ctx context.Context) (on bool, err error) {
	records, err := w.e.journal.Read(ctx, w.id, w.replay.Seq, 0)
	if err != nil {
		return false, err
	}
	for i := range records {
		if !w.passDeltas(records[i].Seq) {
			return false, nil
		}
		event, content, err := w.replay.Next(&records[i])
		if err != nil {
			return false, err
		}
		outcome := w.replay.State.Outcome
		if outcome != nil {
			w.e.letGo(ctx, w.id)
		}
		if records[i].Seq > w.after {
			if !w.yield(engine.Update{Seq: records[i].Seq, Event: event, Content: content.Public(), Committed: engine.Public(w.replay.Added()), Outcome: outcome}, nil) {
				return false, nil
			}
		}
		if outcome != nil {
			return false, nil
		}
	}
	return true, nil
}
