package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// inferSchema makes the schema of the arguments that decode into t.
func inferSchema(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() != reflect.Struct {
		return nil, errors.New("arguments must be a struct")
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): anything(),
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, fmt.Errorf("no schema can be inferred: %w", err)
	}
	if s.Properties == nil { // some wires demand the keyword
		s.Properties = map[string]*jsonschema.Schema{}
	}
	tighten(s)
	return json.Marshal(s)
}

// anything is the schema of any value. It is spelled out since some wires know
// no schema that is just true, and none of an array without items.
func anything() *jsonschema.Schema {
	return &jsonschema.Schema{
		Types: []string{"array", "boolean", "null", "number", "object", "string"},
		Items: &jsonschema.Schema{Description: "any value"},
	}
}

// tighten changes what the library infers into what this module means. A
// pointer is an optional argument, so that null and absent say the same; a
// slice, or a pointer to one, is a list and never null.
func tighten(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool {
		p := s.Properties[name]
		return p != nil && slices.Contains(p.Types, "null") && !slices.Contains(p.Types, "array")
	})
	switch {
	case slices.Equal(s.Types, []string{"null", "array"}):
		s.Type, s.Types = "array", nil
	case reflect.DeepEqual(s, &jsonschema.Schema{}):
		*s = *anything()
	}
	for _, p := range s.Properties {
		tighten(p)
	}
	tighten(s.Items)
	tighten(s.AdditionalProperties)
}
