package retrieval

import (
	"fmt"
	"strings"
	"unicode"
)

// legible returns s as people see it: without white space around it and without
// characters that take no room. A text that would show something else than it
// says, or that somebody has already lost characters of, is an error.
func legible(s string) (string, error) {
	line := 1
	for _, r := range s {
		if why := unseen(r); why != "" {
			return "", fmt.Errorf("line %d holds %U, %s", line, r, why)
		}
		if r == '\n' {
			line++
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == lineSeparator || r == paragraphSeparator {
			return '\n'
		}
		if unicode.Is(unicode.Cf, r) && r != zeroWidthJoiner && r != zeroWidthNonJoiner {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s), nil
}

const (
	zeroWidthNonJoiner = '\u200c' // both belong to words of some languages
	zeroWidthJoiner    = '\u200d'
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
)

// unseen says what is wrong with a character; nothing: "".
func unseen(r rune) string {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return ""
	case unicode.IsControl(r):
		return "a control character"
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return "which shows text in another order than it has"
	case r >= 0xE0000 && r <= 0xE007F:
		return "a letter that nobody sees"
	case r == unicode.ReplacementChar:
		return "which stands for a character that was lost before"
	case unicode.Is(unicode.Co, r):
		return "which has no meaning outside of one font"
	case r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF:
		return "which is no character"
	}
	return ""
}
