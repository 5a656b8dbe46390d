package transport

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// ToolLimits are what an official endpoint refuses of a request's tools, beyond
// what JSON Schema says. One tool that it refuses makes it refuse every request.
type ToolLimits struct {
	Endpoint    string   // what messages call it
	Tools       int      // at most so many; 0: any number
	Description int      // characters of a description at most; 0: any number
	Top         []string // keywords that a schema must not have at its top
	Items       bool     // a schema of type array, at any depth, must have items
}

// Check reports the first tool that the endpoint would refuse, as
// CONFIGURATION. A schema that is no JSON object is none of its business.
func (l *ToolLimits) Check(tools []model.Tool) error {
	if l.Tools > 0 && len(tools) > l.Tools {
		return l.refuse("%d tools; %s takes at most %d", len(tools), l.Endpoint, l.Tools)
	}
	for i := range tools {
		t := &tools[i]
		if n := utf8.RuneCountInString(t.Description); l.Description > 0 && n > l.Description {
			return l.refuse("the description of tool %q has %d characters; %s takes at most %d", t.Name, n, l.Endpoint, l.Description)
		}
		schema, _ := Parse(t.Schema)
		for name := range schema.Members {
			if slices.Contains(l.Top, string(name)) {
				return l.refuse("the schema of tool %q has %q at its top, which %s refuses", t.Name, name, l.Endpoint)
			}
		}
		if l.Items && lacksItems(schema) {
			return l.refuse("the schema of tool %q has an array without items, which %s refuses", t.Name, l.Endpoint)
		}
	}
	return nil
}

func (l *ToolLimits) refuse(format string, args ...any) error {
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: fmt.Sprintf(format, args...),
		Hint:    "change the tool, or leave it out; a compatible server may take it with the profile tolerant",
	}
}

// lacksItems looks for an array without items in a schema and those below it.
// What stands in const, default, enum and examples is data.
func lacksItems(schema Value) bool {
	array, items := false, false
	for name, v := range schema.Members {
		lacks := false
		switch string(name) {
		case "type":
			array = isArray(v)
		case "items":
			items = true
			lacks = lacksItems(v)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			for _, below := range v.Members {
				lacks = lacks || lacksItems(below)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for below := range v.Elements {
				lacks = lacks || lacksItems(below)
			}
		case "additionalProperties", "contains", "else", "if", "not", "propertyNames", "then",
			"unevaluatedItems", "unevaluatedProperties":
			lacks = lacksItems(v)
		}
		if lacks {
			return true
		}
	}
	return array && !items
}

// isArray tells whether a type is array or has array among others.
func isArray(kind Value) bool {
	for k := range kind.Elements {
		if isArray(k) {
			return true
		}
	}
	name, ok := kind.Text()
	return ok && name == "array"
}
