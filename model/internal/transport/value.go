package transport

import (
	"bytes"
	"strconv"
)

// Value is the text of one JSON value within a text that Parse accepted,
// without space around it; empty: absent. Reading values where they lie costs
// a fraction of what decoding into structs does, which matters for a stream
// that wraps each word in an envelope.
//
// Of members that are there twice the reader decides; a name that is written
// with escapes is no name that anybody looks for.
type Value []byte

// Parse returns the JSON value that is data, with bytes that are no UTF-8
// replaced, and false when data is not exactly one.
func Parse(data []byte) (Value, bool) {
	data = ValidUTF8(data)
	if !Valid(data) {
		return nil, false
	}
	return bytes.Trim(data, " \t\r\n"), true
}

// Null tells a value that is null or absent.
func (v Value) Null() bool { return len(v) == 0 || v[0] == 'n' }

// Text returns what a string says: "" and true for null, false for any other
// value.
func (v Value) Text() (string, bool) {
	if v.Null() {
		return "", true
	}
	return Unquote(v), v[0] == '"'
}

// Int returns an integer: 0 and true for null, false for a number that is not
// written as one or does not fit, and for any other value.
func (v Value) Int() (int64, bool) {
	if v.Null() {
		return 0, true
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// Members yields the members of an object, and nothing for any other value.
func (v Value) Members(yield func(name []byte, member Value) bool) {
	if len(v) == 0 || v[0] != '{' {
		return
	}
	for at := space(v, 1); v[at] != '}'; {
		end := stringEnd(v, at)
		name := v[at+1 : end-1]
		at = space(v, space(v, end)+len(":"))
		end = valueEnd(v, at)
		if !yield(name, v[at:end]) {
			return
		}
		at = next(v, end)
	}
}

// Elements yields the elements of an array, and nothing for any other value.
func (v Value) Elements(yield func(Value) bool) {
	if len(v) == 0 || v[0] != '[' {
		return
	}
	for at := space(v, 1); v[at] != ']'; {
		end := valueEnd(v, at)
		if !yield(v[at:end]) {
			return
		}
		at = next(v, end)
	}
}

// The functions below walk through JSON that is known to be valid: what they
// look for is there.

// next returns where the next member or element begins, or where the bracket
// stands that closes the list.
func next(b []byte, at int) int {
	at = space(b, at)
	if b[at] == ',' {
		at = space(b, at+1)
	}
	return at
}

func space(b []byte, at int) int {
	for b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r' {
		at++
	}
	return at
}

// valueEnd returns where the value ends that begins at at.
func valueEnd(b []byte, at int) int {
	switch b[at] {
	case '"':
		return stringEnd(b, at)
	case '{', '[':
		return listEnd(b, at)
	}
	for at < len(b) && b[at] != ',' && b[at] != '}' && b[at] != ']' && b[at] > ' ' {
		at++
	}
	return at
}

func stringEnd(b []byte, at int) int {
	for at++; b[at] != '"'; at++ {
		if b[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func listEnd(b []byte, at int) int {
	for depth := 0; ; {
		switch b[at] {
		case '"':
			at = stringEnd(b, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}
