package stub

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// What OpenAI bounds of a request's tools.
const (
	openAIToolCount   = 128
	openAIDescription = 1024 // characters
)

// openAITools returns the names of the tools.
func openAITools(o object) (names []string, err error) {
	if !o.has("tools") {
		return nil, nil
	}
	items, ok := o.list("tools")
	if !ok || len(items) == 0 || len(items) > openAIToolCount {
		return nil, refuse("tools: must be an array with 1 to %d tools, or absent", openAIToolCount)
	}
	for i, item := range items {
		name, err := openAITool(item, fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, name) {
			return nil, refuse("tools[%d].function.name: must be unique: %q", i, name)
		}
		names = append(names, name)
	}
	return names, nil
}

func openAITool(raw json.RawMessage, at string) (name string, err error) {
	tool, err := parseObject(raw, at)
	if err != nil {
		return "", err
	}
	if kind, _ := tool.text("type"); kind != "function" {
		return "", refuse("%s.type: must be function", at)
	}
	at += ".function"
	f, err := parseObject(tool["function"], at)
	if err != nil {
		return "", err
	}
	if err := f.only(at, "name description parameters strict"); err != nil {
		return "", err
	}
	if name, _ = f.text("name"); !legalName(name, openAINames) {
		return "", refuse("%s.name: must match ^[a-zA-Z0-9_-]{1,%d}$", at, openAINames)
	}
	description, _ := f.text("description")
	if n := utf8.RuneCountInString(description); n > openAIDescription {
		return "", refuse("%s.description: string too long: %d characters, at most %d", at, n, openAIDescription)
	}
	if !f.has("parameters") {
		return name, nil
	}
	at += ".parameters"
	schema, err := toolSchema(f["parameters"], at, "oneOf anyOf allOf enum not")
	if err != nil {
		return "", err
	}
	return name, schema.arraysHaveItems(at)
}

// arraysHaveItems walks a schema through the keywords that hold schemas.
func (o object) arraysHaveItems(at string) error {
	if _, ok := o["items"]; !ok && o.isArray() {
		return refuse("%s: array schema missing items", at)
	}
	for key, value := range o {
		var below []json.RawMessage
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, err := parseObject(value, at+"."+key)
			if err != nil {
				return err
			}
			below = slices.Collect(maps.Values(named))
		case "allOf", "anyOf", "oneOf", "prefixItems":
			below, _ = o.list(key)
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			below = []json.RawMessage{value}
		}
		for _, v := range below {
			if !isObject(v) {
				continue // true and false are schemas too
			}
			schema, err := parseObject(v, at+"."+key)
			if err != nil {
				return err
			}
			if err := schema.arraysHaveItems(at + "." + key); err != nil {
				return err
			}
		}
	}
	return nil
}

// isArray tells whether a schema's type is array, or has array among others.
func (o object) isArray() bool {
	if kind, ok := o.text("type"); ok {
		return kind == "array"
	}
	kinds, _ := o.list("type")
	return slices.ContainsFunc(kinds, func(k json.RawMessage) bool { return string(k) == `"array"` })
}
