package kernel

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// AppendString appends s as a JSON string of the codec: with the shortest
// escapes, and U+FFFD for each byte that is no UTF-8.
func AppendString(b []byte, s string) []byte {
	if plain(s) {
		return appendPlain(roomFor(b, len(s)), s)
	}
	return AppendValid(b, repair(s))
}

// AppendValid is AppendString of what is valid UTF-8.
func AppendValid(b []byte, s string) []byte {
	if plain(s) {
		return appendPlain(roomFor(b, len(s)), s)
	}
	longer := strings.Count(s, `"`) + strings.Count(s, `\`) + strings.Count(s, "\n") // by the escapes that texts have
	return appendString(roomFor(b, len(s)+longer), s)
}

// roomFor grows b where n bytes in quotes do not fit: for them, and for a little
// that may follow.
func roomFor(b []byte, n int) []byte {
	if cap(b)-len(b) >= n+len(`""`) {
		return b
	}
	return slices.Grow(b, n+64)
}

// plain reports that s is ASCII without an escape, as most texts are: it is what
// it says.
func plain(s string) bool {
	for len(s) >= 8 {
		if w := eight(s); escapes(w)|w&highBits != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendPlain(b []byte, s string) []byte {
	return append(append(append(b, '"'), s...), '"')
}

// appendString writes s as a JSON string with the shortest escapes. Texts are
// long and some have an escape in every few bytes, so that eight are looked at
// and written at a time, and those behind an escape once more.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for ; len(s) >= 8; s = s[8:] {
		w, left := eight(s), uint(8)
		for found := escapes(w); found != 0; {
			n := uint(bits.TrailingZeros64(found)) / 8
			out = appendFirst(out, w, n)
			if c := byte(w >> (8 * n)); c >= 0x20 { // a quote or a backslash
				out = append(out, '\\', c)
			} else {
				out = appendEscape(out, c)
			}
			n++
			w, found, left = w>>(8*n), found>>(8*n), left-n
		}
		out = appendFirst(out, w, left)
	}
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			out = appendEscape(out, c)
		} else {
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// appendFirst appends the first n of eight bytes.
func appendFirst(out []byte, w uint64, n uint) []byte {
	end := uint(len(out)) + n
	return append(out, byte(w), byte(w>>8), byte(w>>16), byte(w>>24), byte(w>>32), byte(w>>40), byte(w>>48), byte(w>>56))[:end]
}

// eight is the first eight bytes of s, the first one lowest.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// highBits are the high bits of eight bytes.
const highBits = 0x8080808080808080

// escapes is the high bit of each of eight bytes that needs an escape: it is below
// 0x20, a quote or a backslash. No sum goes over its byte.
func escapes(w uint64) uint64 {
	const (
		each = 0x0101010101010101
		low  = each * 0x7f
	)
	quote, backslash := w^each*'"', w^each*'\\'
	none := (w&low + each*0x60 | w) & (quote&low + low | quote) & (backslash&low + low | backslash)
	return ^none & highBits
}

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	}
	const hexDigits = "0123456789abcdef"
	if i := strings.IndexByte("\b\f\r\t", c); i >= 0 {
		return append(out, '\\', `bfrt`[i])
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
