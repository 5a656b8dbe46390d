package remote

import (
	"maps"
	"sync"
	"time"
)

// late has the keys of which a request without an answer is out that the service
// did not know of when it was asked: it may still arrive, until settle is over.
// Keys that nobody comes back for are forgotten then.
type late struct {
	settle time.Duration

	mu    sync.Mutex
	since map[string]time.Time
}

func (l *late) add(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.since, func(_ string, since time.Time) bool { return now.Sub(since) > l.settle })
	l.since[key] = now
}

// over forgets a key, and reports whether it was there.
func (l *late) over(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, was := l.since[key]
	delete(l.since, key)
	return was
}
