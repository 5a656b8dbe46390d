package config

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
)

// decode reads text into c and checks what needs two sections.
func (c *Config) decode(text []byte, tools []string) error {
	doc, root, err := parse(c.File, text)
	if err != nil {
		return err
	}
	if root == nil { // the rules of a folder count all the same
		root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
		doc = &document{file: c.File, nodes: map[string]*yaml.Node{"": root}}
	}
	err = value{doc: doc, node: root}.mapping(fields{
		"model":        c.decodeModel,
		"instructions": into(&c.Instructions, value.text),
		"workspace":    c.decodeWorkspace,
		"tools":        func(v value) error { return c.decodeTools(v, tools) },
		"programs":     c.decodePrograms,
		"sandbox":      func(v value) error { c.Sandbox = &Sandbox{}; return c.decodeSandbox(c.Sandbox)(v) },
		"mcp":          c.decodeMCP,
		"policy":       func(v value) error { return c.decodePolicy(v, tools) },
		"policy_dir":   func(value) error { return nil }, // read last, so that its rules come last
		"limits":       c.decodeLimits,
		"verify":       c.decodeVerify,
		"engine":       c.decodeEngine,
		"memory":       c.decodeMemory,
		"skills":       func(value) error { return nil }, // read last: it is compared with the workspace
		"hooks":        func(v value) error { return c.decodeHooks(v, tools) },
		"context":      c.decodeContext,
		"unknown":      into(&c.Unknown, choice(kernel.UnknownTell, kernel.UnknownWait)),
	})
	if err != nil {
		return err
	}
	if err := c.readPolicyDir(doc, tools); err != nil {
		return err
	}
	return c.check(doc)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse returns the document's root, nil for an empty one. Aliases are refused
// whole: nothing here needs them, and they can make a small file a huge one.
func parse(file string, text []byte) (*document, *yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var top, second yaml.Node
	switch err := decoder.Decode(&top); {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, nil, syntaxError(file, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, nil, failAt(file, second.Line, "a second document starts here", "keep one document in the file")
	case !errors.Is(err, io.EOF):
		return nil, nil, syntaxError(file, err)
	}
	root := top.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, nil, nil
	}
	if alias := findAlias(root); alias != nil {
		return nil, nil, failAt(file, alias.Line, "anchors and aliases are not supported", "write the value out")
	}
	return &document{file: file, nodes: map[string]*yaml.Node{"": root}}, root, nil
}

func findAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, child := range n.Content {
		if found := findAlias(child); found != nil {
			return found
		}
	}
	return nil
}

func syntaxError(file string, err error) error {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		line, _ = strconv.Atoi(m[1]) // 0 where the parser names none
	}
	return failAt(file, line, "not valid YAML: "+text, "check the indentation, the colons and the quotes near this line")
}

func (c *Config) decodeTools(v value, known []string) error {
	return v.list(func(item value) error {
		name, err := item.text()
		switch {
		case err != nil:
			return err
		case slices.Contains(skillTools(), name):
			return ofSkills(item, name)
		case !slices.Contains(known, name):
			return item.fail(hintFor(name, known), "unknown tool %.80q", name)
		case slices.Contains(c.Tools, name):
			return item.fail("name each tool once", "the tool %s is listed twice", name)
		}
		c.Tools = append(c.Tools, name)
		return nil
	})
}

// The bounds of limits: they leave room for arithmetic.
const (
	maxCount    = 1_000_000_000
	maxTokens   = math.MaxInt / 2
	maxDuration = 10_000 * time.Hour
)

