package tool

import "github.com/santhosh-tekuri/jsonschema/v6"

// isClosed reports whether a schema lets through only arguments that it names.
func isClosed(s *jsonschema.Schema) bool {
	if s.AdditionalProperties == false {
		return true
	}
	unevaluated := s.UnevaluatedProperties
	if unevaluated == nil || unevaluated.Bool == nil || *unevaluated.Bool {
		return false
	}
	return !opens(s, map[*jsonschema.Schema]bool{})
}

// opens reports whether a schema, or one that it applies to the same object,
// counts arguments as evaluated that nothing names. Where a dynamic reference
// leads is not known before a call, so that it might.
func opens(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.AdditionalProperties != nil && s.AdditionalProperties != false || s.DynamicRef != nil {
		return true
	}
	if u := s.UnevaluatedProperties; u != nil && (u.Bool == nil || *u.Bool) {
		return true
	}
	applied := []*jsonschema.Schema{s.Ref, s.If, s.Then, s.Else}
	applied = append(append(append(applied, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, d := range s.DependentSchemas {
		applied = append(applied, d)
	}
	for _, a := range applied {
		if opens(a, seen) {
			return true
		}
	}
	return false
}
