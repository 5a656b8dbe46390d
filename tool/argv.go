package tool

import "encoding/json"

// Commander is what a tool implements whose calls run a program. Argv is pure
// and returns the whole command line that a call would run, one argument each,
// so that rules can look at it; nil: none. Its arguments were checked against the
// schema.
type Commander interface {
	Argv(args json.RawMessage) []string
}

// Argv returns what the tool of that name would run for a call; nil: no program.
func (s *Set) Argv(name string, args json.RawMessage) []string {
	m := s.member(name)
	if m == nil {
		return nil
	}
	c, ok := m.tool.(Commander)
	if !ok {
		return nil
	}
	return c.Argv(args)
}

// Normalizer is what a tool implements that takes one thing in several
// spellings, such as a path. Normal is pure and returns the arguments in the one
// spelling that rules compare; the call itself runs with those that the model
// wrote. Its arguments were checked against the schema.
type Normalizer interface {
	Normal(args json.RawMessage) json.RawMessage
}

// Normal returns the arguments of a call as rules compare them.
func (s *Set) Normal(name string, args json.RawMessage) json.RawMessage {
	if m := s.member(name); m != nil {
		if n, ok := m.tool.(Normalizer); ok {
			return n.Normal(args)
		}
	}
	return args
}
