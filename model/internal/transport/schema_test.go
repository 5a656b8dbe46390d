package transport

import (
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

func TestToolLimits(t *testing.T) {
	limits := ToolLimits{Endpoint: "the endpoint", Tools: 2, Description: 4, Top: []string{"anyOf"}, Items: true}
	ok := model.Tool{Name: "good", Description: "中中中中", Schema: []byte(`{"type":"object"}`)}
	schema := func(s string) model.Tool { return model.Tool{Name: "bad", Schema: []byte(s)} }
	for name, tc := range map[string]struct {
		tools []model.Tool
		says  string // part of the message; empty: they are taken
	}{
		"none":               {nil, ""},
		"good ones":          {[]model.Tool{ok, ok}, ""},
		"too many":           {[]model.Tool{ok, ok, ok}, "3 tools"},
		"a long description": {[]model.Tool{ok, {Name: "bad", Description: "12345"}}, `"bad" has 5 characters`},
		"a keyword on top":   {[]model.Tool{schema(`{"type":"object","anyOf":[]}`)}, `"bad" has "anyOf"`},
		"a keyword below":    {[]model.Tool{schema(`{"properties":{"anyOf":{"anyOf":[{"type":"string"}]}}}`)}, ""},
		"no schema":          {[]model.Tool{schema(`[]`)}, ""},
		"an array":           {[]model.Tool{schema(`{"properties":{"a":{"type":"array"}}}`)}, "array without items"},
		"an array of arrays": {[]model.Tool{schema(`{"properties":{"a":{"items":{"type":"array"},"type":"array"}}}`)}, "without items"},
		"among types":        {[]model.Tool{schema(`{"additionalProperties":{"type":["null","array"]}}`)}, "without items"},
		"in a list":          {[]model.Tool{schema(`{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"array"}]}}}`)}, "without items"},
		"in a definition":    {[]model.Tool{schema(`{"$defs":{"a":{"type":"array"}}}`)}, "without items"},
		"with items":         {[]model.Tool{schema(`{"properties":{"a":{"type":["array"],"items":{}}}}`)}, ""},
		"data":               {[]model.Tool{schema(`{"properties":{"a":{"const":{"type":"array"},"default":{"type":"array"}}}}`)}, ""},
		"a property's name":  {[]model.Tool{schema(`{"properties":{"type":{"type":"string"},"a":{"enum":["array"]}}}`)}, ""},
	} {
		err := limits.Check(tc.tools)
		if tc.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
