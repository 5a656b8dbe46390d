package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// quoteArgument quotes s for a shell where it needs to be. What a line cannot show
// is written by its bytes, as bash, zsh and ksh read them.
func quoteArgument(s string) string {
	if strings.ContainsFunc(s, unfit) || !utf8.ValidString(s) {
		return quoteBytes(s)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteBytes(s string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case unfit(r) || r == utf8.RuneError && size == 1:
			for _, c := range []byte(s[:size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return "$'" + b.String() + "'"
}
