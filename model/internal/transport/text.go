package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
)

const replacement = "\uFFFD"

// ValidUTF8 returns b with one U+FFFD for each maximal subpart of an
// ill-formed sequence (Unicode, 3.9): a character cut in two gives one, two
// stray bytes give two. It returns b itself when there is nothing to replace.
func ValidUTF8(b []byte) []byte {
	text, _ := validUTF8(b)
	return text
}

// validUTF8 tells too whether there was something to replace.
func validUTF8(b []byte) (text []byte, lossy bool) {
	if utf8.Valid(b) {
		return b, false
	}
	out := make([]byte, 0, len(b)+len(replacement))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			out = append(out, replacement...)
			b = b[subpart(b):]
			continue
		}
		out = append(out, b[:n]...)
		b = b[n:]
	}
	return out, true
}

// subpart returns the length of the maximal subpart at the start of s, which
// is ill-formed there.
func subpart[T string | []byte](s T) int {
	lo, hi, size := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		size = 2
	case c >= 0xE0 && c <= 0xEF:
		size = 3
		if c == 0xE0 {
			lo = 0xA0
		}
		if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		size = 4
		if c == 0xF0 {
			lo = 0x90
		}
		if c == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for n < size-1 && n < len(s) && s[n] >= lo && s[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}

// AppendString appends s as a JSON string: valid UTF-8 whatever s holds, and
// no escape that JSON does not demand.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string(ValidUTF8([]byte(s)))
	}
	return kernel.AppendValid(dst, s)
}

// AppendUnquoted is AppendString of a text that may have been quoted before, which
// is then not copied: at is where it belongs. nil: it was not, and at is below 0.
func AppendUnquoted(b []byte, s string, quoted []byte) (all []byte, at int) {
	if quoted == nil {
		return AppendString(b, s), -1
	}
	return b, len(b)
}

// PairSurrogates returns JSON text with each escape of a lone surrogate
// replaced by one of U+FFFD: strict endpoints refuse it. Every other byte
// stays.
func PairSurrogates(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var out strings.Builder
	start := 0
	for i := 0; i+1 < len(text); {
		if text[i] != '\\' {
			i++
			continue
		}
		u, ok := escape(text[i:])
		if !ok || u < 0xD800 || u > 0xDFFF {
			i += 2 // the escaped character is no backslash of its own
			continue
		}
		low, ok := escape(text[min(i+6, len(text)):])
		if u < 0xDC00 && ok && low >= 0xDC00 && low <= 0xDFFF {
			i += 12
			continue
		}
		out.WriteString(text[start:i])
		out.WriteString(`\ufffd`)
		i += 6
		start = i
	}
	if start == 0 {
		return text
	}
	out.WriteString(text[start:])
	return out.String()
}

// escape reads a \uXXXX at the start of s.
func escape[T string | []byte](s T) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Object returns text, which must be one JSON object, as strict endpoints take
// it: valid UTF-8, no lone surrogate, every other byte as it is. It reports
// whether it was one.
func Object(text string) (string, bool) {
	if !utf8.ValidString(text) {
		text = string(ValidUTF8([]byte(text)))
	}
	text = PairSurrogates(text)
	b := []byte(text)
	return text, IsObject(b) && Valid(b)
}

// IsObject tells whether JSON text is an object by its first character.
func IsObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{'
}

// Decode parses the JSON value that is data, with bytes that are no UTF-8
// replaced, into v. A value of the wrong type is left out and named by fault,
// since the rest can still be told; what is no JSON at all is the error. lossy
// tells whether bytes were replaced. A repeated key is accepted as encoding/json does;
// where what came first must not get lost, the type of the field sees to it.
func Decode(data []byte, v any) (fault string, lossy bool, err error) {
	data, lossy = validUTF8(data)
	if err = json.Unmarshal(data, v); err == nil {
		return "", lossy, nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "a field of the reply has the wrong type: " + wrong.Field, lossy, nil
	}
	return "", lossy, err
}

// Lost tells whether a value of a text in which bytes were replaced is one of
// those that changed. It may take a U+FFFD that arrived for one.
func Lost(value []byte) bool { return bytes.Contains(value, []byte(replacement)) }

// Unquote returns the text of a JSON string that Decode or a Scan accepted, and
// "" for any other value.
func Unquote(raw []byte) string {
	var out strings.Builder
	unquote(&out, raw)
	return out.String()
}

// unquote appends the text of a JSON string, and tells whether it is whole: half
// a character is replaced.
func unquote(out *strings.Builder, raw []byte) (whole bool) {
	whole = true
	if len(raw) < 2 || raw[0] != '"' {
		return whole
	}
	rest := raw[1 : len(raw)-1]
	if out.Len() == 0 {
		out.Grow(len(rest))
	}
	for {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			out.Write(rest)
			return whole
		}
		out.Write(rest[:i])
		r, n := unescape(rest[i:])
		if r == utf8.RuneError {
			u, _ := escape(rest[i:])
			whole = whole && u == r
		}
		out.WriteRune(r)
		rest = rest[i+n:]
	}
}

// unescape returns the character that an escape at the start of s stands for,
// U+FFFD for half a one, and the length of the escape.
func unescape(s []byte) (r rune, length int) {
	if at := strings.IndexByte(`"\/bfnrt`, s[1]); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	const one = len(`\u0000`)
	r, _ = escape(s)
	if !utf16.IsSurrogate(r) {
		return r, one
	}
	low, _ := escape(s[one:])
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return r, one
	}
	return r, 2 * one
}

// EndsEarly tells JSON text that is cut off from text that is broken.
func EndsEarly(data []byte) bool {
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&v)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Other returns the neutral name of what a wire calls name and this module
// does not know: "other:NAME", of at most 64 plain characters.
func Other(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '?'
	}, name)
	return "other:" + plain[:min(len(plain), 64)]
}

// Tokens returns the sum of counts, and false when one is absurd: a usage that
// cannot be true counts as not reported.
func Tokens(counts ...int64) (int64, bool) {
	var sum int64
	for _, n := range counts {
		if n < 0 || n > 1<<50 {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// BadMessage is a message of the history that the wire cannot carry.
func BadMessage(what string) error {
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: what}
}
