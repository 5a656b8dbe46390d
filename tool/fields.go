package tool

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
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

// fills reports whether a struct has a plain field of its own for each argument
// of f, by its exact name. Such arguments decode in one way only.
func (f *flat) fills(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return false
	}
	found := map[string]bool{}
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		if tag == "-" || !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		name = cmp.Or(name, field.Name)
		if _, wanted := f.names[name]; !wanted {
			continue
		}
		if found[name] || !isPlain(field.Type) {
			return false
		}
		found[name] = true
	}
	return len(found) == len(f.names)
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
