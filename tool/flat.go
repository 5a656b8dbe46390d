package tool

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// flat is the schema that most tools have, compiled for a quick yes: a closed
// object of plain texts, numbers and booleans. It walks through the arguments
// once and accepts nothing that the validator would not; what it does not
// accept it has no opinion about, and the validator judges.
type flat struct {
	names    map[string]int // which argument it is
	args     []flatArg
	required uint64 // a bit an argument
}

// flatArg says what an argument may be.
type flatArg struct {
	kind       string          // string, integer, number, boolean
	enum       map[string]bool // of a text; nil: any
	least      int64           // of a text, its length in characters
	most       int64
	restricted bool // least or most says something
}

// maxFlat bounds the arguments and, for each, the texts that a flat schema
// lists: the cost of a check (see tooCostly) stays far from its bound.
const maxFlat = 64

// newFlat returns nil for a schema with anything that it does not know.
func newFlat(doc map[string]any) *flat {
	properties, _ := doc["properties"].(map[string]any)
	if doc["additionalProperties"] != false || len(properties) > maxFlat || !knows(doc, "type", "properties", "required", "additionalProperties", "$schema") {
		return nil
	}
	f := &flat{names: make(map[string]int, len(properties))}
	for name, property := range properties {
		schema, _ := property.(map[string]any)
		arg, ok := newFlatArg(schema)
		if !ok {
			return nil
		}
		f.names[name] = len(f.args)
		f.args = append(f.args, arg)
	}
	for _, name := range textsOf(doc["required"]) {
		i, known := f.names[name]
		if !known {
			return nil
		}
		f.required |= 1 << i
	}
	return f
}

// knows reports whether a schema has no keywords but those, and annotations.
func knows(schema map[string]any, keywords ...string) bool {
	known := 0
	for _, k := range append(keywords, "title", "description", "default", "examples", "deprecated", "$comment") {
		if _, has := schema[k]; has {
			known++
		}
	}
	return known == len(schema)
}

func newFlatArg(schema map[string]any) (a flatArg, ok bool) {
	a.kind, _ = schema["type"].(string)
	a.least, a.most = -maxFlatNumber, maxFlatNumber
	switch a.kind {
	case "boolean":
		return a, knows(schema, "type")
	case "integer", "number":
		return a, knows(schema, "type", "minimum", "maximum") && a.bound(schema, "minimum", "maximum")
	case "string":
		if !knows(schema, "type", "enum", "minLength", "maxLength") || !a.bound(schema, "minLength", "maxLength") {
			return a, false
		}
		return a, a.listed(schema)
	}
	return a, false
}

// maxFlatNumber is a number whose digits all fit: 18 of them.
const (
	maxFlatDigits = 18
	maxFlatNumber = 999_999_999_999_999_999
)

// bound takes the bounds that a schema has.
func (a *flatArg) bound(schema map[string]any, least, most string) bool {
	for keyword, bound := range map[string]*int64{least: &a.least, most: &a.most} {
		v, has := schema[keyword]
		if !has {
			continue
		}
		text, _ := v.(json.Number)
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || n < -maxFlatNumber || n > maxFlatNumber {
			return false
		}
		*bound, a.restricted = n, true
	}
	return true
}

// listed takes the list of texts that a schema has.
func (a *flatArg) listed(schema map[string]any) bool {
	enum, has := schema["enum"]
	if !has {
		return true
	}
	list, _ := enum.([]any)
	texts := textsOf(enum)
	if len(texts) != len(list) || len(texts) > maxFlat {
		return false
	}
	a.enum = make(map[string]bool, len(texts))
	for _, text := range texts {
		a.enum[text] = true
	}
	return true
}

// accepts reports whether args are certainly valid.
func (f *flat) accepts(args []byte) bool {
	r := flatReader{text: args}
	if !r.step('{') {
		return false
	}
	var seen uint64
	for more := !r.step('}'); more; {
		name, plain := r.str()
		i, known := f.names[string(name)]
		if !plain || !known || seen&(1<<i) != 0 || !r.step(':') || !f.args[i].accepts(&r) {
			return false
		}
		seen |= 1 << i
		if more = r.step(','); !more && !r.step('}') {
			return false
		}
	}
	r.space()
	return r.at == len(args) && seen&f.required == f.required
}

func (a *flatArg) accepts(r *flatReader) bool {
	r.space()
	switch a.kind {
	case "boolean":
		return r.word("true") || r.word("false")
	case "string":
		text, plain := r.str()
		if text == nil {
			return false
		}
		return (a.enum == nil || plain && a.enum[string(text)]) && (!a.restricted || a.within(characters(text)))
	}
	n, fits := r.integer()
	if r.fraction() {
		return fits && a.kind == "number" && !a.restricted
	}
	return fits && a.within(n)
}

func (a *flatArg) within(n int64) bool { return a.least <= n && n <= a.most }

// characters counts those of the inside of a JSON string that str took: an
// escape is one.
func characters(inside []byte) int64 {
	n := utf8.RuneCount(inside)
	for i := 0; i < len(inside); i++ {
		if inside[i] == '\\' {
			n--
			i++
		}
	}
	return int64(n)
}

// flatReader reads the values of a flat object, as far as they are simple. It
// stands anywhere after one that is not.
type flatReader struct {
	text []byte
	at   int
}

func (r *flatReader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// step steps over white space and over b, if that is what follows.
func (r *flatReader) step(b byte) bool {
	r.space()
	is := r.at < len(r.text) && r.text[r.at] == b
	if is {
		r.at++
	}
	return is
}

func (r *flatReader) word(w string) bool {
	is := len(r.text)-r.at >= len(w) && string(r.text[r.at:r.at+len(w)]) == w
	if is {
		r.at += len(w)
	}
	return is
}

// str returns the inside of a string, and whether that is its text as it
// stands. It is nil where there is none, or one that is not simple: not UTF-8,
// or with an escape by number.
func (r *flatReader) str() (inside []byte, plain bool) {
	if !r.step('"') {
		return nil, false
	}
	plain = true
	for start := r.at; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			inside = r.text[start:r.at:r.at]
			r.at++
			if !utf8.Valid(inside) {
				return nil, false
			}
			return inside, plain
		case c < 0x20:
			return nil, false
		case c == '\\':
			plain = false
			r.at++
			if r.at == len(r.text) || strings.IndexByte(`"\/bfnrt`, r.text[r.at]) < 0 {
				return nil, false
			}
		}
	}
	return nil, false
}

// integer returns a number, or the part of one before its fraction.
func (r *flatReader) integer() (n int64, fits bool) {
	negative := r.at < len(r.text) && r.text[r.at] == '-'
	if negative {
		r.at++
	}
	start := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' && r.at-start < maxFlatDigits {
		n = 10*n + int64(r.text[r.at]-'0')
		r.at++
	}
	if r.at == start || r.text[start] == '0' && r.at > start+1 {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// fraction reports whether a fraction follows, and steps over it where it is
// whole and not long.
func (r *flatReader) fraction() bool {
	if r.at == len(r.text) || r.text[r.at] != '.' {
		return false
	}
	start := r.at + 1
	end := start
	for end < len(r.text) && r.text[end] >= '0' && r.text[end] <= '9' {
		end++
	}
	if digits := end - start; digits > 0 && digits <= maxFlatDigits {
		r.at = end
	}
	return true
}
