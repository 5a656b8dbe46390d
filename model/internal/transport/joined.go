package transport

import (
	"slices"
	"strings"
)

// Joined is the text of JSON strings that arrive in pieces. A character that a
// pair of escapes names is whole again when its halves come in two pieces
// (Report A40). The zero value is an empty text; do not copy it.
type Joined struct {
	first string // the text, while it is one that is no JSON
	text  strings.Builder
	high  []byte // the escape of half a character, whose other half may come
	lossy bool   // half a character was replaced
}

// Add adds a piece, which is a JSON string with its quotes that Decode or Parse
// accepted, and returns what it adds to the text. Any other value adds nothing.
func (j *Joined) Add(piece []byte) string {
	if len(piece) < 2 || piece[0] != '"' {
		return ""
	}
	if j.high != nil {
		piece = slices.Concat([]byte{'"'}, j.high, piece[1:])
	}
	j.high = nil
	if n := len(piece) - len(`\u0000"`); endsHigh(piece) {
		j.high = slices.Clone(piece[n : len(piece)-1])
		piece = append(slices.Clone(piece[:n]), '"')
	}
	j.settle()
	before := j.text.Len()
	j.lossy = !unquote(&j.text, piece) || j.lossy
	return j.text.String()[before:]
}

// AddText adds text that is no JSON.
func (j *Joined) AddText(s string) {
	if j.first == "" && j.text.Len() == 0 {
		j.first = s
		return
	}
	j.settle()
	j.text.WriteString(s)
}

func (j *Joined) settle() {
	j.text.WriteString(j.first)
	j.first = ""
}

// Len is the length of the text so far, in bytes.
func (j *Joined) Len() int { return len(j.first) + j.text.Len() + len(j.rest()) }

// Lossy tells whether String has a U+FFFD where half a character arrived.
func (j *Joined) Lossy() bool { return j.lossy || j.high != nil }

// String returns the text so far. Half a character is one U+FFFD.
func (j *Joined) String() string { return j.first + j.text.String() + j.rest() }

func (j *Joined) rest() string {
	if j.high == nil {
		return ""
	}
	return replacement
}

// endsHigh tells whether a JSON string ends in the escape of a high surrogate.
func endsHigh(s []byte) bool {
	n := len(s) - len(`\u0000"`)
	if n < 1 || s[n] != '\\' {
		return false
	}
	u, ok := escape(s[n : len(s)-1])
	if !ok || u < 0xD800 || u > 0xDBFF {
		return false
	}
	backslashes := 0 // before it: an odd one escapes the escape
	for s[n-1-backslashes] == '\\' {
		backslashes++
	}
	return backslashes%2 == 0
}
