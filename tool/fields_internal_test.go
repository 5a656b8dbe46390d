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
	t.Run("narrow", decodeAlike[plainIn](plainSchema))
	t.Run("all kinds", decodeAlike[kindsIn](kindsSchema))
	t.Run("in ways of their own", decodeAlike[specialIn](specialSchema))
	t.Run("numbers that are texts", decodeAlike[numberIn](specialSchema))
	t.Run("of other kinds", decodeAlike[otherIn](specialSchema))
	t.Run("of other kinds yet", decodeAlike[crossedIn](kindsSchema))
}

const kindsSchema = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"long_name":{"type":"boolean"},"e":{"type":"integer"}},"additionalProperties":false}`

type kindsIn struct {
	A    text   `json:"a"`
	B    *int16 `json:"b"`
	Long *bool  `json:"long_name"`
	E    uint64 `json:"e"`
}

type text string

const specialSchema = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"long_name":{"type":"integer"},"e":{"type":"string"}},"additionalProperties":false}`

type specialIn struct {
	A    loud   `json:"a"`
	B    *loud  `json:"b"`
	Long int    `json:"long_name,omitempty,string"`
	E    []byte `json:"-"`
	F    string `json:"e"`
}

// numberIn has texts that encoding/json takes for numbers alone.
type numberIn struct {
	A    json.Number  `json:"a"`
	B    *json.Number `json:"b"`
	Long int          `json:"long_name"`
	E    string       `json:"e"`
}

type otherIn struct {
	A    int     `json:"a"`
	B    bool    `json:"b"`
	Long string  `json:"long_name"`
	E    float64 `json:"e"`
}

type crossedIn struct {
	A    bool   `json:"a"`
	B    string `json:"b"`
	Long int    `json:"long_name"`
	E    *bool  `json:"e"`
}

// loud is a text that decodes itself.
type loud string

func (l *loud) UnmarshalText(b []byte) error { *l = loud(b) + "!"; return nil }

func decodeAlike[In any](schema string) func(*testing.T) {
	return func(t *testing.T) {
		f := function[In, Result]{plain: flatOf(t, schema)}
		f.fields = f.plain.fields(reflect.TypeFor[In]())
		if f.fields == nil {
			t.Fatal("they are not plain")
		}
		r := rand.New(rand.NewPCG(3, 3))
		good, bad := 0, 0
		for range 20_000 {
			args := randomArguments(r, schema)
			var got, want In
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
		if good == 0 || bad == 0 || good+bad < 400 {
			t.Errorf("%d plain arguments fit, %d do not: too few to show anything", good, bad)
		}
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
		if in := reflect.StructOf(tt.fields); (f.fields(in) != nil) != tt.plain {
			t.Errorf("%v counts as plain: %v", in, !tt.plain)
		}
	}
	ignored := flatOf(t, `{"type":"object","properties":{"-":{"type":"string"}},"additionalProperties":false}`)
	if ignored.fields(reflect.StructOf([]reflect.StructField{field("A", "-", "")})) != nil {
		t.Error("a field that JSON leaves out counts")
	}
	odd := flatOf(t, `{"type":"object","properties":{"it's":{"type":"string"}},"additionalProperties":false}`)
	if odd.fields(reflect.StructOf([]reflect.StructField{field("A", "it's", "")})) != nil {
		t.Error("a field counts under a name that JSON does not take from a tag")
	}
	if ignored.fields(reflect.TypeFor[json.Number]()) != nil {
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

// An argument that the schema has and the type has not is refused, not dropped.
func TestFuncOfAnArgumentWithoutAField(t *testing.T) {
	type in struct {
		A string `json:"a"`
	}
	f, err := Func(Spec{Name: "f", Description: "d", Schema: json.RawMessage(plainSchema), Effect: kernel.Read},
		func(_ context.Context, _ Call, in in) (in, error) { return in, nil })
	if err != nil {
		t.Fatal(err)
	}
	args := []byte(`{"a":"x","b":7}`)
	_, err = f.Run(t.Context(), Call{Arguments: args})
	if want := decodeStrictly(args, new(in)); want == nil || !reflect.DeepEqual(words(err), words(want)) {
		t.Errorf("%v, want %v", err, want)
	}
}

func BenchmarkDecode(b *testing.B) {
	f := function[kindsIn, Result]{plain: flatOf(b, kindsSchema)}
	f.fields = f.plain.fields(reflect.TypeFor[kindsIn]())
	args := []byte(`{"a":"some text","b":248,"e":15}`)
	b.ReportAllocs()
	for b.Loop() {
		var in kindsIn
		if err := f.decode(args, &in); err != nil {
			b.Fatal(err)
		}
	}
}
