package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of a program.
const (
	maxArgv           = 64
	maxProgramTimeout = 12 * time.Hour
)

var programName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (c *Config) decodePrograms(v value) error {
	c.Programs = map[string]Program{}
	entries := fields{}
	for _, name := range v.names() {
		entries[name] = func(v value) error {
			if !programName.MatchString(name) {
				return v.fail("use 1–64 letters, digits, _ or -", "a program cannot be named like this")
			}
			c.noted(v)
			p, err := c.decodeProgram(v)
			c.Programs[name] = p
			return err
		}
	}
	return v.mapping(entries)
}

// noted keeps where a value stands.
func (c *Config) noted(v value) {
	if c.Places == nil {
		c.Places = map[string]string{}
	}
	c.Places[v.path] = fmt.Sprintf("%s:%d", v.doc.file, v.node.Line)
}

// decodeProgram reads an argv, or a mapping that holds one.
func (c *Config) decodeProgram(v value) (Program, error) {
	var p Program
	if v.node.Kind == yaml.SequenceNode {
		return p, p.decodeArgv(v)
	}
	if v.node.Kind != yaml.MappingNode {
		return p, v.wrongTypeHint("a list or a mapping", "write it as [python3, main.py] or {argv: [python3, main.py], effect: read}; no shell is involved")
	}
	err := v.mapping(fields{
		"argv":    p.decodeArgv,
		"effect":  into(&p.Effect, effect),
		"timeout": into(&p.Timeout, duration(1, maxProgramTimeout)),
		"sandbox": func(v value) error { p.Sandbox = &Sandbox{}; return c.decodeSandbox(p.Sandbox)(v) },
	})
	if err == nil && p.Argv == nil {
		err = v.fail("write argv: [python3, main.py]", "argv is missing")
	}
	return p, err
}

// effect reads a program's class. One that is reconcilable could be asked what
// became of a call, and a program cannot.
func effect(v value) (kernel.EffectClass, error) {
	if s, err := v.text(); err == nil && s == string(kernel.Reconcilable) {
		return "", v.fail("write idempotent if running it again changes nothing more, and otherwise once",
			"a program cannot be asked afterwards whether a call landed, so it is not reconcilable")
	}
	return choice(kernel.Read, kernel.Idempotent, kernel.Once)(v)
}

func (p *Program) decodeArgv(v value) error {
	err := v.list(func(item value) error {
		arg, err := item.text()
		if err != nil {
			return err
		}
		if strings.ContainsRune(arg, 0) {
			return item.fail("take it out: no command line can hold it", "must not hold a NUL character")
		}
		p.Argv = append(p.Argv, arg)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(p.Argv) == 0 || strings.TrimSpace(p.Argv[0]) == "":
		return v.fail("the first item is the program, such as [python3, main.py]", "names no program")
	case len(p.Argv) > maxArgv:
		return v.fail("put the rest into a script of its own", "has %d items; at most %d are possible", len(p.Argv), maxArgv)
	}
	return nil
}

func (c *Config) decodeWorkspace(v value) error {
	dir, err := nonEmpty(v)
	if err != nil {
		return err
	}
	c.Workspace = c.resolve(dir)
	info, err := os.Stat(c.Workspace)
	switch {
	case err != nil:
		return v.fail("create it, or name an existing directory relative to this file", "there is no directory %.200q", dir)
	case !info.IsDir():
		return v.fail("name a directory", "%.200q is not a directory", dir)
	}
	return nil
}
