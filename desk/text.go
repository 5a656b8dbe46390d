package desk

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/desk/internal/unseen"
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
	TextUnseen   TextFault = "unseen"   // a character that shows something else than is there, or nothing
	TextLines    TextFault = "lines"    // line breaks or tabs, where one line is allowed
)

// TextError is the Err of an INVALID_ARGUMENT about a text, for whoever tells it
// in words of their own.
type TextError struct {
	Name  string // what the text is, such as the subject
	Fault TextFault
	Has   int  // characters
	Most  int  // characters that are allowed
	Rune  rune // that is unseen
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
	case TextUnseen:
		return fmt.Sprintf("%s holds %U, %s", e.Name, e.Rune, cmp.Or(unseen.Why(e.Rune), "which nobody sees"))
	case TextLines:
		return e.Name + " has line breaks or tabs, and is one line"
	case TextControls:
	}
	return e.Name + " holds control characters"
}

func (e *TextError) refusal() error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: e.Error(), Hint: e.Hint(), Err: e}
}

// Hint says what to do about it, in English.
func (e *TextError) Hint() string {
	switch e.Fault {
	case TextEmpty:
		return "write something"
	case TextTooLong:
		return "say it in fewer words"
	case TextInvalid:
		return "write it as UTF-8"
	case TextLines:
		return "write it on one line"
	case TextControls, TextUnseen:
	}
	return "leave them out"
}

// Text returns s without the white space around it, as the desk keeps it:
// INVALID_ARGUMENT with a *TextError where that is empty, has over most
// characters, is not valid UTF-8 or holds control characters other than line
// breaks and tabs. name says what it is.
func Text(s, name string, most int) (string, error) {
	wrong := func(f TextFault, has int) (string, error) {
		return "", (&TextError{Name: name, Fault: f, Has: has, Most: most}).refusal()
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

// Legible is [Text] for what a person decides on: what they see of it is all that
// it says. It also refuses characters that turn the order of others around, take
// no room and belong to no word, or stand for nothing.
func Legible(s, name string, most int) (string, error) {
	s, err := Text(s, name, most)
	if err != nil {
		return "", err
	}
	for _, r := range s {
		if unseen.Why(r) != "" || unseen.TakesNoRoom(r) {
			return "", (&TextError{Name: name, Fault: TextUnseen, Most: most, Rune: r}).refusal()
		}
	}
	return s, nil
}

// Line is [Legible] for one line, without tabs.
func Line(s, name string, most int) (string, error) {
	s, err := Legible(s, name, most)
	if err == nil && strings.ContainsFunc(s, func(r rune) bool { return r == '\t' || unseen.BreaksLine(r) }) {
		return "", (&TextError{Name: name, Fault: TextLines, Most: most}).refusal()
	}
	return s, err
}
