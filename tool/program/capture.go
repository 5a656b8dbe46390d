//go:build linux || darwin

package program

import (
	"strings"

	"github.com/holdfast-run/holdfast/tool"
)

// capture keeps the first and the last bytes of what is written to it, limit
// of each. It is not safe for concurrent use.
type capture struct {
	limit int
	head  []byte
	ring  []byte // the last bytes after head, the oldest at next once it is full
	next  int
	total int64
}

// Write takes all of b. It never fails.
func (c *capture) Write(b []byte) (int, error) {
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

// text returns what was kept, made into text of at most size bytes, and how many
// bytes that lacks.
func (c *capture) text(size int, made func(string) string) (string, int64) {
	tail := append(c.ring[c.next:len(c.ring):len(c.ring)], c.ring[:c.next]...)
	omitted := c.total - int64(len(c.head)+len(tail))
	if omitted == 0 {
		return tool.Bound(made(string(c.head)+string(tail)), size)
	}
	head, tail := tool.TrimCut(c.head, tail)
	omitted = c.total - int64(len(head)+len(tail))
	return tool.Excerpt(made(string(head)), made(string(tail)), omitted, size)
}

// valid keeps all that a program printed but bytes that are no text: unlike
// clean text it holds what a carriage return would have overwritten, so that
// nothing can be printed that reads as something else to a verifier.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
