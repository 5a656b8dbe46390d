package pdf

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A lexer cuts a stream of operations into what they are made of: float64,
// literal (a string), name, operator, and []any for an array. A dictionary is
// nil. It takes each byte once, so that it ends whatever the bytes are; it ends
// before that with an error where they ask for too much.
type lexer struct {
	data  []byte
	at    int
	spend func() error // is asked for each token
	since int          // tokens since an operator
	err   error
}

type (
	literal  string
	name     string
	operator string
)

const maxNesting = 32

// next returns what comes next; more is false at the end, and at an error.
func (l *lexer) next() (token any, more bool) {
	token, more = l.token(maxNesting)
	if _, isOperator := token.(operator); isOperator {
		l.since = 0
	}
	return token, more && l.err == nil
}

func (l *lexer) token(depth int) (token any, more bool) {
	l.blank()
	if l.at >= len(l.data) || !l.may() {
		return nil, false
	}
	c := l.data[l.at]
	l.at++
	switch {
	case c == '(':
		return l.round(), true
	case c == '<' && l.peek() == '<':
		l.at++
		l.collect(">>", depth)
		return nil, true
	case c == '<':
		return l.hex(), true
	case c == '>' && l.peek() == '>':
		l.at++
		return operator(">>"), true
	case c == '[':
		return l.collect("]", depth), true
	case c == '/':
		return name(l.unescaped(l.word())), true
	case strings.IndexByte(")>]{}", c) >= 0:
		return operator(c), true
	}
	l.at--
	word := l.word()
	if number, err := strconv.ParseFloat(word, 64); err == nil && (c < 'A' || c > 'z') && !math.IsInf(number, 0) && !math.IsNaN(number) {
		return number, true
	}
	return operator(word), true
}

// may counts a token.
func (l *lexer) may() bool {
	if l.since++; l.err == nil && l.since > maxOperands {
		l.err = fmt.Errorf("it has over %d operands in a row", maxOperands)
	}
	if l.err == nil {
		l.err = l.spend()
	}
	return l.err == nil
}

// fits bounds a string or a word while it is put together.
func (l *lexer) fits(size int) bool {
	if size > maxString {
		l.err = fmt.Errorf("it has a string of over %d bytes", maxString)
	}
	return size <= maxString
}

func (l *lexer) peek() byte {
	if l.at >= len(l.data) {
		return 0
	}
	return l.data[l.at]
}

// collect takes everything up to the closing operator. What is nested too deep is
// left flat.
func (l *lexer) collect(closing operator, depth int) []any {
	if depth == 0 {
		return nil
	}
	items := []any{}
	for {
		item, more := l.token(depth - 1)
		if !more || item == closing {
			return items
		}
		items = append(items, item)
	}
}

func (l *lexer) blank() {
	for ; l.at < len(l.data); l.at++ {
		switch c := l.data[l.at]; {
		case isBlank(c):
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

func (l *lexer) word() string {
	from := l.at
	for l.at < len(l.data) && !isBlank(l.data[l.at]) && strings.IndexByte("()<>[]{}/%", l.data[l.at]) < 0 {
		l.at++
	}
	if !l.fits(l.at - from) {
		return ""
	}
	return string(l.data[from:l.at])
}

func (l *lexer) unescaped(word string) string {
	var plain []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if c, err := strconv.ParseUint(word[i+1:i+3], 16, 8); err == nil {
				plain = append(plain, byte(c))
				i += 2
				continue
			}
		}
		plain = append(plain, word[i])
	}
	return string(plain)
}

func (l *lexer) hex() literal {
	var digits []byte
	for l.at < len(l.data) && l.data[l.at] != '>' && l.fits(len(digits)/2) {
		if c := l.data[l.at]; !isBlank(c) {
			digits = append(digits, c)
		}
		l.at++
	}
	l.at++
	if len(digits)%2 != 0 {
		digits = append(digits, '0')
	}
	raw := make([]byte, 0, len(digits)/2)
	for i := 0; i < len(digits); i += 2 {
		c, err := strconv.ParseUint(string(digits[i:i+2]), 16, 8)
		if err != nil {
			return ""
		}
		raw = append(raw, byte(c))
	}
	return literal(raw)
}

// round takes a string in parentheses.
func (l *lexer) round() literal {
	var raw []byte
	for depth := 1; l.at < len(l.data) && l.fits(len(raw)); {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return literal(raw)
			}
		case '\\':
			raw = l.escape(raw)
			continue
		}
		raw = append(raw, c)
	}
	return literal(raw)
}

func (l *lexer) escape(raw []byte) []byte {
	c := l.peek()
	l.at++
	switch c {
	case 'n':
		return append(raw, '\n')
	case 'r':
		return append(raw, '\r')
	case 't':
		return append(raw, '\t')
	case 'b':
		return append(raw, '\b')
	case 'f':
		return append(raw, '\f')
	case '\r':
		if l.peek() == '\n' {
			l.at++
		}
		return raw
	case '\n':
		return raw
	}
	if c < '0' || c > '7' {
		return append(raw, c)
	}
	code := int(c - '0')
	for range 2 {
		if c := l.peek(); c >= '0' && c <= '7' {
			code = code*8 + int(c-'0')
			l.at++
		}
	}
	return append(raw, byte(code))
}

// picture passes over a picture that stands among the operations.
func (l *lexer) picture() {
	for l.at < len(l.data) {
		end := bytes.Index(l.data[l.at:], []byte("EI"))
		if end < 0 {
			l.at = len(l.data)
			return
		}
		l.at += end + 2
		if isBlank(l.data[l.at-3]) && (l.at == len(l.data) || isBlank(l.data[l.at])) {
			return
		}
	}
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}