func (c *Config) decodeLimits(v value) error {
	l, r := &c.Limits, &c.Retry
	tokens := 0
	err := v.mapping(fields{
		"turns":           into(&l.Turns, whole(1, maxCount)),
		"calls":           into(&l.Calls, whole(1, maxCount)),
		"deadline":        into(&l.Deadline, duration(1, maxDuration)),
		"request_timeout": into(&c.RequestTimeout, duration(1, maxDuration)),
		"repeat":          into(&l.Repeat, repeat),
		"tokens":          into(&tokens, whole(0, maxTokens)),
		"last_turn":       into(&l.LastTurn, choice(kernel.LastTurnRun, kernel.LastTurnReads)),
		"retry": func(v value) error {
			return v.mapping(fields{
				"attempts": into(&r.Attempts, whole(1, maxCount)),
				"per_run":  into(&r.PerRun, whole(1, maxCount)),
				"wait":     into(&r.Wait, duration(0, maxDuration)),
			})
		},
	})
	l.Tokens = int64(tokens)
	if v.doc.nodes["limits.retry.per_run"] == nil {
		// A long run needs more requests than the default; each turn may be
		// sent twice on the average.
		r.PerRun = max(r.PerRun, 2*l.Turns)
	}
	return err
}

// repeat reads limits.repeat: one occurrence is no repeat.
func repeat(v value) (int, error) {
	n, err := whole(0, maxCount)(v)
	if err == nil && n == 1 {
		return 0, v.fail("write 0 to switch it off", "must be at least 2, or 0 for off")
	}
	return n, err
}

// The words of verify.when and verify.on_unverified.
const (
	whenAnswer   = "answer"
	whenEachTurn = "each_turn"
	thenStop     = "stop"
	thenContinue = "continue"
)

func (c *Config) decodeVerify(v value) error {
	check := &Verify{}
	var when, unverified string
	err := v.mapping(fields{
		"program": into(&check.Program, value.text),
		"args": func(v value) error {
			return v.list(func(item value) error {
				arg, err := item.text()
				check.Args = append(check.Args, arg)
				return err
			})
		},
		"exit_code": into(&check.ExitCode, whole(0, 255)),
		"stdout": func(v value) error {
			check.Stdout = new(string)
			return into(check.Stdout, recordable)(v)
		},
		"when":          into(&when, choice(whenAnswer, whenEachTurn)),
		"on_unverified": into(&unverified, choice(thenStop, thenContinue)),
	})
	if err != nil {
		return err
	}
	check.EachTurn = when == whenEachTurn
	check.Continue = unverified == thenContinue
	c.Verify = check
	return nil
}

// recordable reads an output that a result can hold whole, with the line break
// at its end.
func recordable(v value) (string, error) {
	s, err := v.text()
	if err == nil && len(strings.TrimSuffix(s, "\n")) >= MaxStdout {
		return "", v.fail("expect a shorter output, or let the program itself compare and exit with a code",
			"is longer than what a result records of an output: %d bytes with the line break", MaxStdout)
	}
	return s, err
}

// The bounds of engine.lease: a shorter one is lost to a slow disk, a longer one
// keeps runs from whoever could go on with them.
const (
	minLease = time.Second
	maxLease = 10 * time.Minute
)

func (c *Config) decodeEngine(v value) error {
	return v.mapping(fields{"lease": into(&c.Engine.Lease, duration(minLease, maxLease))})
}

// check compares the sections with one another.
func (c *Config) check(doc *document) error {
	runs := slices.Contains(c.Tools, RunProgram)
	if runs && len(c.Programs) == 0 {
		return doc.at("tools").fail("add programs: {main: [python3, main.py]}, or take "+RunProgram+" out",
			"%s is listed, but no programs are configured", RunProgram)
	}
	if err := c.checkMemory(doc); err != nil {
		return err
	}
	if err := c.decodeSkills(doc); err != nil {
		return err
	}
	if c.Verify == nil {
		return nil
	}
	_, configured := c.Programs[c.Verify.Program]
	switch {
	case c.Verify.Program == "":
		return doc.at("verify").fail("name one of programs", "program is missing")
	case len(c.Programs) == 0:
		return doc.at("verify.program").fail("add programs: {NAME: [python3, main.py]}", "no programs are configured")
	case !configured:
		return doc.at("verify.program").fail(hintFor(c.Verify.Program, sortedKeys(c.Programs)),
			"%.80q is not among programs", c.Verify.Program)
	case !runs:
		return doc.at("verify.program").fail("add "+RunProgram+" to tools", "nothing can run it: tools does not list %s", RunProgram)
	}
	return nil
}
