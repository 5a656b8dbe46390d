package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a JSON text that is parsed here. A number beyond them has no use
// as an argument and would cost the exact arithmetic of the validator dearly.
const (
	maxDepth    = 64
	maxDigits   = 512 // bytes of one number
	maxExponent = 400 // beyond the range of a double
)

var (
	errNoObject = errors.New("arguments must be one JSON object")
	errUTF8     = errors.New("arguments must be valid UTF-8")
	errDepth    = errors.New("arguments are nested too deeply")
	errNumber   = errors.New("arguments hold a number that is out of range")
)

// parseObject decodes exactly one JSON object: no duplicate keys at any depth,
// nothing behind it, every number a json.Number with its digits as they came.
// The errors are sentences about "arguments" that may be shown.
func parseObject(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, errUTF8
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errNoObject
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, errNoObject
	}
	m, err := parseMembers(dec, 1)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return m, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, errNoObject
	}
	switch tok := tok.(type) {
	case json.Delim:
		if depth == maxDepth {
			return nil, errDepth
		}
		if tok == '{' {
			return parseMembers(dec, depth+1)
		}
		return parseItems(dec, depth+1)
	case json.Number:
		if !plausible(string(tok)) {
			return nil, errNumber
		}
	}
	return tok, nil
}

func parseMembers(dec *json.Decoder, depth int) (map[string]any, error) {
	m := make(map[string]any)
	for dec.More() {
		tok, err := dec.Token()
		key, isString := tok.(string)
		if err != nil || !isString {
			return nil, errNoObject
		}
		if _, ok := m[key]; ok {
			return nil, errors.New("argument given twice: " + showName(key))
		}
		if m[key], err = parseValue(dec, depth); err != nil {
			return nil, err
		}
	}
	return m, closeDelim(dec)
}

func parseItems(dec *json.Decoder, depth int) ([]any, error) {
	items := []any{}
	for dec.More() {
		v, err := parseValue(dec, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, closeDelim(dec)
}

func closeDelim(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errNoObject
	}
	return nil
}

// plausible reports whether a JSON number stays within maxDigits and
// maxExponent.
func plausible(n string) bool {
	if len(n) > maxDigits {
		return false
	}
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return true
	}
	exp, err := strconv.Atoi(n[i+1:])
	return err == nil && -maxExponent <= exp && exp <= maxExponent
}
