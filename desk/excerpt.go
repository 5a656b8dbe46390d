package desk

import (
	"strings"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/tool"
)

// The bounds of what search_policies shows, in bytes of its result.
const (
	maxExcerpt = 3 << 10              // of one body
	maxFacts   = (MaxFound * 6) << 10 // of the whole result, which nothing is then cut from
	cutMark    = "…"
)

// encoded is how many bytes a text takes in a result.
func encoded(text string) int {
	b, err := tool.Encode(text)
	if err != nil { // cannot happen: a text
		return len(text)
	}
	return len(b)
}

// excerpt is the part of a text, of at most size bytes in a result, that has the
// most of these words; the first of equals.
func excerpt(text string, words []string, size int) string {
	size -= 2*len(cutMark) + 2
	best, most := 0, -1
	for from := 0; from < len(text); from = aligned(text, from+size/4) {
		part := strings.ToLower(text[from:aligned(text, from+size)])
		has := 0
		for _, w := range words {
			if strings.Contains(part, w) {
				has++
			}
		}
		if has > most {
			best, most = from, has
		}
	}
	part := text[best:aligned(text, best+size)]
	for encoded(part) > size+2 {
		part = part[:aligned(part, len(part)-max(1, (encoded(part)-size)/6))]
	}
	if best > 0 {
		part = cutMark + part
	}
	return part + cutMark
}

// aligned is the end of a text, or the place at or before at where a character begins.
func aligned(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
