package kernel

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the largest name of a person or a tenant, in bytes.
const MaxName = 200

// IsName reports whether a text can name somebody: 1 to MaxName bytes of
// printable UTF-8, without white space around it. Two names that differ then
// look different, as far as letters do: nobody is somebody else by a blank, a
// control character or another one that does not show.
func IsName(s string) bool {
	return s != "" && len(s) <= MaxName && utf8.ValidString(s) && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
