package tool

import (
	"strings"
	"unicode/utf8"
)

// Bounds of an escape sequence. What goes on for longer is no sequence, and
// its text is kept.
const (
	maxControlSequence = 128  // bytes of parameters
	maxControlString   = 4096 // bytes of a title, a link or the like
)

const escape = 0x1b

// Clean makes text of unknown origin fit for a model, a journal and a screen:
// valid UTF-8 (a run of invalid bytes becomes one U+FFFD), without terminal
// escape sequences and without control characters other than \n and \t. A
// carriage return within a line drops what it would have overwritten, so that
// only the last state of a progress line remains. Clean text is returned as it
// is, without a copy. The work grows with the size of s, whatever it holds.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	c := cleaner{in: s, out: make([]byte, 0, len(s))}
	c.clean()
	return string(c.out)
}

func isClean(s string) bool {
	for i := 0; i < len(s); {
		if i+8 <= len(s) && isPlain8(s[i:i+8]) {
			i += 8
			continue
		}
		if b := s[i]; b < utf8.RuneSelf {
			if b < 0x20 && b != '\n' && b != '\t' || b == 0x7f {
				return false
			}
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		if r < 0xa0 || r == utf8.RuneError && w == 1 {
			return false
		}
		i += w
	}
	return true
}

// isPlain8 reports whether eight bytes are printable ASCII. Output has few
// others, and eight cost hardly more than one.
func isPlain8(s string) bool {
	const (
		each = 0x0101010101010101
		high = 0x8080808080808080
	)
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	// Below 0x20 the first term borrows, from 0x7f on the second one carries.
	return ((w-each*0x20)|(w+each)|w)&high == 0
}

type cleaner struct {
	in        string
	out       []byte
	lineStart int  // index in out
	overwrite bool // a carriage return came last
	invalid   bool // an invalid byte came last
	end       controlEnd
}

func (c *cleaner) clean() {
	for i := 0; i < len(c.in); {
		i += c.step(i)
	}
}

// step consumes one unit of the text at i and returns its size in bytes.
func (c *cleaner) step(i int) int {
	s := c.in[i:]
	r, w := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && w == 1 {
		if !c.invalid {
			c.write(string(utf8.RuneError))
		}
		c.invalid = true
		return 1
	}
	c.invalid = false
	switch {
	case r == '\n':
		c.out = append(c.out, '\n')
		c.lineStart, c.overwrite = len(c.out), false
	case r == '\r':
		c.overwrite = true
	case r == escape:
		return c.escapeSize(i)
	case 0x80 <= r && r < 0xa0: // the same introducers as one character
		return w + c.sequenceSize(byte(r)-0x40, i+w)
	case r == '\t' || r >= 0x20 && r != 0x7f:
		c.write(s[:w])
	}
	return w
}

func (c *cleaner) write(s string) {
	if c.overwrite {
		c.out, c.overwrite = c.out[:c.lineStart], false
	}
	c.out = append(c.out, s...)
}

// escapeSize returns the size of the escape sequence at i.
func (c *cleaner) escapeSize(i int) int {
	s := c.in[i:]
	if len(s) < 2 {
		return 1
	}
	switch b := s[1]; {
	case 0x20 <= b && b < 0x30: // intermediate bytes, then a final one
		n := 2
		for n < len(s) && n < maxControlSequence && 0x20 <= s[n] && s[n] < 0x30 {
			n++
		}
		if n < len(s) && 0x30 <= s[n] && s[n] < 0x7f {
			n++
		}
		return n
	case 0x30 <= b && b < 0x7f:
		return 2 + c.sequenceSize(b, i+2)
	}
	return 1
}

// sequenceSize returns how many bytes at i belong to the sequence that the
// introducer (as the byte behind an ESC) began.
func (c *cleaner) sequenceSize(introducer byte, i int) int {
	switch introducer {
	case '[':
		return controlSequenceSize(c.in[i:])
	case ']', 'P', 'X', '^', '_':
		return c.end.sizeFrom(c.in, i)
	}
	return 0
}

func controlSequenceSize(s string) int {
	n := 0
	for n < len(s) && 0x30 <= s[n] && s[n] < 0x40 {
		n++
	}
	for n < len(s) && 0x20 <= s[n] && s[n] < 0x30 {
		n++
	}
	if n > maxControlSequence {
		return 0
	}
	if n < len(s) && 0x40 <= s[n] && s[n] < 0x7f {
		n++
	}
	return n
}

// controlEnd finds where control strings end: at a terminator on the same
// line. It remembers what it saw, so that strings that nobody ends do not make
// it look at the same text again and again.
type controlEnd struct {
	at     int // of the first end behind the last string; len(in): there is none
	size   int // of the terminator; 0: a line ends there, or the text
	looked int // bytes that were looked at: never more than len(in)
}

// sizeFrom returns the size of the control string whose text is at in[i:],
// with its terminator; i never decreases. Without one that is near enough the text is no control
// string, nothing of it is lost, and the size is 0.
func (e *controlEnd) sizeFrom(in string, i int) int {
	if e.looked == 0 || i > e.at {
		e.look(in, i)
	}
	if n := e.at + e.size - i; e.size > 0 && n <= maxControlString {
		return n
	}
	return 0
}

func (e *controlEnd) look(in string, i int) {
	e.at, e.size = i, 0
	for ; e.at < len(in); e.at++ {
		e.looked++
		switch rest := in[e.at:]; {
		case rest[0] == '\n':
			return
		case rest[0] == '\a':
			e.size = 1
			return
		case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
			e.size = 2
			return
		}
	}
}
