package desk

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

// TextFault says what is wrong with a text.
type TextFault string

// The faults.
const (
	TextEmpty    TextFault = "empty"    // nothing but white space
	TextTooLong  TextFault = "too_long" // over the most characters
	TextInvalid  TextFault = "invalid"  // not valid UTF-8
	TextControls TextFault = "controls" // control characters other than line breaks and tabs
)

// TextError is the Err of an INVALID_ARGUMENT about a text, for whoever tells it
// in words of their own.
type TextError struct {
	Name  string // what the text is, such as the subject
	Fault TextFault
	Has   int // characters
	Most  int // characters that are allowed
}

// Error says what is wrong, in English, and nothing of what the text says.
func (e *TextError) Error() string {
	switch e.Fault {
	case TextEmpty:
		return e.Name + " is empty"
	case TextTooLong:
		return fmt.Sprintf("%s has %d characters; at most %d are allowed", e.Name, e.Has, e.Most)
	case TextInvalid:
		return e.Name + " is not valid UTF-8"
	case TextControls:
	}
	return e.Name + " holds control characters"
}

// Text returns s without the white space around it, as the desk keeps it:
// INVALID_ARGUMENT with a *TextError where that is empty, has over most
// characters, is not valid UTF-8 or holds control characters other than line
// breaks and tabs. name says what it is.
func Text(s, name string, most int) (string, error) {
	wrong := func(f TextFault, has int) (string, error) {
		e := &TextError{Name: name, Fault: f, Has: has, Most: most}
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: e.Error(), Err: e}
	}
	if !utf8.ValidString(s) {
		return wrong(TextInvalid, 0)
	}
	s = strings.TrimSpace(s)
	has := utf8.RuneCountInString(s)
	switch {
	case s == "":
		return wrong(TextEmpty, has)
	case has > most:
		return wrong(TextTooLong, has)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }):
		return wrong(TextControls, has)
	}
	return s, nil
}
