package tool

import (
	"encoding/json"
	"reflect"
)

// fill decodes arguments that f accepts into a struct whose fields are those.
// It fills texts, booleans and integers as encoding/json does, in a fraction of
// the time, and leaves all others to it, and whatever it has to say of an error.
func (f *flat) fill(args []byte, fields []int, in any) error {
	if f.fillsAll(args, fields, reflect.ValueOf(in).Elem()) {
		return nil
	}
	return json.Unmarshal(args, in) // over those that are filled, too
}

func (f *flat) fillsAll(args []byte, fields []int, in reflect.Value) bool {
	r := flatReader{text: args}
	r.step('{')
	for more := !r.step('}'); more; more = r.step(',') {
		name, _ := r.str()
		i := f.names[string(name)]
		r.step(':')
		if fields[i] == noField || !f.args[i].set(&r, in.Field(fields[i])) {
			return false
		}
	}
	return true
}

// set sets a field to the next value. It reports whether it could.
func (a *flatArg) set(r *flatReader, field reflect.Value) bool {
	if field.Kind() == reflect.Pointer {
		of := reflect.New(field.Type().Elem())
		field.Set(of)
		field = of.Elem()
	}
	r.space()
	switch a.kind {
	case "boolean":
		return setBool(field, r.word("true") || !r.word("false"))
	case "string":
		text, plain := r.str()
		return plain && setText(field, text)
	case "integer":
		negative := r.text[r.at] == '-'
		n, _ := r.integer()
		return !(negative && n == 0) && setInteger(field, n) // -0 is a number of its own
	}
	return false
}

func setBool(field reflect.Value, is bool) bool {
	if field.Kind() != reflect.Bool {
		return false
	}
	field.SetBool(is)
	return true
}

func setText(field reflect.Value, text []byte) bool {
	if field.Kind() != reflect.String {
		return false
	}
	field.SetString(string(text))
	return true
}

func setInteger(field reflect.Value, n int64) bool {
	switch {
	case field.CanInt() && !field.OverflowInt(n):
		field.SetInt(n)
	case field.CanUint() && n >= 0 && !field.OverflowUint(uint64(n)):
		field.SetUint(uint64(n))
	default:
		return false
	}
	return true
}
