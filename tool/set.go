package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// MaxTools is the largest number of tools in a Set: what the strictest wire
// takes in one request.
const MaxTools = 128

// Set is a capability snapshot: the tools that a request offers and the routes
// that its calls take, frozen together. It never changes and is safe for
// concurrent use. A nil *Set is an empty one, for every method.
type Set struct {
	names  []string // in order
	tools  map[string]*member
	digest string
}

// member is a tool as it was when the set was made.
type member struct {
	tool       Tool
	spec       Spec
	schema     *schema
	keyed      bool   // it is a Keyer
	definition string // SHA-256 of what spec says, in hex
}

// NewSet makes a Set of tools. A tool whose name, description, schema, effect
// class, risk or limits are not acceptable, whose schema lets the model say who
// acts, which is reconcilable and no Lookuper, or whose name is taken is refused
// with CONFIGURATION, and so are more than MaxTools.
func NewSet(tools ...Tool) (*Set, error) {
	if len(tools) > MaxTools {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("there are over %d tools", MaxTools)}
	}
	members := make(map[string]*member, len(tools))
	for i, t := range tools {
		m, err := newMember(t)
		if err != nil {
			return nil, fmt.Errorf("tool %d of %d: %w", i+1, len(tools), err)
		}
		if members[m.spec.Name] != nil {
			return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "two tools are named " + m.spec.Name}
		}
		members[m.spec.Name] = m
	}
	return freeze(members), nil
}

func newMember(t Tool) (*member, error) {
	given, err := specOf(t)
	if err != nil {
		return nil, err
	}
	spec, compiled, err := register(given)
	if err != nil {
		return nil, err
	}
	if _, ok := t.(Lookuper); !ok && spec.Effect == kernel.Reconcilable {
		return nil, &kernel.Error{
			Code:    kernel.CodeConfiguration,
			Message: "tool " + showName(spec.Name) + ": its class is reconcilable, but it has no Lookup to ask for an effect",
			Hint:    "Give it a Lookup, or the class once.",
		}
	}
	_, keyed := t.(Keyer)
	sum := sha256.Sum256(spec.canonical())
	return &member{tool: t, spec: spec, schema: compiled, keyed: keyed, definition: hex.EncodeToString(sum[:])}, nil
}

// specOf asks a tool for its description. A nil tool, a nil pointer in
// particular, is an error.
func specOf(t Tool) (spec Spec, err error) {
	defer func() {
		if recover() != nil {
			err = &kernel.Error{Code: kernel.CodeConfiguration, Message: "the tool cannot describe itself"}
		}
	}()
	return t.Spec(), nil
}

// freeze makes a set of members that were judged before.
func freeze(members map[string]*member) *Set {
	s := &Set{names: slices.Sorted(maps.Keys(members)), tools: members}
	h := sha256.New()
	for _, name := range s.names {
		h.Write([]byte(members[name].definition))
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return s
}

// canonical returns the bytes that a spec's digest is made of: JSON with
// sorted keys and sorted capabilities.
func (s Spec) canonical() []byte {
	caps := slices.Sorted(slices.Values(s.Capabilities))
	dec := json.NewDecoder(bytes.NewReader(s.Schema))
	dec.UseNumber()
	var schema any
	// The schema was compiled, so it decodes; were it not, its bytes would
	// still tell two specs apart.
	if dec.Decode(&schema) != nil {
		schema = string(s.Schema)
	}
	b, err := json.Marshal([]any{
		s.Name, s.Description, schema, s.Effect, caps,
		s.Limits.Timeout, s.Limits.MaxResult, s.Limits.Attempts,
		s.RepeatWindow, s.Exclusive, s.Risk, string(s.Foreign),
	})
	if err != nil {
		return []byte(s.Name)
	}
	return b
}

// Specs returns the descriptions in the order of their names, defaults filled
// in. Schemas and capabilities are shared: do not change them.
func (s *Set) Specs() []Spec {
	specs := make([]Spec, 0, len(s.Names()))
	for _, name := range s.Names() {
		specs = append(specs, s.tools[name].spec)
	}
	return specs
}

// Names returns the names in order. Do not change the slice.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Lookup returns the tool of that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	m := s.member(name)
	if m == nil {
		return nil, false
	}
	return m.tool, true
}

// Spec returns the description of the tool of that name, defaults filled in.
// Its schema and capabilities are shared: do not change them.
func (s *Set) Spec(name string) (Spec, bool) {
	m := s.member(name)
	if m == nil {
		return Spec{}, false
	}
	return m.spec, true
}

// Definition returns the SHA-256 of everything that the spec of one tool says,
// in hexadecimal: the same as long as nobody describes it in another way. It is
// empty for an unknown tool.
func (s *Set) Definition(name string) string {
	m := s.member(name)
	if m == nil {
		return ""
	}
	return m.definition
}

// Digest returns the SHA-256 of everything that the specs say, in hexadecimal.
// The order in which the tools were given does not matter.
func (s *Set) Digest() string {
	if s == nil {
		return freeze(nil).digest
	}
	return s.digest
}

// Check judges the arguments of a call, whatever the provider promised about
// them: UNKNOWN_TOOL, or INVALID_ARGUMENT with a message that names what is
// missing, else what is unexpected, else what is wrong with each argument.
// Nothing is coerced: "248", true and 1.0 are not integers.
func (s *Set) Check(name string, args []byte) error {
	m := s.member(name)
	if m == nil {
		return s.unknown(name)
	}
	return m.schema.check(args)
}

// EffectOf returns the effect class of one call: what the tool's Classifier
// says, else what its spec says. It is kernel.Once for an unknown tool and for
// an answer that makes no sense.
func (s *Set) EffectOf(name string, args json.RawMessage) kernel.EffectClass {
	m := s.member(name)
	if m == nil {
		return kernel.Once
	}
	return effectOf(m.tool, m.spec.Effect, args)
}

func (s *Set) member(name string) *member {
	if s == nil {
		return nil
	}
	return s.tools[name]
}

// unknown names what there is, so that a model can correct itself.
func (s *Set) unknown(name string) error {
	msg := "no tool is named " + showName(name) + "; "
	if len(s.Names()) == 0 {
		msg += "no tools are available"
	} else {
		msg += "available: " + listNames(s.Names())
	}
	return &kernel.Error{
		Code:    kernel.CodeUnknownTool,
		Message: msg,
		Hint:    "Call one of the available tools, or answer without one.",
	}
}

// effectOf asks a Classifier, and takes whatever it cannot make sense of, or
// what the tool could not answer for, for the gravest class.
func effectOf(t Tool, declared kernel.EffectClass, args json.RawMessage) (effect kernel.EffectClass) {
	c, ok := t.(Classifier)
	if !ok {
		return declared
	}
	defer func() {
		_, asked := t.(Lookuper)
		if recover() != nil || !knownEffect(effect) || effect == kernel.Reconcilable && !asked {
			effect = kernel.Once
		}
	}()
	return c.Effect(args)
}

// blank reports whether s holds nothing to read.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
