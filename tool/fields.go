package tool

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// identityField returns an identity that encoding/json would decode into t.
func identityField(t reflect.Type) (string, bool) {
	return identityFieldOf(t, map[reflect.Type]bool{})
}

func identityFieldOf(t reflect.Type, seen map[reflect.Type]bool) (string, bool) {
	if seen[t] || decodesItself(t) {
		return "", false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return identityFieldOf(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if name, found := identityInField(f, seen); found {
				return name, true
			}
		}
	}
	return "", false
}

func identityInField(f reflect.StructField, seen map[reflect.Type]bool) (string, bool) {
	tag := f.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-" || !f.IsExported() && !f.Anonymous:
		return "", false
	case f.Anonymous && name == "": // its fields count as this struct's own
	case name == "" && isIdentity(f.Name):
		return f.Name, true
	case isIdentity(name):
		return name, true
	}
	return identityFieldOf(f.Type, seen)
}

// decodesItself reports whether the fields of t are not what JSON fills.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fields returns which field of a struct each argument of f fills, nil unless
// there is a plain one of its own for each, by its exact name. Such arguments
// decode in one way only.
func (f *flat) fields(t reflect.Type) []int {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	fields := make([]int, len(f.names))
	found := map[string]bool{}
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		if tag == "-" || !field.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		name = cmp.Or(name, field.Name)
		arg, wanted := f.names[name]
		if !wanted {
			continue
		}
		if found[name] || !isPlain(field.Type) || !legalName(name) { // encoding/json knows better what is no name
			return nil
		}
		found[name] = true
		if fields[arg] = i; isSpecial(field.Type, options) {
			fields[arg] = noField
		}
	}
	if len(found) < len(f.names) {
		return nil
	}
	return fields
}

// noField stands for a field that only encoding/json can fill.
const noField = -1

// isSpecial reports whether encoding/json fills a plain field in a way of its own.
func isSpecial(t reflect.Type, options string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return decodesItself(t) || t == reflect.TypeFor[json.Number]() || slices.Contains(strings.Split(options, ","), "string")
}

// isPlain tells the types that take one JSON value, whoever decodes it.
func isPlain(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}
