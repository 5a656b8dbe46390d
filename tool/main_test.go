package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a tool made of a spec and a function.
type fake struct {
	spec tool.Spec
	run  func(context.Context, tool.Call) (tool.Result, error)
}

func (f fake) Spec() tool.Spec { return f.spec }

func (f fake) Run(ctx context.Context, c tool.Call) (tool.Result, error) { return f.run(ctx, c) }

const pairSchema = `{"type":"object","properties":{
	"a":{"type":"integer","minimum":-1000000,"maximum":1000000},
	"b":{"type":"integer","minimum":-1000000,"maximum":1000000}},
	"required":["a","b"],"additionalProperties":false}`

const emptySchema = `{"type":"object","additionalProperties":false}`

func spec(name, schema string) tool.Spec {
	return tool.Spec{Name: name, Description: "A tool.", Schema: json.RawMessage(schema), Effect: kernel.Read}
}

func withCapabilities(name string, caps ...string) tool.Tool {
	s := spec(name, emptySchema)
	s.Capabilities = caps
	return fake{spec: s}
}

// bind is the tool as an engine would run it with these arguments.
func bind(t testing.TB, tl tool.Tool, args string) tool.Binding {
	t.Helper()
	set := newSet(t, tl)
	name := set.Names()[0]
	b, _ := set.Bind(name, set.EffectOf(name, json.RawMessage(args)))
	return b
}

func newSet(t testing.TB, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
