package skill

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse reads the text of a SKILL.md in a folder of that name.
func parse(folder string, text []byte) (*Skill, error) {
	head, body, err := split(text)
	if err != nil {
		return nil, err
	}
	front, err := decodeFront(head)
	if err != nil {
		return nil, err
	}
	s := &Skill{Body: strings.TrimSpace(body)}
	for _, f := range front {
		if err := s.take(f.key, f.value); err != nil {
			return nil, fmt.Errorf("line %d: %w", f.line, err)
		}
	}
	switch {
	case s.Name == "":
		return nil, errors.New("the front matter has no name")
	case s.Name != folder:
		return nil, fmt.Errorf("the name is %q and the folder is %q: they must be the same", s.Name, folder)
	case s.Description == "":
		return nil, errors.New("the front matter has no description")
	}
	if s.Body == "" {
		s.Notes = append(s.Notes, "there are no instructions below the front matter")
	}
	return s, nil
}

// fence stands on the lines around the front matter.
const fence = "---"

// split parts the front matter from the body.
func split(text []byte) (head []byte, body string, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, "", errors.New("it is not UTF-8 text")
	}
	all := strings.ReplaceAll(string(text), "\r\n", "\n")
	first, rest, _ := strings.Cut(all, "\n")
	if strings.TrimRight(first, " \t") != fence {
		return nil, "", errors.New("it does not begin with front matter: a line --- must come first")
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == fence {
			return []byte(rest[:at]), rest[at+len(line):], nil
		}
		at += len(line)
	}
	return nil, "", errors.New("the front matter has no end: a second line --- is missing")
}

// field is one entry of the front matter.
type field struct {
	key   string
	value *yaml.Node
	line  int // in the file
}

// decodeFront reads the front matter without anything that YAML can hide in
// it: no aliases, no tags of its own, no key twice.
func decodeFront(head []byte) ([]field, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(head, &doc); err != nil {
		return nil, fmt.Errorf("the front matter is not valid YAML: %s", strings.TrimPrefix(oneLine(err.Error()), "yaml: "))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the front matter holds no keys and values")
	}
	var fields []field
	for i, nodes := 0, doc.Content[0].Content; i+1 < len(nodes); i += 2 {
		key, node := nodes[i], nodes[i+1]
		line := key.Line + 1 // the fence above
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return nil, fmt.Errorf("line %d: a key is no plain word", line)
		case slices.ContainsFunc(fields, func(f field) bool { return f.key == key.Value }):
			return nil, fmt.Errorf("line %d: the key %.64q stands there twice", line, key.Value)
		}
		fields = append(fields, field{key: key.Value, value: node, line: line})
	}
	return fields, nil
}

// take reads one key.
func (s *Skill) take(key string, node *yaml.Node) (err error) {
	switch key {
	case "name":
		if s.Name, err = line(key, node, MaxName); err == nil && !legalName(s.Name) {
			err = fmt.Errorf("the name %.80q is not 1–%d lowercase letters, digits and single hyphens, with none at either end", s.Name, MaxName)
		}
	case "description":
		s.Description, err = line(key, node, MaxDescription)
	case "license":
		s.License, err = line(key, node, maxLicense)
	case "compatibility":
		s.Compatibility, err = line(key, node, MaxCompatibility)
	case "metadata":
		s.Metadata, err = metadata(node)
	case "allowed-tools":
		s.AllowedTools, err = allowed(node)
	default:
		return s.unknown(key)
	}
	return err
}

// unknown passes a key over that the format does not know, as other products
// have their own. One that was meant to narrow must not be lost that way.
func (s *Skill) unknown(key string) error {
	plain := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
	if strings.HasPrefix(plain, "allowedtool") || strings.HasPrefix(plain, "disallowedtool") {
		return fmt.Errorf("the key %.64q is not known; what narrows the tools is allowed-tools", key)
	}
	s.Notes = append(s.Notes, fmt.Sprintf("the key %.64q is not part of the format and is ignored", key))
	return nil
}

// line reads a text, in which any white space is one space.
func line(key string, node *yaml.Node, limit int) (string, error) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		return "", fmt.Errorf("%s must be text; put it in quotes", key)
	}
	text := oneLine(node.Value)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "", fmt.Errorf("%s is empty", key)
	case n > limit:
		return "", fmt.Errorf("%s has %d characters; at most %d are allowed", key, n, limit)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("%s holds control characters", key)
	}
	return text, nil
}

// metadata reads a mapping of words. A number is taken as it is written.
func metadata(node *yaml.Node) (map[string]string, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("metadata must be a mapping of keys to texts")
	}
	if len(node.Content) > 2*maxMetadata {
		return nil, fmt.Errorf("metadata has over %d keys", maxMetadata)
	}
	found := map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("metadata: line %d is no key with a text", key.Line+1)
		}
		if _, twice := found[key.Value]; twice {
			return nil, fmt.Errorf("metadata has the key %.64q twice", key.Value)
		}
		found[key.Value] = value.Value
	}
	return found, nil
}

// allowed reads allowed-tools: a text with spaces between, or a list.
func allowed(node *yaml.Node) ([]string, error) {
	var names []string
	switch {
	case node.Kind == yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode || item.ShortTag() != "!!str" || strings.TrimSpace(item.Value) == "" {
				return nil, errors.New("allowed-tools holds something that is no name of a tool")
			}
			names = append(names, strings.TrimSpace(item.Value))
		}
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
		names = words(node.Value)
	default:
		return nil, errors.New("allowed-tools must be a text with spaces between the names, or a list of names")
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("allowed-tools names no tool: leave it out, or name what the skill needs")
	case len(names) > maxAllowed:
		return nil, fmt.Errorf("allowed-tools has over %d names", maxAllowed)
	case slices.ContainsFunc(names, func(n string) bool { return len(n) > maxPattern || strings.ContainsFunc(n, unseen) }):
		return nil, fmt.Errorf("a name in allowed-tools has over %d bytes or holds characters that do not show", maxPattern)
	}
	return names, nil
}

// words parts a text at white space outside of parentheses, so that a pattern
// of arguments, which means nothing here, does not fall into pieces that do.
func words(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		}
		return depth == 0 && unicode.IsSpace(r)
	})
}

func legalName(name string) bool {
	if name == "" || len(name) > MaxName || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
