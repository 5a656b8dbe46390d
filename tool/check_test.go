package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

const formSchema = `{"type":"object","additionalProperties":false,"required":["path"],
	"properties":{
		"path":{"type":"string","minLength":1,"maxLength":8,"pattern":"^[a-z]+$"},
		"unit":{"enum":["c","f"]},
		"ratio":{"type":"number","exclusiveMinimum":0,"maximum":1.5},
		"count":{"type":["integer","null"],"multipleOf":5},
		"tags":{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"string"}},
		"when":{"anyOf":[{"type":"string"},{"type":"integer"}]},
		"filter":{"$ref":"#/$defs/filter"},
		"fixed":{"const":1},
		"flag":{"type":"boolean"}},
	"$defs":{"filter":{"type":"object","required":["name"],"additionalProperties":false,
		"properties":{"name":{"type":"string"},"sub":{"$ref":"#/$defs/filter"}}}}}`

// message checks args and returns the message of the INVALID_ARGUMENT, "" for
// valid ones.
func message(t *testing.T, set *tool.Set, name, args string) string {
	t.Helper()
	err := set.Check(name, []byte(args))
	if err == nil {
		return ""
	}
	var e *kernel.Error
	if !errors.As(err, &e) || e.Code != kernel.CodeInvalidArgument || e.Message == "" {
		t.Fatalf("Check(%s) = %v, want INVALID_ARGUMENT", args, err)
	}
	return e.Message
}

