package desk

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without the white space around it, as the desk keeps it:
// INVALID_ARGUMENT where that is empty, has over max characters, is not valid
// UTF-8 or holds control characters other than line breaks and tabs. name says
// what it is.
func Text(s, name string, most int) (string, error) {
	if !utf8.ValidString(s) {
		return "", invalid(name + " is not valid UTF-8")
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return "", invalid(name + " is empty")
	case utf8.RuneCountInString(s) > most:
		return "", invalid(fmt.Sprintf("%s has %d characters; at most %d are allowed", name, utf8.RuneCountInString(s), most))
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }):
		return "", invalid(name + " holds control characters")
	}
	return s, nil
}
