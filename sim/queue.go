package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// queue is everything that is still to happen, in virtual time.
type queue struct {
	now     time.Duration // since the beginning; it never steps back
	chance  *rand.Rand    // orders what is due at the same instant
	entries entries
	idle    []*thread
	running *thread   // nil: none
	parked  []*thread // the longest parked first
	busy    int       // entries that are not minor
	steps   int
}

// entry is something to do at an instant.
type entry struct {
	due   time.Duration
	tie   uint64
	index int      // in the heap; -1: not there
	proc  *process // whose it is; nil: of the world outside
	what  string
	minor bool // it only looks after something
	job   func()
	goes  *thread // to go on with, in the place of job
}

func newQueue(chance *rand.Rand) *queue {
	return &queue{chance: chance}
}

// add lets job run on a thread of its own once d has passed.
func (q *queue) add(p *process, d time.Duration, what string, job func()) {
	q.push(&entry{due: q.now + max(d, 0), proc: p, what: what, job: job})
}

// minor is add for what only looks after something, and does not count as
// something to come.
func (q *queue) minor(d time.Duration, what string, job func()) *entry {
	e := &entry{due: q.now + max(d, 0), what: what, job: job, minor: true}
	q.push(e)
	return e
}

func (q *queue) push(e *entry) {
	if !e.minor {
		q.busy++
	}
	e.tie = q.chance.Uint64()
	q.entries.add(e)
}

// drop takes an entry out; it reports whether it was there.
func (q *queue) drop(e *entry) bool {
	if e == nil || e.index < 0 {
		return false
	}
	q.entries.remove(e.index)
	q.less(e)
	return true
}

// pop takes the next entry.
func (q *queue) pop() *entry {
	if len(q.entries) == 0 {
		return nil
	}
	e := q.entries.remove(0)
	q.less(e)
	return e
}

func (q *queue) less(e *entry) {
	if !e.minor {
		q.busy--
	}
}

// do carries an entry out, until it is done or its thread parks.
func (q *queue) do(e *entry) {
	q.now = max(q.now, e.due)
	q.steps++
	t := e.goes
	if t == nil {
		t = q.take()
		t.proc, t.job = e.proc, e.job
	}
	q.resume(t)
}

func (q *queue) take() *thread {
	if n := len(q.idle); n > 0 {
		t := q.idle[n-1]
		q.idle = q.idle[:n-1]
		return t
	}
	return newThread()
}

func (q *queue) resume(t *thread) {
	if i := slices.Index(q.parked, t); i >= 0 {
		q.parked = slices.Delete(q.parked, i, i+1)
	}
	q.drop(t.wake)
	t.wake, t.until = nil, nil
	q.running = t
	t.next()
	q.running = nil
	if t.job == nil {
		q.idle = append(q.idle, t)
	}
}

// park hands over control for d (negative: for ever), or until one of the
// channels gives something.
func (q *queue) park(d time.Duration, until ...<-chan struct{}) {
	t := q.running
	t.until = until
	if d >= 0 {
		t.wake = &entry{due: q.now + d, proc: t.proc, what: "goes on", goes: t}
		q.push(t.wake)
	}
	q.parked = append(q.parked, t)
	t.yield(struct{}{})
}

// ready returns the first thread that has what it waits for, of those that may
// go on; nil: none.
func (q *queue) ready(may func(*thread) bool) *thread {
	for _, t := range q.parked {
		if len(t.until) > 0 && may(t) && t.ready() {
			return t
		}
	}
	return nil
}

// first returns the longest parked thread that is meant; nil: none.
func (q *queue) first(meant func(*thread) bool) *thread {
	if i := slices.IndexFunc(q.parked, meant); i >= 0 {
		return q.parked[i]
	}
	return nil
}

// end lets every thread return. None may be parked.
func (q *queue) end() {
	for _, t := range q.idle {
		t.stop()
	}
	q.idle = nil
}

// entries is a heap, the earliest first.
type entries []*entry

func (h entries) earlier(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].tie < h[j].tie
}

func (h entries) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entries) add(e *entry) {
	e.index = len(*h)
	*h = append(*h, e)
	h.up(e.index)
}

func (h *entries) remove(i int) *entry {
	old := *h
	last := len(old) - 1
	e := old[i]
	old.swap(i, last)
	old[last] = nil
	*h = old[:last]
	e.index = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
	return e
}

func (h entries) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.earlier(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h entries) down(i int) {
	for {
		first := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && h.earlier(child, first) {
				first = child
			}
		}
		if first == i {
			return
		}
		h.swap(i, first)
		i = first
	}
}
