package kernel

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxArgumentDepth bounds the nesting of arguments.
const maxArgumentDepth = 64

// argumentError says what keeps a text from being one JSON object (RFC 8259,
// without duplicate names).
type argumentError struct {
	at        int // byte offset
	what      string
	truncated bool // the text ended too early
}

func (e *argumentError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

// canonicalArguments checks that text is exactly one JSON object and returns
// its canonical form: names sorted by bytes, no insignificant white space,
// strings with the shortest escapes, numbers digit for digit. Blank text is the
// empty object, since providers send it for a call without arguments.
func canonicalArguments(text string) ([]byte, error) {
	p := argumentParser{text: text}
	p.space()
	if p.at == len(text) {
		return []byte("{}"), nil
	}
	if text[p.at] != '{' {
		return nil, p.fail("not a JSON object")
	}
	out, err := p.value(make([]byte, 0, 2*len(text)), 0) // see joinMembers
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at != len(text) {
		return nil, p.fail("something follows the JSON object")
	}
	return out, nil
}

// CheckArguments reports what keeps text from being the arguments of a call:
// exactly one JSON object, of valid UTF-8, nested at most 64 deep, without a
// name twice in one object and without a lone surrogate. It is the check that
// admission makes, except that blank text, which admission takes for {}, is no
// object here. The error completes "not one JSON object: …", on one line. It
// quotes no value.
func CheckArguments(text string) error {
	form, err := canonicalArguments(text)
	if err == nil && string(form) == "{}" && !strings.Contains(text, "{") {
		return &argumentError{what: "the text is blank", truncated: true}
	}
	return err
}

type argumentParser struct {
	text    string
	at      int
	meaning bool // drop what spells the same in other ways: see MeaningDigest
}

func (p *argumentParser) fail(what string) error { return &argumentError{at: p.at, what: what} }

func (p *argumentParser) cut() error {
	return &argumentError{at: len(p.text), what: "the text ends early", truncated: true}
}

func (p *argumentParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *argumentParser) value(out []byte, depth int) ([]byte, error) {
	p.space()
	if p.at == len(p.text) {
		return nil, p.cut()
	}
	if depth > maxArgumentDepth {
		return nil, p.fail(fmt.Sprintf("nested deeper than %d", maxArgumentDepth))
	}
	switch c := p.text[p.at]; {
	case c == '{':
		return p.object(out, depth)
	case c == '[':
		return p.array(out, depth)
	case c == '"':
		s, err := p.str()
		if err != nil {
			return nil, err
		}
		return appendString(out, s), nil
	case c == '-' || c >= '0' && c <= '9':
		return p.number(out)
	}
	for _, word := range []string{"true", "false", "null"} {
		rest := p.text[p.at:]
		if strings.HasPrefix(rest, word) {
			p.at += len(word)
			return append(out, word...), nil
		}
		if strings.HasPrefix(word, rest) {
			return nil, p.cut()
		}
	}
	return nil, p.fail("not a JSON value")
}

// member is a name of an object and where its canonical value lies.
type member struct {
	name       string
	start, end int
}

func (p *argumentParser) object(out []byte, depth int) ([]byte, error) {
	p.at++ // {
	base := len(out)
	var some [8]member // as many as most objects have
	members := some[:0]
	var seen names
	for more := p.first('}'); more; {
		m, err := p.name()
		if err != nil {
			return nil, err
		}
		if seen.has(m.name, members) {
			return nil, p.fail(fmt.Sprintf("duplicate name %.40q", m.name))
		}
		m.start = len(out)
		if out, err = p.value(out, depth+1); err != nil {
			return nil, err
		}
		m.end = len(out)
		if p.meaning && saysNothing(out[m.start:]) {
			out = out[:m.start]
		} else {
			members = append(members, m)
		}
		if more, err = p.next('}'); err != nil {
			return nil, err
		}
	}
	return joinMembers(out, base, members), nil
}

// names finds a name among members that only grow in number. Few are looked
// through; many are kept in a map.
type names map[string]bool

func (n *names) has(name string, among []member) bool {
	const few = 8
	if len(among) <= few {
		return slices.ContainsFunc(among, func(m member) bool { return m.name == name })
	}
	if *n == nil {
		*n = names{}
		for _, m := range among[:len(among)-1] {
			(*n)[m.name] = true
		}
	}
	(*n)[among[len(among)-1].name] = true
	return (*n)[name]
}

// joinMembers replaces the values that lie at out[base:] by the object, which it
// writes behind them first.
func joinMembers(out []byte, base int, members []member) []byte {
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	object := len(out)
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.name), ':')
		out = append(out, out[m.start:m.end]...)
	}
	out = append(out, '}')
	return append(out[:base], out[object:]...)
}

