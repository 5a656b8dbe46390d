package tool

import (
	"errors"
	"fmt"
	"reflect" //nolint:depguard // tells one map from another, and turns no type into anything
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a check. Each alternative of a schema is tried on its own, so that
// alternatives below alternatives multiply: a few hundred bytes of arguments
// could keep the validator busy for years, and nothing interrupts it. So the
// work is counted before it is done, and what would take too much is refused.
const (
	maxArguments = 8 << 20 // bytes: a file with every byte escaped
	maxSteps     = 200_000 // values compared with schemas
)

// count counts the steps of validations, at most about maxSteps of them. It
// never validates: each pair of a schema and a value is looked at once, however
// often the validator would come back to it.
type count struct {
	steps map[pair]int
	seen  int
	over  bool
}

// pair is a schema and the address of a value that it is applied to: 0 for
// whatever has nothing in it.
type pair struct {
	schema *jsonschema.Schema
	value  uintptr
}

// tooCostly reports whether validating v might take over maxSteps.
func tooCostly(s *jsonschema.Schema, v any) bool {
	c := count{steps: map[pair]int{}}
	c.of(s, v)
	return c.over
}

// of returns the most steps that applying s to v takes. Schemas do not apply
// themselves to their own value: checkReferences has seen to that.
func (c *count) of(s *jsonschema.Schema, v any) int {
	if s == nil || c.over {
		return 0
	}
	at := pair{s, address(v)}
	n, known := c.steps[at]
	if !known {
		n = 1 + c.same(s, v) + c.within(s, v)
		if s.Enum != nil {
			n += len(s.Enum.Values)
		}
		c.steps[at] = n
	}
	c.seen++
	c.over = c.over || n > maxSteps || c.seen > maxSteps
	return n
}

// same counts what s applies to v itself.
func (c *count) same(s *jsonschema.Schema, v any) int {
	n := 0
	for _, applied := range alternatives(s) {
		n += c.of(applied, v)
	}
	object, _ := v.(map[string]any)
	for name, dependent := range s.DependentSchemas {
		if _, present := object[name]; present {
			n += c.of(dependent, v)
		}
	}
	return n
}

// within counts what s applies to what is in v, and the looking through it.
func (c *count) within(s *jsonschema.Schema, v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := len(v) * (1 + len(s.PatternProperties))
		for name, value := range v {
			n += c.member(s, name, value)
		}
		return n
	case []any:
		n := len(v)
		for i, item := range v {
			n += c.item(s, i, item)
		}
		return n
	}
	return 0
}

func (c *count) member(s *jsonschema.Schema, name string, value any) int {
	if c.over {
		return 0
	}
	n := c.of(s.PropertyNames, nil) + c.of(s.UnevaluatedProperties, value)
	named, evaluated := s.Properties[name]
	n += c.of(named, value)
	for pattern, applied := range s.PatternProperties {
		if pattern.MatchString(name) {
			n, evaluated = n+c.of(applied, value), true
		}
	}
	if additional, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !evaluated {
		n += c.of(additional, value)
	}
	return n
}

func (c *count) item(s *jsonschema.Schema, i int, item any) int {
	applied := s.Items2020
	if i < len(s.PrefixItems) {
		applied = s.PrefixItems[i]
	}
	return c.of(applied, item) + c.of(s.Contains, item) + c.of(s.UnevaluatedItems, item)
}

// address tells values with something in them apart.
func address(v any) uintptr {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			return reflect.ValueOf(v).Pointer()
		}
	case []any:
		if len(v) > 0 {
			return reflect.ValueOf(v).Pointer()
		}
	}
	return 0
}

// alternatives are the schemas that s applies to its own value in any case.
func alternatives(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	return all
}

// parts are the schemas that s applies to what is in its value.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Clone(s.PrefixItems)
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for _, one := range []*jsonschema.Schema{
		additional, s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems,
	} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// checkReferences refuses a schema that could take too long whatever it is
// applied to: because a part of it applies itself to its own value, or because
// its alternatives multiply without any help from the arguments.
func checkReferences(root *jsonschema.Schema) error {
	const open, closed = 1, 2
	state := map[*jsonschema.Schema]int{}
	alone := count{steps: map[pair]int{}}
	var later []*jsonschema.Schema
	var visit func(*jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch state[s] {
		case open:
			return errors.New("a part of the schema refers to itself without going into the value")
		case closed:
			return nil
		}
		state[s] = open
		applied := alternatives(s)
		for _, dependent := range s.DependentSchemas {
			applied = append(applied, dependent)
		}
		for _, a := range applied {
			if err := visit(a); err != nil {
				return err
			}
		}
		state[s] = closed
		later = append(later, parts(s)...)
		return nil
	}
	later = append(later, root)
	for len(later) > 0 {
		s := later[len(later)-1]
		later = later[:len(later)-1]
		if err := visit(s); err != nil {
			return err
		}
		if alone.of(s, nil); alone.over {
			return fmt.Errorf("the alternatives of the schema multiply to over %d", maxSteps)
		}
	}
	return nil
}

// checkDialect refuses what would lead a reference elsewhere than it can be
// followed before a call: parts in another draft, and a dynamic anchor that is
// there twice.
func checkDialect(doc any, anchors map[string]bool) error {
	switch doc := doc.(type) {
	case map[string]any:
		if d, ok := doc["$schema"].(string); ok && d != draft2020 && d != draft2020+"#" {
			return errors.New("the schema must be of JSON Schema 2020-12")
		}
		if name, ok := doc["$dynamicAnchor"].(string); ok {
			if anchors[name] {
				return errors.New("the schema has a dynamic anchor twice")
			}
			anchors[name] = true
		}
		for _, member := range doc {
			if err := checkDialect(member, anchors); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range doc {
			if err := checkDialect(item, anchors); err != nil {
				return err
			}
		}
	}
	return nil
}
