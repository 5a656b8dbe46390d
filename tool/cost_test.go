package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// union is an ordinary recursive union: three alternatives, two of which look
// into the same member.
const union = `{"type":"object","properties":{"filter":{"$ref":"#/$defs/node"}},"required":["filter"],"additionalProperties":false,
	"$defs":{"node":{"oneOf":[
		{"type":"object","properties":{"op":{"const":"not"},"of":{"$ref":"#/$defs/node"}},"required":["op","of"]},
		{"type":"object","properties":{"op":{"const":"opt"},"of":{"$ref":"#/$defs/node"}},"required":["op","of"]},
		{"type":"object","properties":{"op":{"const":"eq"},"value":{"type":"string"}},"required":["op","value"]}]}}}`

func filter(levels int, value string) string {
	return `{"filter":` + strings.Repeat(`{"op":"not","of":`, levels) + `{"op":"eq","value":` + value + `}` + strings.Repeat(`}`, levels) + `}`
}

// Without a bound, each level more doubles the work: 18 take seconds, and 60
// never end. A test that runs out of time shows it.
func TestCheckBoundsAlternatives(t *testing.T) {
	set := newSet(t, fake{spec: spec("search", union)})
	for _, levels := range []int{1, 3, 5, 10} {
		if err := set.Check("search", []byte(filter(levels, `"x"`))); err != nil {
			t.Errorf("%d levels of a good filter: %v", levels, err)
		}
		want := "filter must have exactly one of the allowed forms"
		if got := message(t, set, "search", filter(levels, "5")); got != want {
			t.Errorf("%d levels of a bad filter: %q, want %q", levels, got, want)
		}
	}
	for _, levels := range []int{18, 40, 61} {
		for _, value := range []string{`"x"`, "5"} {
			if got := message(t, set, "search", filter(levels, value)); !strings.Contains(got, "nested too deeply") {
				t.Errorf("%d levels: %q", levels, got)
			}
		}
	}
}

// Every way in which a schema can come back to a value more than once.
func TestCheckBoundsEveryKeyword(t *testing.T) {
	const object = `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":%s}}`
	for name, n := range map[string]string{
		"anyOf":                 `{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["b"]},{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["c"]}]}`,
		"allOf":                 `{"allOf":[{"properties":{"a":{"$ref":"#/$defs/n"}}},{"properties":{"a":{"$ref":"#/$defs/n"}}}]}`,
		"not":                   `{"not":{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["b"]},"properties":{"a":{"$ref":"#/$defs/n"}}}`,
		"if":                    `{"if":{"properties":{"a":{"$ref":"#/$defs/n"}}},"then":{"properties":{"a":{"$ref":"#/$defs/n"}}}}`,
		"$ref":                  `{"$ref":"#/$defs/m","properties":{"a":{"$ref":"#/$defs/n"}}},"m":{"properties":{"a":{"$ref":"#/$defs/n"}}}`,
		"$dynamicRef":           `{"$dynamicRef":"#m","properties":{"a":{"$ref":"#/$defs/n"}}},"m":{"$dynamicAnchor":"m","properties":{"a":{"$ref":"#/$defs/n"}}}`,
		"patternProperties":     `{"patternProperties":{"^a$":{"$ref":"#/$defs/n"},"^a{1}$":{"$ref":"#/$defs/n"}}}`,
		"dependentSchemas":      `{"properties":{"a":{"$ref":"#/$defs/n"}},"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#/$defs/n"}}}}}`,
		"additionalProperties":  `{"allOf":[{"additionalProperties":{"$ref":"#/$defs/n"}},{"additionalProperties":{"$ref":"#/$defs/n"}}]}`,
		"unevaluatedProperties": `{"allOf":[{"unevaluatedProperties":{"$ref":"#/$defs/n"}},{"unevaluatedProperties":{"$ref":"#/$defs/n"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet(t, fake{spec: spec("t", fmt.Sprintf(object, n))})
			if err := set.Check("t", []byte(nested(`{"a":`, 3, `}`))); err != nil && strings.Contains(err.Error(), "too deeply") {
				t.Errorf("3 levels: %v", err)
			}
			if got := message(t, set, "t", nested(`{"a":`, 60, `}`)); !strings.Contains(got, "nested too deeply") {
				t.Errorf("60 levels: %q", got)
			}
		})
	}
	for name, n := range map[string]string{
		"items":            `{"allOf":[{"items":{"$ref":"#/$defs/n"}},{"items":{"$ref":"#/$defs/n"}}]}`,
		"prefixItems":      `{"allOf":[{"prefixItems":[{"$ref":"#/$defs/n"}]},{"prefixItems":[{"$ref":"#/$defs/n"}]}]}`,
		"contains":         `{"contains":{"$ref":"#/$defs/n"},"items":{"$ref":"#/$defs/n"}}`,
		"unevaluatedItems": `{"unevaluatedItems":{"$ref":"#/$defs/n"},"contains":{"$ref":"#/$defs/n"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet(t, fake{spec: spec("t", fmt.Sprintf(object, n))})
			if got := message(t, set, "t", `{"a":`+nested("[", 60, "]")+`}`); !strings.Contains(got, "nested too deeply") {
				t.Errorf("60 levels: %q", got)
			}
		})
	}
}

func nested(open string, levels int, end string) string {
	return strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels)
}

// Much is not deep: what a schema looks at once costs what it holds.
func TestCheckTakesLargeArguments(t *testing.T) {
	set := newSet(t, fake{spec: spec("t", `{"type":"object","properties":{"text":{"type":"string"},
		"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}},"additionalProperties":false}`)})
	if err := set.Check("t", []byte(`{"text":"`+strings.Repeat("a", 8<<20-100)+`"}`)); err != nil {
		t.Error(err)
	}
	rows := strings.Repeat(`{"n":1},`, 20_000)
	if err := set.Check("t", []byte(`{"rows":[`+rows[:len(rows)-1]+`]}`)); err != nil {
		t.Error(err)
	}
	if got := message(t, set, "t", `{"text":"`+strings.Repeat("a", 8<<20)+`"}`); got != "the arguments are over 8388608 bytes" {
		t.Errorf("over the limit: %q", got)
	}
}

// What no arguments could be checked against is refused with the tool.
func TestNewSetRefusesEndlessSchemas(t *testing.T) {
	doubling := `"d0":true`
	for i := 1; i <= 40; i++ {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	for name, defs := range map[string]string{
		"alternatives that multiply": doubling + `,"n":{"$ref":"#/$defs/d40"}`,
		"a reference to itself":      `"n":{"$ref":"#/$defs/m"},"m":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/n"}]}`,
		"itself, if something":       `"n":{"dependentSchemas":{"x":{"$ref":"#/$defs/n"}}}`,
		"an anchor that is twice":    `"n":{"$dynamicRef":"#x"},"a":{"$dynamicAnchor":"x"},"b":{"$id":"b","$dynamicAnchor":"x"}`,
		"another draft inside":       `"n":{"$id":"n","$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`,
	} {
		_, err := tool.NewSet(fake{spec: spec("t", `{"type":"object","properties":{"a":{"items":{"$ref":"#/$defs/n"}}},"additionalProperties":false,"$defs":{`+defs+`}}`)})
		if e, ok := errors.AsType[*kernel.Error](err); !ok || e.Code != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
}
