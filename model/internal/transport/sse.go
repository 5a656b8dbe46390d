package transport

import (
	"bytes"
	"errors"
	"io"
)

// Event is one server-sent event that has data. Both fields are valid until
// the next one.
type Event struct {
	Type []byte // empty: none was given
	Data []byte // its lines joined by \n
}

// Stream reads one stream of server-sent events after another, with the same
// memory. The zero value is ready to open.
type Stream struct {
	in    lines
	event Event
}

// Open makes r the stream.
func (s *Stream) Open(r io.Reader) {
	*s = Stream{in: lines{r: r, buf: spare(s.in.buf)}, event: Event{spare(s.event.Type), spare(s.event.Data)}}
}

// spare is the memory of b, if it is not so much that it had better go.
func spare(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

// Events yields the events of a stream as WHATWG's "Server-sent events"
// defines them: lines end in LF, CR or CRLF, a leading byte order mark and
// comments are skipped, one space after a colon is dropped, and an event that
// the stream's end cuts is none. Events without data (keep-alives, bare ids)
// are skipped, and so is data that starts with a colon: a keep-alive comment
// that some gateway wrapped as data.
//
// Memory is bounded by the reader, which must be bounded. Time is linear in the
// bytes read, however small the pieces in which they arrive: the well-known
// libraries look at a long line again with every piece, which lets a peer that
// sends one line of a megabyte in small pieces cost seconds.
func (s *Stream) Events(yield func(Event, error) bool) {
	ev := &s.event
	hasData := false
	for {
		line, err := s.in.next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		if len(line) > 0 {
			hasData = ev.field(line, hasData) || hasData
			continue
		}
		if hasData && !noise(ev.Data) && !yield(*ev, nil) {
			return
		}
		ev.Type, ev.Data, hasData = ev.Type[:0], ev.Data[:0], false
	}
}

// field applies one line to the event and says whether it was data.
func (e *Event) field(line []byte, hasData bool) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if hasData {
			e.Data = append(e.Data, '\n')
		}
		e.Data = append(e.Data, value...)
		return true
	case "event":
		e.Type = append(e.Type[:0], value...)
	}
	return false
}

func noise(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || data[0] == ':'
}

// lines splits a stream. Its buffer holds one line and what was read ahead.
type lines struct {
	r      io.Reader
	buf    []byte // buf[lo:] is not yet given out
	lo     int
	seen   int  // buf[lo:seen] holds no line end
	skipLF bool // the last line ended in CR: a LF now belongs to it
	begun  bool
	err    error // of r; kept until the buffer is used up
}

const readSize = 4 << 10

// next returns the next line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		if l.skipLF && l.lo < len(l.buf) {
			if l.buf[l.lo] == '\n' {
				l.lo++
			}
			l.skipLF = false
			l.seen = l.lo
		}
		if end := l.seen + lineEnd(l.buf[l.seen:]); end < len(l.buf) {
			line := l.buf[l.lo:end]
			l.skipLF = l.buf[end] == '\r'
			l.lo, l.seen = end+1, end+1
			return l.first(line), nil
		}
		l.seen = len(l.buf)
		if l.err != nil {
			return nil, l.err
		}
		l.fill()
	}
}

// lineEnd counts the bytes before a line end. It looks at a few at a time: the
// one kind of line end may be far behind the other.
func lineEnd(b []byte) int {
	for at := 0; at < len(b); {
		few := b[at:min(at+256, len(b))]
		if i := bytes.IndexByte(few, '\n'); i >= 0 {
			few = few[:i]
		}
		if i := bytes.IndexByte(few, '\r'); i >= 0 {
			few = few[:i]
		}
		if at += len(few); at < len(b) && (b[at] == '\n' || b[at] == '\r') {
			return at
		}
	}
	return len(b)
}

// fill reads once, after making room for it.
func (l *lines) fill() {
	if l.lo > 0 {
		n := copy(l.buf, l.buf[l.lo:])
		l.buf, l.seen, l.lo = l.buf[:n], l.seen-l.lo, 0
	}
	if cap(l.buf)-len(l.buf) < readSize {
		grown := make([]byte, len(l.buf), 2*cap(l.buf)+readSize)
		copy(grown, l.buf)
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf, l.err = l.buf[:len(l.buf)+n], err
}

// first drops a byte order mark from the first line.
func (l *lines) first(line []byte) []byte {
	if l.begun {
		return line
	}
	l.begun = true
	return bytes.TrimPrefix(line, []byte("\uFEFF"))
}
