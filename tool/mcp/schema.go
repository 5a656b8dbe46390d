//go:build linux || darwin

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a schema or a part of one, decoded.
type object = map[string]any

// schemas makes of a server's input schema the two that a tool has: what
// arguments are checked against, which means what the server's means, in JSON
// Schema 2020-12, and what a model is shown, which every wire takes. forms says
// in words what only the first one demands.
func schemas(input any) (shown, checked json.RawMessage, forms string, err error) {
	root, err := rootOf(input)
	if err != nil {
		return nil, nil, "", err
	}
	if err := modernise(root); err != nil {
		return nil, nil, "", err
	}
	if err := satisfiable(root, "arguments"); err != nil {
		return nil, nil, "", err
	}
	if checked, err = rawJSON(root); err != nil {
		return nil, nil, "", err
	}
	// A copy with nothing in common: what is shown is changed in place.
	var plainer object
	if plainer, err = decodeObject(checked); err != nil {
		return nil, nil, "", err
	}
	forms = flattenRoot(plainer)
	simplify(plainer)
	shown, err = rawJSON(plainer)
	return shown, checked, forms, err
}

// rootOf returns the schema as an object that demands one.
func rootOf(input any) (object, error) {
	switch input := input.(type) {
	case nil:
		return object{"type": "object", "properties": object{}}, nil
	case bool:
		if input {
			return object{"type": "object", "properties": object{}}, nil
		}
		return nil, plain("its schema accepts nothing")
	}
	raw, err := rawJSON(input)
	if err != nil {
		return nil, err
	}
	if len(raw) > 64<<10 {
		return nil, plain("its schema is over 64 KiB")
	}
	root, err := decodeObject(raw)
	if err != nil {
		return nil, plain("its schema is no JSON object")
	}
	switch typ := root["type"].(type) {
	case nil:
	case string:
		if typ != "object" {
			return nil, plain("its schema is not of an object")
		}
	case []any:
		if !slices.Contains(typ, any("object")) {
			return nil, plain("its schema is not of an object")
		}
	default:
		return nil, plain("the type of its schema is no text")
	}
	root["type"] = "object"
	if root["properties"] == nil {
		root["properties"] = object{}
	}
	return root, nil
}

func decodeObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var o object
	err := dec.Decode(&o)
	return o, err
}

// The keywords that hold schemas: by name, in a list, and one alone.
func mapsOfSchemas() []string {
	return []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
}

func listsOfSchemas() []string { return []string{"allOf", "anyOf", "oneOf", "prefixItems"} }

func singleSchemas() []string {
	return []string{"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
}

// children calls visit with each schema that is right below s, and where.
func children(s object, visit func(path string, child any) error) error {
	for _, keyword := range mapsOfSchemas() {
		members, _ := s[keyword].(object)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := visit(name, members[name]); err != nil {
				return err
			}
		}
	}
	for _, keyword := range listsOfSchemas() {
		list, _ := s[keyword].([]any)
		for i, item := range list {
			if err := visit(fmt.Sprintf("%s[%d]", keyword, i), item); err != nil {
				return err
			}
		}
	}
	for _, keyword := range singleSchemas() {
		if err := visit(keyword, s[keyword]); err != nil {
			return err
		}
	}
	return nil
}

// modernise words a schema of an earlier draft in 2020-12, in place.
func modernise(v any) error {
	s, ok := v.(object)
	if !ok {
		return nil
	}
	if dialect, ok := s["$schema"].(string); ok && !knownDialect(dialect) {
		return plain(fmt.Sprintf("its schema is of a dialect that is not known: %.100q", dialect))
	}
	for _, keyword := range []string{"required", "properties", "patternProperties", "$defs", "definitions", "items", "enum", "description", "title"} {
		if v, there := s[keyword]; there && v == nil { // an empty list of some languages
			delete(s, keyword)
		}
	}
	delete(s, "$schema")
	delete(s, "$id") // references are local: it would only move where they start from
	if list, ok := s["items"].([]any); ok {
		s["prefixItems"] = list
		delete(s, "items")
		if rest, ok := s["additionalItems"]; ok {
			s["items"] = rest
		}
	}
	delete(s, "additionalItems")
	if old, ok := s["dependencies"].(object); ok {
		delete(s, "dependencies")
		splitDependencies(s, old)
	}
	return children(s, func(_ string, child any) error { return modernise(child) })
}

func knownDialect(uri string) bool {
	uri = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://"), "#")
	return slices.Contains([]string{
		"json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/schema",
	}, uri)
}

// splitDependencies words an old keyword in the two that took its place.
func splitDependencies(s, old object) {
	required, applied := object{}, object{}
	for name, value := range old {
		if _, list := value.([]any); list {
			required[name] = value
		} else {
			applied[name] = value
		}
	}
	for keyword, members := range map[string]object{"dependentRequired": required, "dependentSchemas": applied} {
		if _, taken := s[keyword]; !taken && len(members) > 0 {
			s[keyword] = members
		}
	}
}

