//go:build linux || darwin

package process

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Output is what was kept of an output: all of it in Head, or its first and
// last bytes.
type Output struct {
	Head, Tail []byte
	Total      int64 // bytes that were written
}

// Omitted is how many bytes are missing between Head and Tail.
func (o Output) Omitted() int64 { return o.Total - int64(len(o.Head)+len(o.Tail)) }

// Last returns the last bytes that were written, at most n, as valid UTF-8.
func (o Output) Last(n int) string {
	kept := o.Tail
	if o.Omitted() == 0 {
		kept = slices.Concat(o.Head, o.Tail)
	}
	if cut := len(kept) - n; cut > 0 {
		kept = kept[cut:]
		for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
			kept = kept[1:]
		}
	}
	return strings.ToValidUTF8(string(kept), "\uFFFD")
}

// capture keeps the first and the last bytes of what is written to it, limit of
// each. It is safe for concurrent use.
type capture struct {
	limit int
	mu    sync.Mutex
	head  []byte
	ring  []byte // the last bytes after head, the oldest at next once it is full
	next  int
	total int64
}

func newCapture(limit int) *capture { return &capture{limit: limit} }

// Write takes all of b. It never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	c.total += int64(n)
	if room := c.limit - len(c.head); room > 0 {
		room = min(room, len(b))
		c.head = append(c.head, b[:room]...)
		b = b[room:]
	}
	b = b[max(0, len(b)-c.limit):]
	if room := c.limit - len(c.ring); room > 0 {
		room = min(room, len(b))
		c.ring = append(c.ring, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		copied := copy(c.ring[c.next:], b)
		b = b[copied:]
		c.next = (c.next + copied) % c.limit
	}
	return n, nil
}

// output returns what was kept so far.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Output{
		Head:  slices.Clone(c.head),
		Tail:  slices.Concat(c.ring[c.next:], c.ring[:c.next]),
		Total: c.total,
	}
}
