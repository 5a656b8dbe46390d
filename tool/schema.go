package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"

	"github.com/holdfast-run/holdfast/kernel"
)

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// schema checks arguments. It is safe for concurrent use.
type schema struct {
	compiled *jsonschema.Schema
	flat     *flat  // nil: it is not flat
	foreign  bool   // its names are another program's: none of them is an identity of ours
	names    *names // of a foreign one; nil: its own names are all there can be
}

// compileSchema compiles the schema of a tool's arguments: draft 2020-12, type
// object, closed, without names of identities, no reference that leaves it.
func compileSchema(raw json.RawMessage) (*schema, error) {
	doc, compiled, err := compile(raw)
	if err != nil {
		return nil, err
	}
	if name, found := identityInSchema(doc); found {
		return nil, errors.New(refusedIdentity(name))
	}
	if !isClosed(compiled) {
		return nil, errors.New(`the schema must say "additionalProperties": false, so that the model can send no other arguments`)
	}
	return &schema{compiled: compiled, flat: newFlat(doc)}, nil
}

// compileForeign compiles a schema that is not ours to word: it may be open,
// and its names mean what its owner says.
func compileForeign(shown, foreign json.RawMessage) (*schema, error) {
	face, err := parseObject(shown)
	if err != nil || face["type"] != "object" {
		return nil, errors.New(`the schema must be an object that says "type": "object"`)
	}
	doc, compiled, err := compile(foreign)
	if err != nil {
		return nil, err
	}
	return &schema{compiled: compiled, flat: newFlat(doc), foreign: true, names: namesOf(face, doc)}, nil
}

// compile compiles what every schema has to be.
func compile(raw json.RawMessage) (map[string]any, *jsonschema.Schema, error) {
	doc, err := parseObject(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the schema is %w", err)
	}
	if err := checkDialect(doc, map[string]bool{}); err != nil {
		return nil, nil, err
	}
	if doc["type"] != "object" {
		return nil, nil, errors.New(`the schema must say "type": "object"`)
	}
	const url = "tool:///schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.RegisterVocabulary(exactIntegers())
	c.AssertVocabs()
	if err := c.AddResource(url, doc); err != nil {
		return nil, nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	return doc, compiled, checkReferences(compiled)
}

// check validates args. Its error is INVALID_ARGUMENT in plain words.
func (s *schema) check(args []byte) error {
	if len(args) > maxArguments {
		return invalid(fmt.Sprintf("the arguments are over %d bytes", maxArguments))
	}
	if s.flat != nil && s.flat.accepts(args) {
		return nil
	}
	return s.validate(args)
}

func (s *schema) validate(args []byte) (err error) {
	v, err := parseObject(args)
	if err != nil {
		return invalid("the arguments are " + err.Error())
	}
	if name, found := identityName(v); found && !s.foreign {
		return invalid("unexpected arguments: " + showName(name))
	}
	if name, other, found := s.names.twins(v); found {
		return invalid("unexpected arguments: " + showName(name) + ", which is " + showName(other) + " in another spelling")
	}
	if tooCostly(s.compiled, v) {
		return invalid("the arguments are nested too deeply, or hold too much, for this tool's schema")
	}
	// The validator is other people's code on a model's input: what it cannot
	// judge is not valid.
	defer func() {
		if recover() != nil {
			err = invalid("the arguments could not be checked")
		}
	}()
	if err := s.compiled.Validate(v); err != nil {
		if ve, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			return invalid(explain(ve))
		}
		return invalid("the arguments could not be checked")
	}
	return nil
}

func invalid(msg string) error {
	return &kernel.Error{
		Code:    kernel.CodeInvalidArgument,
		Message: msg,
		Hint:    "Send the call again with arguments that fit the tool's schema.",
	}
}

// noLoader refuses every reference outside the schema: a schema never makes
// the host read a file or open a connection.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references outside the schema are not allowed")
}

// exactIntegers adds to draft 2020-12 what this module means by an integer: a
// number written as one. The draft alone takes 1.0 and 1e0 for integers.
func exactIntegers() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "tool:///exact-integers",
		Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
			if demandsInteger(obj["type"]) {
				return exactInteger{}, nil
			}
			return nil, nil
		},
	}
}

// demandsInteger reports whether a type keyword lets integers in and no other
// numbers.
func demandsInteger(typ any) bool {
	switch typ := typ.(type) {
	case string:
		return typ == "integer"
	case []any:
		return slices.Contains(typ, any("integer")) && !slices.Contains(typ, any("number"))
	}
	return false
}

type exactInteger struct{}

func (exactInteger) Validate(ctx *jsonschema.ValidatorContext, v any) {
	if n, ok := v.(json.Number); ok && strings.ContainsAny(string(n), ".eE") {
		ctx.AddError(inexact{})
	}
}

// inexact is the finding that an integer is not written as one.
type inexact struct{}

func (inexact) KeywordPath() []string { return []string{"type"} }

func (inexact) LocalizedString(*message.Printer) string { return "must be an integer" }