func (p *argumentParser) array(out []byte, depth int) ([]byte, error) {
	p.at++ // [
	out = append(out, '[')
	for more, comma := p.first(']'), false; more; comma = true {
		if comma {
			out = append(out, ',')
		}
		var err error
		if out, err = p.value(out, depth+1); err != nil {
			return nil, err
		}
		if more, err = p.next(']'); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// first reports whether an element follows the opening bracket, and steps over
// a closing one.
func (p *argumentParser) first(closing byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == closing {
		p.at++
		return false
	}
	return true
}

// next steps over the comma or the closing bracket behind an element, and
// reports whether another one follows.
func (p *argumentParser) next(closing byte) (bool, error) {
	p.space()
	if p.at == len(p.text) {
		return false, p.cut()
	}
	switch p.text[p.at] {
	case ',':
		p.at++
		return true, nil
	case closing:
		p.at++
		return false, nil
	}
	return false, p.fail(fmt.Sprintf("expected , or %c", closing))
}

// name reads a member's name and the colon.
func (p *argumentParser) name() (m member, err error) {
	p.space()
	if p.at == len(p.text) {
		return m, p.cut()
	}
	if p.text[p.at] != '"' {
		return m, p.fail("expected a name in quotes")
	}
	if m.name, err = p.str(); err != nil {
		return m, err
	}
	p.space()
	if p.at == len(p.text) {
		return m, p.cut()
	}
	if p.text[p.at] != ':' {
		return m, p.fail("expected :")
	}
	p.at++
	return m, nil
}

func (p *argumentParser) number(out []byte) ([]byte, error) {
	start := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == '0' {
		p.at++
	} else if err := p.digits(); err != nil {
		return nil, err
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		if err := p.digits(); err != nil {
			return nil, err
		}
	}
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if err := p.digits(); err != nil {
			return nil, err
		}
	}
	if p.meaning {
		return append(out, sameNumber(p.text[start:p.at])...), nil
	}
	return append(out, p.text[start:p.at]...), nil
}

func (p *argumentParser) digits() error {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	if p.at > start {
		return nil
	}
	if p.at == len(p.text) {
		return p.cut()
	}
	return p.fail("expected a digit")
}

// str reads a string and returns what it says.
func (p *argumentParser) str() (string, error) {
	p.at++ // "
	start := p.at
	for p.at < len(p.text) { // the common case: nothing to unescape
		switch c := p.text[p.at]; {
		case c == '"':
			s := p.text[start:p.at]
			p.at++
			return s, nil
		case c == '\\' || c < 0x20 || c >= utf8.RuneSelf:
			return p.escaped(start)
		}
		p.at++
	}
	return "", p.cut()
}

// escaped reads on where str met something that is not plain.
func (p *argumentParser) escaped(start int) (string, error) {
	out := []byte(p.text[start:p.at])
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(out), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return "", p.fail("control character in a string")
		default:
			r, n := utf8.DecodeRuneInString(p.text[p.at:])
			if r == utf8.RuneError && n <= 1 {
				return "", p.fail("invalid UTF-8")
			}
			out = append(out, p.text[p.at:p.at+n]...)
			p.at += n
		}
	}
	return "", p.cut()
}

// escape reads one escape sequence, and both halves of a surrogate pair.
func (p *argumentParser) escape() (rune, error) {
	p.at++ // \
	if p.at == len(p.text) {
		return 0, p.cut()
	}
	c := p.text[p.at]
	if c != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return 0, p.fail("unknown escape")
		}
		p.at++
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	p.at++
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	rest := p.text[p.at:]
	if !strings.HasPrefix(rest, `\u`) {
		if strings.HasPrefix(`\u`, rest) {
			return 0, p.cut()
		}
		return 0, p.fail("lone surrogate")
	}
	p.at += 2
	low, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, p.fail("lone surrogate")
	}
	return r, nil
}

func (p *argumentParser) hex4() (rune, error) {
	var r rune
	for range 4 {
		if p.at == len(p.text) {
			return 0, p.cut()
		}
		digit := strings.IndexByte("0123456789abcdef", p.text[p.at]|0x20)
		if digit < 0 || p.text[p.at] < '0' {
			return 0, p.fail("expected a hex digit")
		}
		r = r<<4 | rune(digit)
		p.at++
	}
	return r, nil
}
