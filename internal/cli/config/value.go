package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
)

// document remembers where each value stood, so that a check that needs two
// sections can still name a line.
type document struct {
	file  string
	nodes map[string]*yaml.Node // by path, such as limits.turns
}

// value is one node of the document and its path. Its readers convert nothing:
// "8", true and 8.0 are not the integer 8.
type value struct {
	doc  *document
	node *yaml.Node
	path string // empty: the document
}

// fields says how to read each key of a mapping.
type fields map[string]func(value) error

// into reads a value and stores it.
func into[T any](dst *T, read func(value) (T, error)) func(value) error {
	return func(v value) error {
		got, err := read(v)
		if err == nil {
			*dst = got
		}
		return err
	}
}

// at returns the value that was read at path, or the document where none was.
func (d *document) at(path string) value {
	if node := d.nodes[path]; node != nil {
		return value{doc: d, node: node, path: path}
	}
	return value{doc: d, node: d.nodes[""]}
}

// fail makes the error about v.
func (v value) fail(hint, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if v.path != "" {
		message = ruleByNumber(v.path) + ": " + message
	}
	return failAt(v.doc.file, v.node.Line, message, hint)
}

var rulePath = regexp.MustCompile(`^policy\[(\d+)\]`)

// ruleByNumber names a rule as the timeline does: counted from 1.
func ruleByNumber(path string) string {
	m := rulePath.FindStringSubmatch(path)
	if m == nil {
		return path
	}
	n, _ := strconv.Atoi(m[1]) // digits that this program wrote
	return "policy rule " + strconv.Itoa(n+1) + strings.TrimPrefix(path, m[0])
}

func failAt(file string, line int, message, hint string) error {
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: fmt.Sprintf("%s:%d: %s", file, max(line, 1), message),
		Hint:    hint,
	}
}

// mapping reads each key with its field, in the file's order.
func (v value) mapping(known fields) error {
	if v.node.Kind != yaml.MappingNode {
		return v.wrongTypeHint("a mapping", "write {key: value}")
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		child := v.child(key.Value, node)
		here := value{doc: v.doc, node: key, path: v.path}
		switch line, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return here.fail("keys are plain words", "a key is not text")
		case twice:
			return here.fail("keep one of them", "the key %s stands here and on line %d", key.Value, line)
		}
		seen[key.Value] = key.Line
		read, ok := known[key.Value]
		if !ok {
			return here.fail(hintFor(key.Value, sortedKeys(known)), "unknown key %.80q", key.Value)
		}
		v.doc.nodes[child.path] = node
		if err := read(child); err != nil {
			return err
		}
	}
	return nil
}

func (v value) child(key string, node *yaml.Node) value {
	path := key
	if v.path != "" {
		path = v.path + "." + key
	}
	return value{doc: v.doc, node: node, path: path}
}

// names returns a mapping's keys, in the file's order, for a mapping whose
// keys are the user's own.
func (v value) names() []string {
	var names []string
	if v.node.Kind == yaml.MappingNode {
		for i := 0; i < len(v.node.Content); i += 2 {
			names = append(names, v.node.Content[i].Value)
		}
	}
	return names
}

// list reads each item.
func (v value) list(item func(value) error) error {
	if v.node.Kind != yaml.SequenceNode {
		return v.wrongTypeHint("a list", "write [a, b]")
	}
	for i, node := range v.node.Content {
		child := value{doc: v.doc, node: node, path: fmt.Sprintf("%s[%d]", v.path, i)}
		v.doc.nodes[child.path] = node
		if err := item(child); err != nil {
			return err
		}
	}
	return nil
}

func (v value) text() (string, error) {
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!str" {
		return "", v.wrongTypeHint("text", "put it in quotes")
	}
	return v.node.Value, nil
}

func (v value) bool() (bool, error) {
	const hint = "write true or false, without quotes"
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!bool" {
		return false, v.wrongTypeHint("true or false", hint)
	}
	switch strings.ToLower(v.node.Value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	// A tag of the file's own calls anything a boolean.
	return false, v.fail(hint, "must be true or false, not %.40q", v.node.Value)
}

// whole returns a reader of integers from low to high. YAML's other spellings
// (0x10, 1_000, 010) mean different numbers to different readers and are
// refused.
func whole(low, high int) func(value) (int, error) {
	return func(v value) (int, error) {
		if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!int" {
			return 0, v.wrongTypeHint("a whole number", "write it in plain digits, without quotes")
		}
		n, err := strconv.Atoi(v.node.Value)
		if plain := strconv.Itoa(n) == v.node.Value; err != nil || !plain || n < low || n > high {
			hint := fmt.Sprintf("give a number from %d to %d", low, high)
			if !plainDigits.MatchString(v.node.Value) {
				hint = "write it in plain digits: another spelling may be read as another number"
			}
			return 0, v.fail(hint, "must be a whole number from %d to %d, not %.40s", low, high, v.node.Value)
		}
		return n, nil
	}
}

var (
	plainDigits = regexp.MustCompile(`^-?(0|[1-9]\d*)$`)
	// spelledDuration is what a duration looks like, also one that no clock holds.
	spelledDuration = regexp.MustCompile(`^[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`)
)

// duration returns a reader of durations from low to high.
func duration(low, high time.Duration) func(value) (time.Duration, error) {
	return func(v value) (time.Duration, error) {
		const hint = "write a number with its unit, such as 500ms, 30s or 2m"
		if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!str" {
			return 0, v.wrongTypeHint("a duration", hint)
		}
		d, err := time.ParseDuration(v.node.Value)
		if err != nil && !spelledDuration.MatchString(v.node.Value) {
			return 0, v.fail(hint, "%.40q is not a duration", v.node.Value)
		}
		if err != nil || d < low || d > high {
			return 0, v.fail(fmt.Sprintf("give a time from %s to %s", short(low), short(high)),
				"must be from %s to %s, not %.40s", short(low), short(high), v.node.Value)
		}
		return d, nil
	}
}

// short writes a duration without the units that are zero.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// choice returns a reader of one of a few words.
func choice[T ~string](words ...T) func(value) (T, error) {
	return func(v value) (T, error) {
		s, err := v.text()
		if err != nil {
			return "", err
		}
		if !slices.Contains(words, T(s)) {
			known := make([]string, len(words))
			for i, w := range words {
				known[i] = string(w)
			}
			return "", v.fail(hintFor(s, known), "%.80q is not known here", s)
		}
		return T(s), nil
	}
}

func (v value) wrongTypeHint(want, hint string) error {
	if v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null" {
		return v.fail("give it a value or remove the key", "has no value")
	}
	return v.fail(hint, "must be %s, not %s", want, v.kind())
}

func (v value) kind() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch v.node.ShortTag() {
	case "!!str":
		return "text"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "the number " + fmt.Sprintf("%.40s", v.node.Value)
	}
	return "a value of the type " + strings.TrimPrefix(fmt.Sprintf("%.40s", v.node.ShortTag()), "!!")
}
