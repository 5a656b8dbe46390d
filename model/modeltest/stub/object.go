package stub

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// object is a JSON object by its keys. Field names are compared exactly, which
// encoding/json's struct decoding does not do.
type object map[string]json.RawMessage

// parseObject decodes raw, which is valid JSON, as an object at a place.
func parseObject(raw json.RawMessage, at string) (object, error) {
	var o object
	if !isObject(raw) || json.Unmarshal(raw, &o) != nil {
		return nil, refuse("%s: must be an object", at)
	}
	return o, nil
}

// only refuses fields outside the list.
func (o object) only(at, allowed string) error {
	names := strings.Fields(allowed)
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(names, key) {
			return refuse("%s.%s: unknown field", at, key)
		}
	}
	return nil
}

// has reports a field that is there and not null.
func (o object) has(key string) bool {
	raw, ok := o[key]
	return ok && string(raw) != "null"
}

// text returns a string field; ok is false when it is absent, null or no
// string.
func (o object) text(key string) (s string, ok bool) {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// list returns an array field; ok as in text.
func (o object) list(key string) (items []json.RawMessage, ok bool) {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	return items, json.Unmarshal(raw, &items) == nil
}

// flag returns a boolean field, false when it is absent.
func (o object) flag(key, at string) (bool, error) {
	switch string(o[key]) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, refuse("%s.%s: must be a boolean", at, key)
}

// positive returns an integer field of at least 1, and 0 when it is absent.
func (o object) positive(key, at string) (int64, error) {
	raw, ok := o[key]
	if !ok {
		return 0, nil
	}
	var n int64
	if json.Unmarshal(raw, &n) != nil || n < 1 {
		return 0, refuse("%s.%s: must be an integer of at least 1", at, key)
	}
	return n, nil
}

// legalName reports whether s is 1 to limit of a–z, A–Z, 0–9, _ and -.
func legalName(s string, limit int) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
		if !letter {
			return false
		}
	}
	return s != "" && len(s) <= limit
}

// toolSchema refuses a schema that is not of type object, or has one of the
// words at its top, and returns it.
func toolSchema(raw json.RawMessage, at, words string) (object, error) {
	schema, err := parseObject(raw, at)
	if err != nil {
		return nil, err
	}
	if kind, _ := schema.text("type"); kind != "object" {
		return nil, refuse("%s: the schema must have type object", at)
	}
	for word := range strings.FieldsSeq(words) {
		if _, ok := schema[word]; ok {
			return nil, refuse("%s: the schema must not have %s at the top level", at, word)
		}
	}
	return schema, nil
}
