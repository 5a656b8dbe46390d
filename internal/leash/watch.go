package leash

import (
	"context"
	"sync"
	"time"
)

// Watched is foreign code that may have to be given up.
type Watched interface {
	// GiveUp is called once, on another goroutine than the code's.
	GiveUp()
}

// Watch gives foreign code up that has not returned when its context has ended
// for as long as the grace. The zero value watches nothing. It must not be
// copied.
type Watch struct {
	grace   time.Duration
	watched Watched
	behind  place // of it in the context

	mu    sync.Mutex
	timer *time.Timer // nil: the context has not ended
	over  bool        // the code has returned
}

// Begin watches code that is about to run in ctx. It is called once.
func (w *Watch) Begin(ctx context.Context, grace time.Duration, code Watched) {
	w.grace, w.watched = grace, code
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind = follow(ctx, w)
}

func (w *Watch) ended(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer = time.AfterFunc(w.grace, w.watched.GiveUp)
	}
}

// End says that the code has returned. It may have been given up before, or be
// given up at this moment.
func (w *Watch) End() {
	w.behind.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