// satisfiable refuses a schema with a part that lists values none of which is
// of its type: providers refuse the whole request for it.
func satisfiable(v any, path string) error {
	s, ok := v.(object)
	if !ok {
		return nil
	}
	values, listed := s["enum"].([]any)
	if types := typesOf(s["type"]); listed && len(types) > 0 {
		fits := slices.ContainsFunc(values, func(v any) bool {
			return slices.ContainsFunc(types, func(typ string) bool { return isOf(v, typ) })
		})
		if !fits {
			return plain(fmt.Sprintf("no value of %.80q is of the type that its schema demands", path))
		}
	}
	return children(s, func(path string, child any) error { return satisfiable(child, path) })
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var types []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				types = append(types, s)
			}
		}
		return types
	}
	return nil
}

func isOf(v any, typ string) bool {
	switch v := v.(type) {
	case nil:
		return typ == "null"
	case string:
		return typ == "string"
	case bool:
		return typ == "boolean"
	case json.Number:
		return typ == "number" || typ == "integer" && !strings.ContainsAny(string(v), ".eE")
	case []any:
		return typ == "array"
	}
	return typ == "object"
}

// simplify makes a schema that is shown acceptable to wires that know no
// schema that is just true or false, and no list without items, in place.
func simplify(s object) {
	for _, keyword := range mapsOfSchemas() {
		members, _ := s[keyword].(object)
		for name, member := range members {
			switch member := member.(type) {
			case bool:
				if members[name] = anything(); !member {
					delete(members, name)
				}
			case object:
				simplify(member)
			}
		}
	}
	for _, keyword := range listsOfSchemas() {
		list, _ := s[keyword].([]any)
		for i, item := range list {
			if part, ok := item.(object); ok {
				simplify(part)
			} else if item == true {
				list[i] = anything()
			}
		}
	}
	for _, keyword := range singleSchemas() {
		if part, ok := s[keyword].(object); ok {
			simplify(part)
		}
	}
	if items := s["items"]; slices.Contains(typesOf(s["type"]), "array") && (items == nil || items == true) {
		s["items"] = anything()
	}
}

func anything() object { return object{"description": "any value"} }

// conditions are the keywords that wires refuse at the root of a schema.
func conditions() []string {
	return []string{
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref", "$dynamicRef",
		"dependentRequired", "dependentSchemas", "unevaluatedProperties", "propertyNames", "minProperties", "maxProperties",
	}
}

// flattenRoot replaces the conditions at the root by what they have in common:
// all arguments that any form knows, of which those are required that every form
// requires. It returns the forms in words.
func flattenRoot(root object) string {
	properties, _ := root["properties"].(object)
	if properties == nil {
		properties = object{}
	}
	required := stringsOf(root["required"])
	m := &merger{root: root, properties: properties}
	forms := ""
	for _, part := range append([]any{object{"$ref": root["$ref"]}}, listOf(root["allOf"])...) {
		required = append(required, m.take(part, 0)...)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches := listOf(root[keyword])
		if len(branches) == 0 {
			continue
		}
		var common []string
		var words []string
		for i, branch := range branches {
			needs := m.take(branch, 0)
			words = append(words, "{"+strings.Join(needs, ", ")+"}")
			if i == 0 {
				common = needs
			} else {
				common = slices.DeleteFunc(slices.Clone(common), func(n string) bool { return !slices.Contains(needs, n) })
			}
		}
		required = append(required, common...)
		forms = "The arguments must fit one of these forms, named by what each requires: " + strings.Join(words, " or ") + "."
	}
	for _, keyword := range conditions() {
		delete(root, keyword)
	}
	root["properties"] = properties
	slices.Sort(required)
	required = slices.DeleteFunc(slices.Compact(required), func(n string) bool { return properties[n] == nil })
	if len(required) > 0 {
		root["required"] = required
	} else {
		delete(root, "required")
	}
	return forms
}

// merger collects what the parts of a root know.
type merger struct {
	root, properties object
	steps            int
}

// Bounds of what is followed, through references too, which may be endless.
const (
	maxMerge = 16 // deep
	maxSteps = 1000
)

// take adds the arguments that a part knows, and returns those that it
// requires.
func (m *merger) take(v any, depth int) []string {
	part, ok := v.(object)
	if m.steps++; !ok || depth > maxMerge || m.steps > maxSteps {
		return nil
	}
	members, _ := part["properties"].(object)
	for name, schema := range members {
		if _, known := m.properties[name]; !known {
			m.properties[name] = schema
		}
	}
	required := stringsOf(part["required"])
	if target := m.resolve(part["$ref"]); target != nil {
		required = append(required, m.take(target, depth+1)...)
	}
	for _, one := range listOf(part["allOf"]) {
		required = append(required, m.take(one, depth+1)...)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, one := range listOf(part[keyword]) {
			m.take(one, depth+1)
		}
	}
	return required
}

// resolve follows a local reference.
func (m *merger) resolve(ref any) object {
	text, _ := ref.(string)
	if text != "#" && !strings.HasPrefix(text, "#/") {
		return nil
	}
	var at any = m.root
	for _, token := range strings.Split(text, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[token]
	}
	o, _ := at.(object)
	return o
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func stringsOf(v any) []string {
	var texts []string
	for _, item := range listOf(v) {
		if s, ok := item.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
