package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

type order struct {
	Item   string          `json:"item" jsonschema:"what to order"`
	Count  int             `json:"count"`
	Note   *string         `json:"note"`
	Tags   []string        `json:"tags,omitempty"`
	Extra  json.RawMessage `json:"extra,omitempty"`
	Amount json.Number     `json:"amount,omitempty"`
	Blob   []byte          `json:"blob,omitempty"`
	When   *struct {
		Day int64 `json:"day"`
	} `json:"when,omitempty"`
}

func orderSpec(effect kernel.EffectClass) tool.Spec {
	return tool.Spec{Name: "order", Description: "Orders.", Effect: effect}
}

// run executes args through schema and border, as an engine does.
func run(t *testing.T, tl tool.Tool, args string) tool.Outcome {
	t.Helper()
	if err := newSet(t, tl).Check(tl.Spec().Name, []byte(args)); err != nil {
		t.Fatalf("Check(%s) = %v", args, err)
	}
	return tool.Border{}.Execute(t.Context(), bind(t, tl, args), tool.Call{Arguments: json.RawMessage(args)})
}

func TestFuncInfersItsSchema(t *testing.T) {
	tl, err := tool.Func(orderSpec(kernel.Read), func(_ context.Context, _ tool.Call, in order) (order, error) { return in, nil })
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type                 string
		AdditionalProperties bool
		Required             []string
		Properties           map[string]struct {
			Description string
			Type        any
		}
	}
	if err := json.Unmarshal(tl.Spec().Schema, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "object" || got.AdditionalProperties || strings.Join(got.Required, " ") != "item count" {
		t.Errorf("schema %s", tl.Spec().Schema)
	}
	if got.Properties["item"].Description != "what to order" || got.Properties["tags"].Type != "array" || got.Properties["count"].Type != "integer" {
		t.Errorf("properties %+v", got.Properties)
	}
	set := newSet(t, tl)
	for _, tt := range []struct{ args, want string }{
		{`{"item":"x","count":1}`, ""},
		{`{"item":"x","count":1,"note":null,"amount":1.50,"blob":"aGk=","extra":{"a":[1]}}`, ""},
		{`{"item":"x"}`, "missing arguments: count"},
		{`{"item":"x","count":1,"more":1}`, "unexpected arguments: more"},
		{`{"item":"x","count":1.0}`, "count must be an integer"},
		{`{"item":"x","count":1,"tags":null}`, "tags must be an array"},
		{`{"item":"x","count":1,"when":{}}`, "missing arguments: when.day"},
		{`{"item":"x","count":1,"when":{"day":1e1}}`, "when.day must be an integer"},
	} {
		if got := message(t, set, "order", tt.args); got != tt.want {
			t.Errorf("Check(%s) says %q, want %q", tt.args, got, tt.want)
		}
	}
}

// Row 26, case 1: the form of a result.
func TestFuncResult(t *testing.T) {
	tl, err := tool.Func(orderSpec(kernel.Once), func(_ context.Context, _ tool.Call, in order) (map[string]any, error) {
		return map[string]any{"n": in.Count, "html": "<&>"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, tl, `{"item":"x","count":9007199254740993}`)
	if want := `{"status":"completed","result":{"html":"<&>","n":9007199254740993}}`; o.Text != want || o.IsError {
		t.Errorf("text %s, want %s", o.Text, want)
	}
	if want := `{"html":"<&>","n":9007199254740993}`; string(o.Data) != want {
		t.Errorf("data %s, want %s", o.Data, want)
	}
	if o.Facts.Status != kernel.StatusOK || o.Facts.Disposition != kernel.Landed || o.Facts.Size != len(o.Text) || len(o.Facts.Digest) != 64 {
		t.Errorf("facts %+v", o.Facts)
	}
}

// NaN has no JSON form. The effect has landed all the same.
func TestFuncResultWithoutJSONForm(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		tl, err := tool.Func(orderSpec(kernel.Once), func(context.Context, tool.Call, order) (float64, error) { return v, nil })
		if err != nil {
			t.Fatal(err)
		}
		o := run(t, tl, `{"item":"x","count":1}`)
		if !o.IsError || o.Facts.Disposition != kernel.Landed || !strings.Contains(o.Text, `"status":"error"`) || !json.Valid([]byte(o.Text)) {
			t.Errorf("%v: %+v", v, o)
		}
	}
}

// What reaches a tool past a schema that allows it is still not coerced, and
// nothing has happened.
func TestFuncDecodesStrictly(t *testing.T) {
	called := false
	s := orderSpec(kernel.Once)
	s.Schema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"count":true,"item":true,"when":true,"sudo":true}}`)
	tl, err := tool.Func(s, func(context.Context, tool.Call, order) (int, error) { called = true; return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{`{"count":1.0}`, "count must be an integer"},
		{`{"count":"1"}`, "count must be an integer"},
		{`{"count":9223372036854775808}`, "count must be an integer within the range"},
		{`{"item":1}`, "item must be a string"},
		{`{"when":{"day":true}}`, "when.day must be an integer"},
		{`{"sudo":1}`, "do not have the form"},
	} {
		o := run(t, tl, tt.args)
		if !o.IsError || o.Facts.Code != kernel.CodeInvalidArgument || o.Facts.Disposition != kernel.DidNotHappen || !strings.Contains(o.Text, tt.want) {
			t.Errorf("%s: %+v", tt.args, o)
		}
	}
	if called {
		t.Error("the function was called")
	}
}

func TestFuncOfAResult(t *testing.T) {
	want := tool.Result{Text: "plain", IsError: true, Disposition: kernel.DidNotHappen}
	tl, err := tool.Func(orderSpec(kernel.Once), func(context.Context, tool.Call, order) (tool.Result, error) { return want, nil })
	if err != nil {
		t.Fatal(err)
	}
	if o := run(t, tl, `{"item":"x","count":1}`); o.Text != "plain" || !o.IsError || o.Facts.Disposition != kernel.DidNotHappen {
		t.Errorf("%+v", o)
	}
}

func TestFuncError(t *testing.T) {
	tl, err := tool.Func(orderSpec(kernel.Read), func(context.Context, tool.Call, order) (int, error) {
		return 0, &kernel.Error{Code: kernel.CodeNotFound, Message: "no such item", Err: errors.New("row 17 of secrets.db")}
	})
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, tl, `{"item":"x","count":1}`)
	if want := `{"status":"error","code":"NOT_FOUND","message":"no such item"}`; o.Text != want || !o.IsError || o.Facts.Code != kernel.CodeNotFound {
		t.Errorf("%+v", o)
	}
}

func TestFuncRefuses(t *testing.T) {
	fn := func(context.Context, tool.Call, int) (int, error) { return 0, nil }
	if _, err := tool.Func(orderSpec(kernel.Read), fn); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("arguments that are no struct: %v", err)
	}
	if _, err := tool.Func[order, int](orderSpec(kernel.Read), nil); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("no function: %v", err)
	}
	type bad struct {
		C chan int `json:"c"`
	}
	if _, err := tool.Func(orderSpec(kernel.Read), func(context.Context, tool.Call, bad) (int, error) { return 0, nil }); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("a channel: %v", err)
	}
	s := orderSpec(kernel.Read)
	s.Limits.Timeout = -time.Second
	if _, err := tool.Func(s, func(context.Context, tool.Call, order) (int, error) { return 0, nil }); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("limits: %v", err)
	}
}

// A tool without arguments still has a schema that every wire takes.
func TestFuncWithoutArguments(t *testing.T) {
	tl, err := tool.Func(orderSpec(kernel.Read), func(context.Context, tool.Call, struct{}) (string, error) { return "ok", nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tl.Spec().Schema); !strings.Contains(got, `"properties":{}`) {
		t.Errorf("schema %s", got)
	}
	if o := run(t, tl, `{}`); o.Text != `{"status":"completed","result":"ok"}` {
		t.Errorf("%+v", o)
	}
}

// Case 35: whatever a schema says, no field of a typed function's arguments
// may take an identity, however deep it lies.
func TestFuncRefusesIdentityFields(t *testing.T) {
	type embedded struct{ TenantID string }
	type node struct {
		Next  *node
		Actor string `json:"actor"`
	}
	s := orderSpec(kernel.Read)
	s.Schema = json.RawMessage(emptySchema)
	for name, try := range map[string]func() (tool.Tool, error){
		"tagged": taking[struct {
			Who string `json:"user_id,omitempty"`
		}](s),
		"by name": taking[struct{ UserID string }](s),
		"another case": taking[struct {
			Who string `json:"User-ID"` //nolint:tagliatelle // a spelling to refuse
		}](s),
		"nested":    taking[struct{ Filter struct{ Tenant string } }](s),
		"in a list": taking[struct{ Filters []struct{ Tenant string } }](s),
		"in a map": taking[struct {
			Filters map[string]*struct{ Tenant string }
		}](s),
		"embedded":  taking[struct{ embedded }](s),
		"recursive": taking[struct{ Root node }](s),
		"only a string": taking[struct {
			Principal string `json:",string"` //nolint:tagliatelle // to be refused by the field's own name
		}](s),
	} {
		if _, err := try(); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), "identity comes from the host") {
			t.Errorf("%s: %v, want CONFIGURATION", name, err)
		}
	}
	for name, try := range map[string]func() (tool.Tool, error){
		"left out": taking[struct {
			UserID string `json:"-"`
		}](s),
		"renamed": taking[struct {
			User string `json:"assignee"`
		}](s),
		"unexported": taking[struct{ user string }](s),
		"own decoder": taking[struct {
			At  time.Time
			N   json.Number
			Raw json.RawMessage
		}](s),
	} {
		if _, err := try(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// taking makes a tool whose function takes an In.
func taking[In any](s tool.Spec) func() (tool.Tool, error) {
	return func() (tool.Tool, error) {
		return tool.Func(s, func(context.Context, tool.Call, In) (int, error) { return 0, nil })
	}
}
