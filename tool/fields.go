package tool

import (
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
