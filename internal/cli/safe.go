package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPreview bounds what the timeline shows of a content, in bytes.
const maxPreview = 200

// preview makes one line of at most maxPreview bytes out of any text.
func preview(s string) string { return previewIn(s, maxPreview) }

// previewIn does it in at most limit bytes. What was cut ends in "…".
func previewIn(s string, limit int) string {
	s = strings.TrimSpace(s)
	if len(s) > 2*limit {
		s = s[:2*limit] // what is left of a split rune is cut below
	}
	s = safeLine(s)
	if len(s) <= limit {
		return s
	}
	n := limit - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// safeLine makes a line of s: what could break it, move the cursor, hide text
// or reverse it is escaped.
func safeLine(s string) string {
	return escape(s, unfit)
}

// safeLines does the same and keeps line breaks and tabs.
func safeLines(s string) string {
	return escape(s, func(r rune) bool { return unfit(r) && r != '\n' && r != '\t' })
}

// exactLines is for what a person decides on: it keeps line breaks and escapes
// everything invisible, so that no two different texts look the same because
// of it.
func exactLines(s string) string {
	return escape(s, func(r rune) bool { return hidden(r) && r != '\n' })
}

func escape(s string, hide func(rune) bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, hide) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hide(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// unfit reports what no line may hold.
func unfit(r rune) bool { return hidden(r) && !joiner(r) }

// hidden reports control characters, line separators and format characters,
// bidirectional overrides among them.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// joiner reports the two format characters that ordinary text is written with:
// emoji families and several scripts need them.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }
