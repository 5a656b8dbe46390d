package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

func TestNewSetRefuses(t *testing.T) {
	change := func(f func(*tool.Spec)) tool.Tool {
		s := spec("ok", pairSchema)
		f(&s)
		return fake{spec: s}
	}
	schema := func(s string) tool.Tool { return fake{spec: spec("ok", s)} }
	tests := map[string]struct {
		tools []tool.Tool
		want  string
	}{
		"nil":               {[]tool.Tool{nil}, "cannot describe itself"},
		"nil pointer":       {[]tool.Tool{(*classified)(nil)}, "cannot describe itself"},
		"no name":           {[]tool.Tool{change(func(s *tool.Spec) { s.Name = "" })}, "name"},
		"dotted name":       {[]tool.Tool{change(func(s *tool.Spec) { s.Name = "a.b" })}, "name"},
		"long name":         {[]tool.Tool{change(func(s *tool.Spec) { s.Name = strings.Repeat("a", 65) })}, "name"},
		"same name":         {[]tool.Tool{schema(pairSchema), schema(pairSchema)}, "two tools are named ok"},
		"blank description": {[]tool.Tool{change(func(s *tool.Spec) { s.Description = " \n" })}, "description"},
		"long description":  {[]tool.Tool{change(func(s *tool.Spec) { s.Description = strings.Repeat("a", 8193) })}, "description"},
		"unknown effect":    {[]tool.Tool{change(func(s *tool.Spec) { s.Effect = "maybe" })}, "effect class"},
		"blank capability":  {[]tool.Tool{change(func(s *tool.Spec) { s.Capabilities = []string{""} })}, "capability"},
		"negative timeout":  {[]tool.Tool{change(func(s *tool.Spec) { s.Limits.Timeout = -1 })}, "timeout"},
		"negative window":   {[]tool.Tool{change(func(s *tool.Spec) { s.Effect, s.RepeatWindow = kernel.Once, -1 })}, "repeat window"},
		"long window":       {[]tool.Tool{change(func(s *tool.Spec) { s.Effect, s.RepeatWindow = kernel.Once, 30*24*time.Hour+1 })}, "repeat window"},
		"window of a read":  {[]tool.Tool{change(func(s *tool.Spec) { s.RepeatWindow = time.Second })}, "class read"},
		"exclusive read":    {[]tool.Tool{change(func(s *tool.Spec) { s.Exclusive = true })}, "class read"},
		"no lookup":         {[]tool.Tool{change(func(s *tool.Spec) { s.Effect = kernel.Reconcilable })}, "no Lookup"},
		"tiny result":       {[]tool.Tool{change(func(s *tool.Spec) { s.Limits.MaxResult = 10 })}, "result size"},
		// Case 26: attempts must be positive.
		"negative attempts": {[]tool.Tool{change(func(s *tool.Spec) { s.Limits.Attempts = -1 })}, "attempts"},
		"no schema":         {[]tool.Tool{change(func(s *tool.Spec) { s.Schema = nil })}, "schema is missing"},
		"schema no JSON":    {[]tool.Tool{schema(`{`)}, "not one JSON object"},
		"schema not object": {[]tool.Tool{schema(`{"type":"array"}`)}, `"type": "object"`},
		"schema list":       {[]tool.Tool{schema(`[]`)}, "not one JSON object"},
		"schema twice":      {[]tool.Tool{schema(`{"type":"object","type":"object"}`)}, "duplicate name"},
		"schema broken":     {[]tool.Tool{schema(`{"type":"object","properties":{"a":{"type":"int"}}}`)}, "does not compile"},
		"other draft":       {[]tool.Tool{schema(`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}`)}, "2020-12"},
		"file reference":    {[]tool.Tool{schema(`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"file:///etc/hostname"}}}`)}, "not allowed"},
		"remote reference":  {[]tool.Tool{schema(`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"http://127.0.0.1/x"}}}`)}, "not allowed"},
		"lost reference":    {[]tool.Tool{schema(`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/x"}}}`)}, "does not compile"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := tool.NewSet(tt.tools...)
			if s != nil || kernel.CodeOf(err) != kernel.CodeConfiguration {
				t.Fatalf("NewSet = %v, %v, want CONFIGURATION", s, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not say %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has several lines: %q", err)
			}
		})
	}
}

// Row 32, case 35: identity is the host's; no schema may let a model name it,
// by no keyword, at no depth.
func TestNewSetRefusesIdentityArguments(t *testing.T) {
	closed := func(keywords string) string { return `{"type":"object","additionalProperties":false,` + keywords + `}` }
	for _, name := range []string{"user_id", "userId", "USER", "tenant", "tenant-id", "actor", "identity", "on_behalf_of", "principal_id", "caller"} {
		for _, schema := range []string{
			`"properties":{%q:{"type":"string"}}`,
			`"required":[%q]`,
			`"allOf":[{"properties":{%q:true}}]`,
			`"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"properties":{%q:true}}]}}`,
			`"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","properties":{%q:true}}}`,
			`"dependentRequired":{"q":[%q]}`,
			`"dependentRequired":{%q:["q"]}`,
			`"dependentSchemas":{%q:true}`,
			`"dependentSchemas":{"q":{"properties":{%q:true}}}`,
			`"properties":{"filter":{"type":"object","properties":{%q:{"type":"string"}}}}`,
			`"properties":{"filters":{"type":"array","items":{"properties":{%q:{"type":"string"}}}}}`,
			`"properties":{"filter":{"type":"object","propertyNames":{"enum":["q",%q]}}}`,
			`"properties":{"filter":{"type":"object","propertyNames":{"const":%q}}}`,
			`"$ref":"#/default","default":{"properties":{%q:true}}`,
		} {
			schema := closed(fmt.Sprintf(schema, name))
			refusesIdentity(t, schema)
		}
		refusesIdentity(t, closed(fmt.Sprintf(`"patternProperties":{%q:true}`, "^"+name+"$")))
	}
	for _, pattern := range []string{"", ".", "id$", "^[a-z_]+$", "(?i)^tenant", "^x|^act"} {
		refusesIdentity(t, closed(fmt.Sprintf(`"patternProperties":{%q:true}`, pattern)))
		refusesIdentity(t, closed(fmt.Sprintf(`"properties":{"filter":{"patternProperties":{%q:true}}}`, pattern)))
	}
	fine := closed(`"properties":{"username":{"default":"user_id"},"assignee":{"enum":["user","tenant"]},"required":{"type":"array"}},"patternProperties":{"^x-[a-z]+$":true}`)
	if _, err := tool.NewSet(fake{spec: spec("ok", fine)}); err != nil {
		t.Errorf("NewSet = %v, want nil", err)
	}
}

func refusesIdentity(t *testing.T, schema string) {
	t.Helper()
	_, err := tool.NewSet(fake{spec: spec("ok", schema)})
	if kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), "identity comes from the host") {
		t.Errorf("NewSet with %s = %v, want CONFIGURATION", schema, err)
	}
}

// Case 35: a spelling that no pattern was tried with is refused in the call.
func TestCheckRefusesIdentities(t *testing.T) {
	set := newSet(t, fake{spec: spec("odd", `{"type":"object","additionalProperties":false,"patternProperties":{"^U_s":true}}`)})
	for args, want := range map[string]string{`{"U_ser":"mallory"}`: "unexpected arguments: U_ser", `{"U_size":1}`: ""} {
		if got := message(t, set, "odd", args); got != want {
			t.Errorf("Check(%s) says %q, want %q", args, got, want)
		}
	}
}

// Case 35: a model can send no argument that the schema does not name.
func TestNewSetRefusesOpenSchemas(t *testing.T) {
	for _, keywords := range []string{
		``,
		`,"additionalProperties":true`,
		`,"additionalProperties":{}`,
		`,"additionalProperties":{"type":"string"}`,
		`,"unevaluatedProperties":true`,
		`,"unevaluatedProperties":{"type":"string"}`,
		`,"additionalProperties":true,"unevaluatedProperties":false`,
		`,"unevaluatedProperties":false,"allOf":[{"additionalProperties":true}]`,
		`,"unevaluatedProperties":false,"anyOf":[{"oneOf":[{"additionalProperties":{}}]}]`,
		`,"unevaluatedProperties":false,"if":true,"then":{"unevaluatedProperties":true}`,
		`,"unevaluatedProperties":false,"dependentSchemas":{"q":{"additionalProperties":true}}`,
		`,"unevaluatedProperties":false,"$ref":"#/$defs/x","$defs":{"x":{"additionalProperties":true}}`,
		`,"unevaluatedProperties":false,"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x","additionalProperties":true}}`,
		`,"$ref":"#/$defs/x","$defs":{"x":{"additionalProperties":false}}`,
	} {
		schema := `{"type":"object"` + keywords + `}`
		_, err := tool.NewSet(fake{spec: spec("ok", schema)})
		if kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), `"additionalProperties": false`) {
			t.Errorf("NewSet with %s = %v, want CONFIGURATION", schema, err)
		}
	}
	composed := `{"type":"object","unevaluatedProperties":false,"allOf":[{"properties":{"q":{"type":"string"}}}],"$ref":"#/$defs/x","$defs":{"x":{"properties":{"map":true}}},"properties":{"map":{"additionalProperties":true}}}`
	set := newSet(t, fake{spec: spec("ok", composed)})
	for args, want := range map[string]string{`{"q":"x","map":{"k":1}}`: "", `{"q":"x","z":1}`: "unexpected arguments: z"} {
		if got := message(t, set, "ok", args); got != want {
			t.Errorf("Check(%s) says %q, want %q", args, got, want)
		}
	}
}

func TestNewSetRefusesTooMany(t *testing.T) {
	var tools []tool.Tool
	for i := range tool.MaxTools + 1 {
		tools = append(tools, withCapabilities(fmt.Sprintf("t%d", i)))
	}
	if _, err := tool.NewSet(tools...); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("NewSet = %v, want CONFIGURATION", err)
	}
}

// Row 33: the snapshot does not change when the tool's own description does.
func TestSetIsFrozen(t *testing.T) {
	given := spec("pair", pairSchema)
	given.Capabilities = []string{"read"}
	set := newSet(t, fake{spec: given})
	before := set.Digest()
	copy(given.Schema, strings.Repeat(" ", len(given.Schema)))
	given.Capabilities[0] = "write"

	got, ok := set.Spec("pair")
	if !ok || !json.Valid(got.Schema) || got.Capabilities[0] != "read" {
		t.Errorf("Spec = %+v, %v: changed", got, ok)
	}
	if err := set.Check("pair", []byte(`{"a":1,"b":2}`)); err != nil {
		t.Errorf("Check = %v", err)
	}
	if set.Digest() != before {
		t.Error("the digest changed")
	}
}

func TestSetFillsInDefaults(t *testing.T) {
	s := spec("pair", pairSchema)
	s.Effect = ""
	got, _ := newSet(t, fake{spec: s}).Spec("pair")
	if got.Effect != kernel.Once {
		t.Errorf("Effect = %q, want once", got.Effect)
	}
	if want := (tool.Limits{Timeout: 30 * time.Second, MaxResult: 16 << 10, Attempts: 1}); got.Limits != want {
		t.Errorf("Limits = %+v, want %+v", got.Limits, want)
	}
}

func TestDigest(t *testing.T) {
	a, b := withCapabilities("a", "x", "y"), withCapabilities("b")
	base := newSet(t, a, b).Digest()
	if len(base) != 64 {
		t.Fatalf("Digest = %q", base)
	}
	reordered := fake{spec: spec("b", "{ \"additionalProperties\":false, \"type\" :\n\"object\"}")}
	if got := newSet(t, reordered, withCapabilities("a", "y", "x")).Digest(); got != base {
		t.Error("order and white space change the digest")
	}
	slow := spec("b", emptySchema)
	slow.Limits.Timeout = time.Minute
	once := spec("b", emptySchema)
	once.Effect = kernel.Once
	window, exclusive := once, once
	window.RepeatWindow, exclusive.Exclusive = time.Minute, true
	plain := newSet(t, a, fake{spec: once}).Digest()
	for name, s := range map[string]tool.Spec{"window": window, "exclusive": exclusive} {
		if newSet(t, a, fake{spec: s}).Digest() == plain {
			t.Errorf("%s: same digest", name)
		}
	}
	for name, other := range map[string]*tool.Set{
		"less":        newSet(t, a),
		"capability":  newSet(t, withCapabilities("a", "x"), b),
		"schema":      newSet(t, a, fake{spec: spec("b", `{"type":"object","additionalProperties":false,"minProperties":1}`)}),
		"limits":      newSet(t, a, fake{spec: slow}),
		"nothing":     nil,
		"other order": newSet(t, withCapabilities("b", "x", "y"), withCapabilities("a")),
	} {
		if other.Digest() == base {
			t.Errorf("%s: same digest", name)
		}
	}
}

func TestNilSetIsEmpty(t *testing.T) {
	var s *tool.Set
	if len(s.Specs()) != 0 || len(s.Names()) != 0 {
		t.Error("a nil set has tools")
	}
	if _, ok := s.Lookup("x"); ok {
		t.Error("a nil set finds a tool")
	}
	if _, ok := s.Spec("x"); ok {
		t.Error("a nil set describes a tool")
	}
	if empty := newSet(t); s.Digest() != empty.Digest() {
		t.Error("nil and empty differ")
	}
	if got := s.EffectOf("x", nil); got != kernel.Once {
		t.Errorf("EffectOf = %q", got)
	}
	if err := s.Check("x", nil); kernel.CodeOf(err) != kernel.CodeUnknownTool {
		t.Errorf("Check = %v", err)
	}
	if _, err := s.Route("goal", []string{"read"}); kernel.CodeOf(err) != kernel.CodeNotFound {
		t.Errorf("Route = %v", err)
	}
}

// Case 4, report A41: an unknown tool is answered with the names that exist.
func TestCheckUnknownTool(t *testing.T) {
	set := newSet(t, withCapabilities("get_ticket"), withCapabilities("search"))
	err := set.Check("get_tickets", []byte(`{}`))
	var e *kernel.Error
	if !errors.As(err, &e) || e.Code != kernel.CodeUnknownTool || e.Hint == "" {
		t.Fatalf("Check = %v", err)
	}
	if want := "no tool is named get_tickets; available: get_ticket, search"; e.Message != want {
		t.Errorf("message %q, want %q", e.Message, want)
	}

	var many []tool.Tool
	for i := range 30 {
		many = append(many, withCapabilities(fmt.Sprintf("tool_%02d", i)))
	}
	err = newSet(t, many...).Check(strings.Repeat("x\n", 500), nil)
	if msg := err.Error(); !strings.Contains(msg, "tool_19, and 10 more") || strings.Contains(msg, "\n") || len(msg) > 500 {
		t.Errorf("message %q", msg)
	}
}

// classified has the class that its argument names.
type classified struct{ fake }

func (c *classified) Spec() tool.Spec { return c.spec }

func (c *classified) Effect(args json.RawMessage) kernel.EffectClass {
	var in struct{ Class kernel.EffectClass }
	if err := json.Unmarshal(args, &in); err != nil {
		panic(err)
	}
	return in.Class
}

func TestEffectOf(t *testing.T) {
	set := newSet(t, &classified{fake{spec: spec("by_call", `{"type":"object","additionalProperties":false,"properties":{"class":{}}}`)}}, withCapabilities("fixed"))
	for _, tt := range []struct {
		name, args string
		want       kernel.EffectClass
	}{
		{"fixed", `{}`, kernel.Read},
		{"by_call", `{"class":"read"}`, kernel.Read},
		{"by_call", `{"class":"idempotent"}`, kernel.Idempotent},
		{"by_call", `{"class":"harmless"}`, kernel.Once},
		{"by_call", `{"class":"reconcilable"}`, kernel.Once}, // nothing could be asked
		{"by_call", `panic`, kernel.Once},
		{"none", `{}`, kernel.Once},
	} {
		if got := set.EffectOf(tt.name, json.RawMessage(tt.args)); got != tt.want {
			t.Errorf("EffectOf(%s, %s) = %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
}

// classifiedLookuper can be asked for those of its calls that are reconcilable.
type classifiedLookuper struct {
	*classified
	tool.Lookuper
}

func TestEffectOfLookuper(t *testing.T) {
	s := spec("by_call", `{"type":"object","additionalProperties":false,"properties":{"class":{}}}`)
	s.Effect, s.RepeatWindow, s.Exclusive = kernel.Reconcilable, 30*24*time.Hour, true
	set := newSet(t, classifiedLookuper{classified: &classified{fake{spec: s}}})
	if got := set.EffectOf("by_call", json.RawMessage(`{"class":"reconcilable"}`)); got != kernel.Reconcilable {
		t.Errorf("EffectOf = %q", got)
	}
	if got, _ := set.Spec("by_call"); got.RepeatWindow != s.RepeatWindow || !got.Exclusive {
		t.Errorf("%+v", got)
	}
}

// Row 29, case 30, and the rule of full cover.
func TestRoute(t *testing.T) {
	reader := withCapabilities("reader", "read")
	editor := withCapabilities("editor", "read", "write")
	admin := withCapabilities("admin", "read", "write", "delete")
	for name, tt := range map[string]struct {
		tools    []tool.Tool
		required []string
		want     string
	}{
		"full cover":            {[]tool.Tool{reader, editor}, []string{"read", "write"}, "editor"},
		"fewest surplus rights": {[]tool.Tool{admin, editor, reader}, []string{"read"}, "reader"},
		"repeats do not count":  {[]tool.Tool{admin, withCapabilities("twice", "read", "write", "read")}, []string{"write", "write"}, "twice"},
	} {
		set := newSet(t, tt.tools...)
		got, err := set.Route("fix it", tt.required)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Names(), []string{tt.want}) {
			t.Errorf("%s: chose %v, want %s", name, got.Names(), tt.want)
		}
		if got.Digest() == set.Digest() {
			t.Errorf("%s: the choice has the digest of the whole", name)
		}
	}
}

func TestRouteWithoutAChoice(t *testing.T) {
	set := newSet(t, withCapabilities("b", "read"), withCapabilities("a", "read"), withCapabilities("c", "read", "write"))
	var tie *tool.Ambiguous
	if _, err := set.Route("look", []string{"read"}); !errors.As(err, &tie) || !slices.Equal(tie.Candidates, []string{"a", "b"}) {
		t.Errorf("a tie: %v", err)
	}
	// A partial match is no match.
	_, err := set.Route("look", []string{"read", "delete"})
	if kernel.CodeOf(err) != kernel.CodeNotFound || !strings.Contains(err.Error(), "no tool has delete, read") {
		t.Errorf("no cover: %v", err)
	}
	_, err = set.Route(" ", []string{"read"})
	if kernel.CodeOf(err) != kernel.CodeInvalidArgument || !strings.Contains(err.Error(), "goal is required") {
		t.Errorf("blank goal: %v", err)
	}
	for _, required := range [][]string{nil, {""}} {
		if _, err := set.Route("look", required); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("required %q: %v", required, err)
		}
	}
}
