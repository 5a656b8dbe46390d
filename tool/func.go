package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/holdfast-run/holdfast/kernel"
)

// Func makes a Tool of a typed Go function. In is a struct; where spec has no
// Schema it is inferred from In: every field is required but for pointers and
// fields with omitempty or omitzero, no other arguments are allowed, and a
// `jsonschema:"…"` tag is the argument's description. For ranges, patterns and
// the like write the Schema yourself.
//
// The model is told {"status":"completed","result":Out}, and verifiers get Out
// as Data. An Out of type Result is returned as it is. An error is told as
// the contract of Tool says. A result that JSON has no form for, such as NaN,
// is an error result whose effect has landed. Func returns CONFIGURATION where
// NewSet would, but for a Lookup that is missing (see Reconcilable), and where a
// field of In would take an identity, whatever the Schema says.
func Func[In, Out any](spec Spec, fn func(ctx context.Context, c Call, in In) (Out, error)) (Tool, error) {
	if spec.Schema == nil {
		inferred, err := inferSchema(reflect.TypeFor[In]())
		if err != nil {
			return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + showName(spec.Name) + ": " + err.Error()}
		}
		spec.Schema = inferred
	}
	if fn == nil {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + showName(spec.Name) + ": the function is missing"}
	}
	if name, found := identityField(reflect.TypeFor[In]()); found {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "tool " + showName(spec.Name) + ": " + refusedIdentity(name)}
	}
	spec, compiled, err := register(spec)
	if err != nil {
		return nil, err
	}
	f := &function[In, Out]{spec: spec, fn: fn}
	if compiled.flat != nil {
		f.fields = compiled.flat.fields(reflect.TypeFor[In]())
	}
	if f.fields != nil {
		f.plain = compiled.flat
	}
	return f, nil
}

type function[In, Out any] struct {
	spec   Spec
	fn     func(context.Context, Call, In) (Out, error)
	plain  *flat // the schema; nil: it is not flat, or In has no plain field for an argument
	fields []int // of In, for the arguments of plain
}

func (f *function[In, Out]) Spec() Spec { return f.spec }

func (f *function[In, Out]) Run(ctx context.Context, c Call) (Result, error) {
	var in In
	if err := f.decode(c.Arguments, &in); err != nil {
		return Result{}, err
	}
	out, err := f.fn(ctx, c, in)
	r, isResult := any(out).(Result)
	switch {
	case isResult:
		return r, err
	case err != nil:
		return Result{}, err
	}
	return completed(out), nil
}

// decode is decodeStrictly, which has nothing more to find in arguments that
// are plain.
func (f *function[In, Out]) decode(args []byte, in *In) error {
	if f.plain == nil || !f.plain.accepts(args) {
		return decodeStrictly(args, in)
	}
	if err := f.plain.fill(args, f.fields, in); err != nil {
		return refuseArguments(decodeMessage(err), err)
	}
	return nil
}

// completed is the result of a call that came to out.
func completed(out any) Result {
	data, err := Encode(out)
	if err != nil {
		text := errorText(kernel.CodeInternal, "the call completed, but its result has no JSON form")
		return Result{Text: text, IsError: true, Disposition: kernel.Landed}
	}
	return Result{Text: `{"status":"completed","result":` + string(data) + `}`, Data: data, Disposition: kernel.Landed}
}

// errorText is what a model is told of a failure.
func errorText(code kernel.Code, msg string) string {
	b, err := Encode(struct {
		Status  string      `json:"status"`
		Code    kernel.Code `json:"code"`
		Message string      `json:"message"`
	}{"error", code, msg})
	if err != nil { // cannot happen: three strings
		return `{"status":"error"}`
	}
	return string(b)
}

// decodeStrictly decodes arguments into v, a pointer: what kernel.CheckArguments
// accepts, without unknown fields, nothing coerced. Its error proves that
// nothing happened.
func decodeStrictly(data []byte, v any) error {
	if err := kernel.CheckArguments(string(data)); err != nil {
		return refuseArguments("the arguments are "+noObject(err).Error(), err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return refuseArguments(decodeMessage(err), err)
	}
	return nil
}

func refuseArguments(msg string, err error) error {
	return &Error{Message: msg, Code: kernel.CodeInvalidArgument, Disposition: kernel.DidNotHappen, Err: err}
}

func decodeMessage(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return "the arguments do not have the form that the tool takes"
	}
	what := "of another type"
	switch wrong.Type.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		what = "an integer within the range of the tool"
	case reflect.Float32, reflect.Float64:
		what = "a number"
	case reflect.String:
		what = "a string"
	case reflect.Bool:
		what = "true or false"
	case reflect.Slice, reflect.Array:
		what = "an array"
	case reflect.Struct, reflect.Map:
		what = "an object"
	}
	return showName(wrong.Field) + " must be " + what
}
