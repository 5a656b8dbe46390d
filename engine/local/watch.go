package local

import (
	"context"
	"iter"
	"sync"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// maxDeltas is how many pieces of text wait for a slow watcher.
const maxDeltas = 256

// feed tells watchers that something was committed, and passes deltas on.
type feed struct {
	mu      sync.Mutex
	changed chan struct{} // closed at each change, then replaced
	ended   bool
	deltas  map[chan string]struct{}
}

func newFeed() *feed { return &feed{changed: make(chan struct{})} }

func (f *feed) committed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	close(f.changed)
	f.changed = make(chan struct{})
}

// state returns what is closed at the next change, and whether there will be
// none.
func (f *feed) state() (changed <-chan struct{}, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed, f.ended
}

func (f *feed) delta(d model.Delta) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ch := range f.deltas {
		select {
		case ch <- d.Text:
		default:
		}
	}
}

func (f *feed) subscribe() (ch chan string, cancel func()) {
	ch = make(chan string, maxDeltas)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deltas == nil {
		f.deltas = map[chan string]struct{}{}
	}
	f.deltas[ch] = struct{}{}
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.deltas, ch)
	}
}

// Watch yields a run's records and deltas: see engine.Engine. For a run that
// this process does not drive it ends with the last record there is.
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
	yield  func(engine.Update, error) bool
}

func (w *watcher) watch(ctx context.Context) error {
	f := &feed{ended: true}
	if r := w.e.live(w.id); r != nil {
		f = r.feed
	}
	deltas, cancel := f.subscribe()
	defer cancel()
	for {
		changed, ended := f.state()
		if on, err := w.records(ctx); !on || err != nil {
			return err
		}
		if ended {
			return nil
		}
		if on, err := w.pause(ctx, changed, deltas); !on || err != nil {
			return err
		}
	}
}

// pause passes deltas on until something was committed.
func (w *watcher) pause(ctx context.Context, changed <-chan struct{}, deltas <-chan string) (on bool, err error) {
	for {
		select {
		case text := <-deltas:
			if !w.yield(engine.Update{Delta: text}, nil) {
				return false, nil
			}
		case <-changed:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
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
		if err := w.replay.Fold(records[i : i+1]); err != nil {
			return false, err
		}
		outcome := w.replay.State.Outcome
		if records[i].Seq > w.after {
			event, err := kernel.DecodeEvent(records[i].Payload)
			if err != nil {
				return false, err
			}
			if !w.yield(engine.Update{Seq: records[i].Seq, Event: event, Content: records[i].Content, Outcome: outcome}, nil) {
				return false, nil
			}
		}
		if outcome != nil {
			return false, nil
		}
	}
	return true, nil
}
