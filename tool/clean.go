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
// is, without a copy.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	c := cleaner{out: make([]byte, 0, len(s))}
	for i := 0; i < len(s); {
		i += c.step(s[i:])
	}
	return string(c.out)
}

func isClean(s string) bool {
	for i := 0; i < len(s); {
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

type cleaner struct {
	out       []byte
	lineStart int  // index in out
	overwrite bool // a carriage return came last
	invalid   bool // an invalid byte came last
}

// step consumes one unit of a non-empty s and returns its size in bytes.
func (c *cleaner) step(s string) int {
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
		return escapeSize(s)
	case 0x80 <= r && r < 0xa0: // the same introducers as one character
		return w + sequenceSize(byte(r)-0x40, s[w:])
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

// escapeSize returns the size of the escape sequence that s begins with.
func escapeSize(s string) int {
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
		return 2 + sequenceSize(b, s[2:])
	}
	return 1
}

// sequenceSize returns how many bytes of s belong to the sequence that the
// introducer (as the byte behind an ESC) began.
func sequenceSize(introducer byte, s string) int {
	switch introducer {
	case '[':
		return controlSequenceSize(s)
	case ']', 'P', 'X', '^', '_':
		return controlStringSize(s)
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

// controlStringSize looks for the terminator of a control string. Without one
// on the same line the text is no control string, and nothing of it is lost.
func controlStringSize(s string) int {
	window := s[:min(len(s), maxControlString)]
	if i := strings.IndexByte(window, '\n'); i >= 0 {
		window = window[:i]
	}
	for i := range len(window) {
		switch rest := window[i:]; {
		case rest[0] == '\a':
			return i + 1
		case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
			return i + 2
		}
	}
	return 0
}
