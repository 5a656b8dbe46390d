// Package unseen knows the characters of which people see something else than is
// there, or nothing.
package unseen

import "unicode"

const (
	zeroWidthNonJoiner = '\u200c' // both belong to words of some languages
	zeroWidthJoiner    = '\u200d'
)

// Why says what is wrong with a character that no text should have; nothing: "".
func Why(r rune) string {
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

// TakesNoRoom reports whether a character only controls how others are shown, and
// belongs to no word.
func TakesNoRoom(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != zeroWidthJoiner && r != zeroWidthNonJoiner
}

// BreaksLine reports whether a line ends at a character.
func BreaksLine(r rune) bool {
	return r == '\n' || r == '\r' || unicode.In(r, unicode.Zl, unicode.Zp)
}
