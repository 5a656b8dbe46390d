package kernel

import (
	"reflect"
	"testing"
)

// Each field counts by itself: an event with any one field at its zero value
// reads back as it was.
func TestEventRoundTripWithoutAField(t *testing.T) {
	for _, zero := range everyEvent() {
		typ := reflect.TypeOf(zero)
		for _, path := range fieldPaths(typ) {
			v := reflect.New(typ).Elem()
			v.Set(reflect.ValueOf(filledEvent(zero)))
			v.FieldByIndex(path).SetZero()
			e := v.Interface().(Event)
			b, err := EncodeEvent(e)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := DecodeEvent(b); err != nil || !reflect.DeepEqual(got, e) {
				t.Errorf("%s\n got %#v, %v\nwant %#v", b, got, err, e)
			}
		}
	}
}

// fieldPaths are the fields of a struct and of the structs in it, or at the end
// of its pointers.
func fieldPaths(typ reflect.Type) (paths [][]int) {
	for i := range typ.NumField() {
		paths = append(paths, []int{i})
		f := typ.Field(i).Type
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct {
			for _, rest := range fieldPaths(f) {
				paths = append(paths, append([]int{i}, rest...))
			}
		}
	}
	return paths
}
