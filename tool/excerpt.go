package tool

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// minExcerpt is the smallest size that leaves room for text beside the words
// that say what was left out.
const minExcerpt = 64

// Bound shortens clean text to at most size bytes (at least 64 count): its
// head, "[N bytes omitted]" on a line of its own, and its tail. It cuts
// between characters as a reader sees them, and returns N.
func Bound(s string, size int) (string, int64) {
	if size = max(size, minExcerpt); len(s) <= size {
		return s, 0
	}
	room := size - len(omission(int64(len(s))))
	head := cutHead(s, room/2)
	tail := cutTail(s, room-len(head))
	omitted := int64(len(s) - len(head) - len(tail))
	return head + omission(omitted) + tail, omitted
}

// Excerpt is Bound for clean text whose middle was never kept: head, omitted
// bytes, tail. Its count includes them.
func Excerpt(head, tail string, omitted int64, size int) (string, int64) {
	if omitted == 0 {
		return Bound(head+tail, size)
	}
	all := omitted + int64(len(head)) + int64(len(tail))
	room := max(size, minExcerpt) - len(omission(all))
	h := cutHead(head, max(room/2, room-len(tail)))
	t := cutTail(tail, room-len(h))
	omitted = all - int64(len(h)) - int64(len(t))
	return h + omission(omitted) + t, omitted
}

// TrimCut drops what is left of the characters that were cut in two where head
// ends and where tail begins.
func TrimCut(head, tail []byte) (trimmedHead, trimmedTail []byte) {
	for i := range min(utf8.UTFMax, len(head)) {
		if at := len(head) - 1 - i; utf8.RuneStart(head[at]) {
			if !utf8.FullRune(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	for i := range min(utf8.UTFMax, len(tail)) {
		if utf8.RuneStart(tail[i]) {
			tail = tail[i:]
			break
		}
	}
	return head, tail
}

func omission(n int64) string {
	return "\n[" + strconv.FormatInt(n, 10) + " bytes omitted]\n"
}

// clusterReach bounds, in characters, how far a cut moves to keep together
// what is drawn as one. Longer chains are cut between characters.
const clusterReach = 32

// cutHead returns the longest beginning of s of at most n bytes that does not
// part a character from its marks.
func cutHead(s string, n int) string {
	if n >= len(s) {
		return s
	}
	at := max(n, 0)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	cut := at
	for range clusterReach {
		if !joined(s, cut) {
			return s[:cut]
		}
		_, w := utf8.DecodeLastRuneInString(s[:cut])
		cut -= w
	}
	return s[:at]
}

// cutTail is cutHead for the end of s.
func cutTail(s string, n int) string {
	if n >= len(s) {
		return s
	}
	at := len(s) - max(n, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	cut := at
	for range clusterReach {
		if !joined(s, cut) {
			return s[cut:]
		}
		_, w := utf8.DecodeRuneInString(s[cut:])
		cut += w
	}
	return s[at:]
}

const zeroWidthJoiner = '\u200d'

// joined reports whether the characters on both sides of s[at] are drawn as
// one: a mark, a joined emoji, a flag.
func joined(s string, at int) bool {
	if at <= 0 || at >= len(s) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at:])
	switch {
	case after < 0x300 && before != zeroWidthJoiner:
		return false
	case before == zeroWidthJoiner, after == zeroWidthJoiner, unicode.Is(unicode.M, after):
		return true
	case 0x1f3fb <= after && after <= 0x1f3ff: // skin tones
		return true
	case 0xe0020 <= after && after <= 0xe007f: // tags of regional flags
		return true
	case isRegional(after):
		return regionalsBefore(s[:at])%2 == 1
	}
	return false
}

func isRegional(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

// maxFlags bounds the row of flags, in halves, that is counted to find where
// one begins.
const maxFlags = 1024

// regionalsBefore counts the regional indicators at the end of s; two of them
// make a flag.
func regionalsBefore(s string) int {
	n := 0
	for n < maxFlags {
		r, w := utf8.DecodeLastRuneInString(s)
		if !isRegional(r) {
			break
		}
		s = s[:len(s)-w]
		n++
	}
	return n
}