// Rows 24–27, cases 2, 3, 31 and 35: what the host tells of arguments.
func TestCheckMessages(t *testing.T) {
	set := newSet(t, fake{spec: spec("pair", pairSchema)}, fake{spec: spec("form", formSchema)})
	for _, tt := range []struct{ name, args, want string }{
		{"pair", `{"a":248,"b":15}`, ""},
		{"pair", `{"a":1000000,"b":-1000000}`, ""},
		{"pair", `{"a":1000001,"b":1}`, "a must be at most 1000000"},
		{"pair", `{"a":1,"b":-1000001}`, "b must be at least -1000000"},
		// Case 2: no coercion, whatever a validator takes for an integer.
		{"pair", `{"a":"248","b":15}`, "a must be an integer"},
		{"pair", `{"a":true,"b":15}`, "a must be an integer"},
		{"pair", `{"a":null,"b":15}`, "a must be an integer"},
		{"pair", `{"a":1.0,"b":15}`, "a must be an integer"},
		{"pair", `{"a":1e0,"b":15}`, "a must be an integer"},
		{"pair", `{"a":2E6,"b":15}`, "a must be an integer"},
		{"pair", `[1]`, "the arguments are not one JSON object: not a JSON object at byte 0"},
		{"pair", `{"a":1,"b":2,"c":3}`, "unexpected arguments: c"},
		{"pair", `{"A":1,"b":2,"a":3}`, "unexpected arguments: A"},
		{"pair", `{"b":"x","a":[]}`, "a must be an integer; b must be an integer"},
		// Case 31: missing before unexpected, names in order.
		{"form", `{}`, "missing arguments: path"},
		{"form", `{"path":"x","sudo":true}`, "unexpected arguments: sudo"},
		{"form", `{"zeta":1,"alpha":2,"path":"x"}`, "unexpected arguments: alpha, zeta"},
		{"pair", `{"zeta":1}`, "missing arguments: a, b"},
		// Case 35: a model-sent identity is one more unexpected argument.
		{"form", `{"path":"x","user_id":"bob"}`, "unexpected arguments: user_id"},

		{"form", `{"path":""}`, "path must have at least 1 character"},
		{"form", `{"path":"abcdefghi"}`, "path must have at most 8 characters"},
		{"form", `{"path":"A"}`, "path must match ^[a-z]+$"},
		{"form", `{"path":"x","unit":"k"}`, `unit must be one of "c", "f"`},
		{"form", `{"path":"x","ratio":0}`, "ratio must be more than 0"},
		{"form", `{"path":"x","ratio":1.6}`, "ratio must be at most 1.5"},
		{"form", `{"path":"x","ratio":1e0}`, ""},
		{"form", `{"path":"x","count":7}`, "count must be a multiple of 5"},
		{"form", `{"path":"x","count":5.0}`, "count must be an integer"},
		{"form", `{"path":"x","count":"5"}`, "count must be null or an integer"},
		{"form", `{"path":"x","count":null}`, ""},
		{"form", `{"path":"x","tags":["a","b","c"]}`, "tags must have at most 2 items"},
		{"form", `{"path":"x","tags":["a","a"]}`, "tags must not hold an item twice"},
		{"form", `{"path":"x","tags":["a",1]}`, "tags[1] must be a string"},
		{"form", `{"path":"x","when":1.0}`, "when has none of the allowed forms"},
		{"form", `{"path":"x","when":1}`, ""},
		{"form", `{"path":"x","fixed":2}`, "fixed must be 1"},
		{"form", `{"path":"x","flag":1}`, "flag must be true or false"},
		{"form", `{"path":"x","filter":{}}`, "missing arguments: filter.name"},
		{"form", `{"path":"x","filter":{"name":"n","sub":{"name":"n","x":1}}}`, "unexpected arguments: filter.sub.x"},
	} {
		if got := message(t, set, tt.name, tt.args); got != tt.want {
			t.Errorf("Check(%s, %s) says %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
}

// Report A09 and row 10: what is not exactly one strict object is refused, by
// the schema's check, by a typed function and, but for blank text, by admission
// alike: there is one parser.
func TestCheckParsesStrictly(t *testing.T) {
	const open = `{"type":"object","additionalProperties":false,"properties":{"a":true,"add":true,"x":true}}`
	set := newSet(t, fake{spec: spec("any", open)})
	typed, err := tool.Func(spec("any", open), func(context.Context, tool.Call, struct{ A, Add, X any }) (string, error) { return "ran", nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"", "the text is blank at byte 0"},
		{"  ", "the text is blank at byte 0"},
		{"null", "not a JSON object at byte 0"},
		{"{", "the text ends early at byte 1"},
		{`{"a":1}{"a":2}`, "something follows the JSON object at byte 7"},
		{`{"add":["s"]}</tool_call>`, "something follows the JSON object at byte 13"},
		{`{"a":1,}`, "expected a name in quotes at byte 7"},
		{`{"a":[1,]}`, "not a JSON value at byte 8"},
		{`{"a":01}`, "expected , or } at byte 6"},
		{`{"a":NaN}`, "not a JSON value at byte 5"},
		{`{a:1}`, "expected a name in quotes at byte 1"},
		{`{"a":1,"a":2}`, `duplicate name "a" at byte 11`},
		{`{"x":[{"a":1,"\u0061":2}]}`, `duplicate name "a" at byte 22`},
		{"{\"a\":\"\xff\"}", "invalid UTF-8 at byte 6"},
		{`{"a":"\ud800"}`, "lone surrogate at byte 12"},
		{`{"a":"\ude00\ud83d"}`, "lone surrogate at byte 18"},
		{"{\"a\":\"\n\"}", "control character in a string at byte 6"},
		{`{"a":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, "nested deeper than 64 at byte 69"},
		{`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, ""},
		{"\n {\"a\":{\"b\":[1,2,{}]}} \n", ""},
		{`{"a":"\ud83d\ude00"}`, ""},
	} {
		want := tt.want
		if want != "" {
			want = "the arguments are not one JSON object: " + want
		}
		if got := message(t, set, "any", tt.args); got != want {
			t.Errorf("Check(%.40q) says %q, want %q", tt.args, got, want)
		}
		o := tool.Border{}.Execute(t.Context(), bind(t, typed, `{}`), tool.Call{Arguments: json.RawMessage(tt.args)})
		if refused := o.Facts.Code == kernel.CodeInvalidArgument && o.Facts.Disposition == kernel.DidNotHappen; refused != (want != "") || o.IsError != refused {
			t.Errorf("Func(%.40q): %+v", tt.args, o)
		}
		if err := kernel.CheckArguments(tt.args); (err != nil) != (want != "") || err != nil && err.Error() != tt.want {
			t.Errorf("CheckArguments(%.40q) = %v, want %q", tt.args, err, tt.want)
		}
	}
	for _, number := range []string{"1e401", "1e99999999999", "1" + strings.Repeat("0", 512)} {
		if got, want := message(t, set, "any", `{"a":[{"a":`+number+`}]}`), "the arguments are not usable: a number is out of range"; got != want {
			t.Errorf("Check of %.20s says %q, want %q", number, got, want)
		}
	}
}

// Report A08: bounds hold to the last digit.
func TestCheckIsExactBeyondFloats(t *testing.T) {
	set := newSet(t, fake{spec: spec("big", `{"type":"object","properties":{"id":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`)})
	if got := message(t, set, "big", `{"id":9007199254740993}`); got != "" {
		t.Errorf("2^53+1: %s", got)
	}
	if got, want := message(t, set, "big", `{"id":9007199254740994}`), "id must be at most 9007199254740993"; got != want {
		t.Errorf("2^53+2 says %q, want %q", got, want)
	}
}

// What a model sends is not echoed at length and breaks no line.
func TestCheckMessagesAreBounded(t *testing.T) {
	set := newSet(t, fake{spec: spec("form", formSchema)}, fake{spec: spec("pair", pairSchema)})
	args := map[string]any{"path": "x", "a\nb": 1, "x, y": 1, strings.Repeat("汉", 5000): 1}
	for i := range 100 {
		args[fmt.Sprintf("n%03d", i)] = i
	}
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	got := message(t, set, "form", string(b))
	if len(got) > 2000 || strings.ContainsAny(got, "\n\r") {
		t.Errorf("message of %d bytes: %q", len(got), got)
	}
	for _, want := range []string{`"a\nb"`, `"x, y"`, "and 83 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("message %q lacks %s", got, want)
		}
	}
	secret := strings.Repeat("hunter2", 20)
	if got := message(t, set, "pair", `{"a":"`+secret+`","b":1}`); strings.Contains(got, "hunter2") {
		t.Errorf("a value is echoed: %q", got)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"path":"x"}`, `{"path":"x","ratio":1e400}`, `{"path":1,"path":2}`, `{"filter":{"sub":{}}}`, `{"a":"\ud800"}`} {
		f.Add([]byte(s))
	}
	set := newSet(f, fake{spec: spec("form", formSchema)})
	f.Fuzz(func(t *testing.T, args []byte) {
		err := set.Check("form", args)
		if err == nil {
			if !json.Valid(args) {
				t.Errorf("accepted %q", args)
			}
			return
		}
		if kernel.CodeOf(err) != kernel.CodeInvalidArgument || strings.Contains(err.Error(), "\n") {
			t.Errorf("Check(%q) = %v", args, err)
		}
	})
}
