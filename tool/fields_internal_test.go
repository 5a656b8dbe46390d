package tool

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

const plainSchema = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"e":{"type":"number"}},"required":["b"],"additionalProperties":false}`

// plainIn takes less than its schema lets through.
type plainIn struct {
	A *string `json:"a"`
	B uint8   `json:"b,omitempty"`
	E float32
	F float64 `json:"e"`
}

func flatOf(t testing.TB, schema string) *flat {
	t.Helper()
	s, err := compileSchema([]byte(schema))
	if err != nil || s.flat == nil {
		t.Fatalf("%s is not flat: %v", schema, err)
	}
	return s.flat
}

// Plain arguments decode into the same, or fail with the same words, as those
// that are looked at once more.
func TestPlainArgumentsDecodeAlike(t *testing.T) {
	f := function[plainIn, Result]{plain: flatOf(t, plainSchema)}
	if !f.plain.fills(reflect.TypeFor[plainIn]()) {
		t.Fatal("they are not plain")
	}
	r := rand.New(rand.NewPCG(3, 3))
	good, bad := 0, 0
	for range 20_000 {
		args := randomArguments(r, plainSchema)
		var got, want plainIn
		gotErr, wantErr := f.decode([]byte(args), &got), decodeStrictly([]byte(args), &want)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(words(gotErr), words(wantErr)) {
			t.Fatalf("%s\ndecodes into %+v, %v\nwant %+v, %v", args, got, gotErr, want, wantErr)
		}
		switch {
		case !f.plain.accepts([]byte(args)):
		case gotErr == nil:
			good++
		default:
			bad++
		}
	}
	if good < 100 || bad < 100 {
		t.Errorf("%d plain arguments fit, %d do not: too few to show anything", good, bad)
	}
}

func words(err error) Error {
	e, _ := errors.AsType[*Error](err)
	if e == nil {
		return Error{}
	}
	return Error{Message: e.Message, Code: e.Code, Disposition: e.Disposition}
}

// Where a name could mean anything else than one plain field, every call is
// looked at strictly.
func TestFieldsThatArePlain(t *testing.T) {
	field := func(name, tag string, of any) reflect.StructField {
		f := reflect.StructField{Name: name, Type: reflect.TypeOf(of), Tag: reflect.StructTag(`json:"` + tag + `"`)}
		if name == "a" {
			f.PkgPath = "tool"
		}
		return f
	}
	b := field("B", "b", "")
	inner := field("Inner", "", struct {
		A string `json:"a"`
	}{})
	inner.Anonymous = true
	for _, tt := range []struct {
		plain  bool
		fields []reflect.StructField
	}{
		{true, []reflect.StructField{b, field("A", "a,omitempty", ""), field("C", "c", []any{})}},
		{true, []reflect.StructField{b, field("A", "a", new(int))}},
		{false, []reflect.StructField{b}},
		{false, []reflect.StructField{b, field("A", "", "")}},
		{false, []reflect.StructField{b, field("A", "-", "")}},
		{false, []reflect.StructField{b, field("A", "a", []any{})}},
		{false, []reflect.StructField{b, field("A", "a", []byte{})}},
		{false, []reflect.StructField{b, field("A", "a", ""), field("C", "a", "")}},
		{false, []reflect.StructField{field("A", "a", ""), field("C", "a", "")}},
		{false, []reflect.StructField{b, field("a", "a", "")}},
		{false, []reflect.StructField{b, inner}},
	} {
		f := flatOf(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false}`)
		if in := reflect.StructOf(tt.fields); f.fills(in) != tt.plain {
			t.Errorf("%v counts as plain: %v", in, !tt.plain)
		}
	}
	ignored := flatOf(t, `{"type":"object","properties":{"-":{"type":"string"}},"additionalProperties":false}`)
	if ignored.fills(reflect.StructOf([]reflect.StructField{field("A", "-", "")})) {
		t.Error("a field that JSON leaves out counts")
	}
	if ignored.fills(reflect.TypeFor[json.Number]()) {
		t.Error("a text counts as a struct")
	}
}

// A function refuses what its schema lets through and its type does not.
func TestFuncOfPlainArguments(t *testing.T) {
	f, err := Func(Spec{Name: "f", Description: "d", Schema: json.RawMessage(plainSchema), Effect: kernel.Read},
		func(_ context.Context, _ Call, in plainIn) (plainIn, error) { return in, nil })
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Run(t.Context(), Call{Arguments: json.RawMessage(`{"a":"x","b":7,"e":0.5}`)})
	if want := `{"status":"completed","result":{"a":"x","b":7,"E":0,"e":0.5}}`; err != nil || r.Text != want {
		t.Errorf("%s, %v, want %s", r.Text, err, want)
	}
	_, err = f.Run(t.Context(), Call{Arguments: json.RawMessage(`{"b":300}`)})
	if got := words(err); got.Code != kernel.CodeInvalidArgument || got.Message != "b must be an integer within the range of the tool" {
		t.Errorf("%v", err)
	}
}
