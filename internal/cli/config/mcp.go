package config

import (
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
)

// MCPServer is a server of the Model Context Protocol whose tools the agent
// gets. It has a Command or a URL.
type MCPServer struct {
	Command      []string
	Env          map[string]string
	EnvFrom      map[string]Variable // variables of the server, by its own names
	URL          string
	HeadersEnv   map[string]Variable // headers, by their names
	Insecure     bool
	OAuth        *MCPOAuth // nil: a client that registers itself
	Timeout      time.Duration
	StartTimeout time.Duration
	Effects      map[string]kernel.EffectClass // by tool
	Pin          map[string]string             // hashes of definitions, by tool
	Limits       *MCPLimits                    // nil: results are shortened, and not refused
}

// MCPLimits refuse results. Zero counts mean the largest ones there are.
type MCPLimits struct {
	Blocks     int  `json:"blocks,omitempty"`
	Chars      int  `json:"chars,omitempty"`
	Structured bool `json:"structured,omitempty"`
}

// Variable is a variable of the environment. Its value is a secret, and is filled
// in by CompleteMCP.
type Variable struct {
	Name  string
	Value Secret
}

// The defaults and bounds of a server.
const (
	defaultMCPTimeout = 30 * time.Second
	defaultMCPStart   = 10 * time.Second
	maxMCPTimeout     = time.Hour
	maxMCPBlocks      = 1000
	maxMCPChars       = 1 << 20
)

var (
	mcpName      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,38}[A-Za-z0-9])?$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (c *Config) decodeMCP(v value) error {
	c.MCP = map[string]MCPServer{}
	entries := fields{}
	for _, name := range v.names() {
		entries[name] = func(v value) error {
			if !mcpName.MatchString(name) || strings.Contains(name, "__") {
				return v.fail(`use 1–40 letters, digits, "-" and single "_", with letters or digits at both ends`, "an mcp server cannot be named like this")
			}
			s, err := decodeMCPServer(v)
			c.MCP[name] = s
			return err
		}
	}
	return v.mapping(entries)
}

func decodeMCPServer(v value) (MCPServer, error) {
	s := MCPServer{Timeout: defaultMCPTimeout, StartTimeout: defaultMCPStart}
	err := v.mapping(fields{
		"command":       s.decodeCommand,
		"env":           func(v value) error { return namesTo(v, &s.Env, envName, value.text) },
		"env_from":      func(v value) error { return namesTo(v, &s.EnvFrom, envName, variable) },
		"url":           into(&s.URL, mcpURL),
		"headers_env":   func(v value) error { return namesTo(v, &s.HeadersEnv, anyName, variable) },
		"insecure":      into(&s.Insecure, value.bool),
		"oauth":         s.decodeOAuth,
		"timeout":       into(&s.Timeout, duration(1, maxMCPTimeout)),
		"start_timeout": into(&s.StartTimeout, duration(1, maxMCPTimeout)),
		"effects": func(v value) error {
			return namesTo(v, &s.Effects, anyName, choice(kernel.Read, kernel.Idempotent, kernel.Once))
		},
		"pin":    func(v value) error { return namesTo(v, &s.Pin, anyName, nonEmpty) },
		"limits": s.decodeLimits,
	})
	switch {
	case err != nil:
		return s, err
	case len(s.Command) == 0 && s.URL == "":
		return s, v.fail("write command: [node, server.js] or url: https://…", "has neither a command nor a url")
	case len(s.Command) > 0 && s.URL != "":
		return s, v.fail("keep one of them", "has a command and a url")
	case len(s.Command) > 0 && (len(s.HeadersEnv) > 0 || s.Insecure || s.OAuth != nil):
		return s, v.fail("take headers_env, insecure and oauth out, or write a url", "headers_env, insecure and oauth are for servers with a url")
	case s.URL != "" && len(s.Env)+len(s.EnvFrom) > 0:
		return s, v.fail("take env and env_from out, or write a command", "env and env_from are for servers with a command")
	}
	return s, nil
}

func (s *MCPServer) decodeCommand(v value) error {
	var p Program
	err := p.decodeArgv(v)
	s.Command = p.Argv
	return err
}

func (s *MCPServer) decodeLimits(v value) error {
	s.Limits = &MCPLimits{}
	return v.mapping(fields{
		"blocks":     into(&s.Limits.Blocks, whole(1, maxMCPBlocks)),
		"chars":      into(&s.Limits.Chars, whole(1, maxMCPChars)),
		"structured": into(&s.Limits.Structured, value.bool),
	})
}

// mcpURL reads an address. What more there is to it is judged where it is used.
func mcpURL(v value) (string, error) {
	s, err := v.text()
	if err == nil && !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return "", v.fail("write https://host/path", "%.200q is not an address", s)
	}
	return s, err
}

// variable reads the name of a variable of the environment.
func variable(v value) (Variable, error) {
	s, err := v.text()
	if err == nil && !variableName.MatchString(s) {
		return Variable{}, v.fail("write the name of the variable that holds the value, not the value", "this cannot be the name of a variable of the environment")
	}
	return Variable{Name: s}, err
}

func envName(name string) bool { return variableName.MatchString(name) }

func anyName(name string) bool { return name != "" && len(name) <= 200 }

// namesTo reads a mapping whose keys are the user's own.
func namesTo[T any](v value, dst *map[string]T, legal func(string) bool, read func(value) (T, error)) error {
	if v.node.Kind != yaml.MappingNode {
		return v.wrongTypeHint("a mapping", "write {NAME: value}")
	}
	*dst = map[string]T{}
	entries := fields{}
	for _, name := range v.names() {
		entries[name] = func(v value) error {
			if !legal(name) {
				return v.fail("choose another name", "cannot be named like this")
			}
			got, err := read(v)
			(*dst)[name] = got
			return err
		}
	}
	return v.mapping(entries)
}

// ofMCP reports whether a name or a pattern may be that of a tool of an MCP server,
// mcp__SERVER__TOOL, which is not known before the server is there.
func ofMCP(pattern string) bool {
	const names = "mcp__"
	begins, _, open := strings.Cut(pattern, "*")
	return strings.HasPrefix(begins, names) || open && strings.HasPrefix(names, begins)
}

// CompleteMCP takes the values of the servers' variables from the environment.
// One that is not there is its server's affair, which then fails alone. Complete
// does this too.
func (c *Config) CompleteMCP(env func(string) string) {
	for _, s := range c.MCP {
		for _, variables := range []map[string]Variable{s.EnvFrom, s.HeadersEnv} {
			for name, v := range variables {
				v.Value = NewSecret(env(v.Name))
				variables[name] = v
			}
		}
		if o := s.OAuth; o != nil && o.Secret.Name != "" {
			o.Secret.Value = NewSecret(env(o.Secret.Name))
		}
	}
}

// storedMCP is a server as it is kept with a run.
type storedMCP struct {
	Command      []string                      `json:"command,omitempty"`
	Env          map[string]string             `json:"env,omitempty"`
	EnvFrom      map[string]string             `json:"env_from,omitempty"`
	URL          string                        `json:"url,omitempty"`
	HeadersEnv   map[string]string             `json:"headers_env,omitempty"`
	Insecure     bool                          `json:"insecure,omitempty"`
	OAuth        *storedOAuth                  `json:"oauth,omitempty"`
	Timeout      span                          `json:"timeout,omitempty"`
	StartTimeout span                          `json:"start_timeout,omitempty"`
	Effects      map[string]kernel.EffectClass `json:"effects,omitempty"`
	Pin          map[string]string             `json:"pin,omitempty"`
	Limits       *MCPLimits                    `json:"limits,omitempty"`
}

func storeMCP(servers map[string]MCPServer) map[string]storedMCP {
	if len(servers) == 0 {
		return nil
	}
	kept := make(map[string]storedMCP, len(servers))
	for name, s := range servers {
		kept[name] = storedMCP{
			Command: s.Command, Env: s.Env, EnvFrom: variableNames(s.EnvFrom), URL: s.URL, HeadersEnv: variableNames(s.HeadersEnv),
			Insecure: s.Insecure, OAuth: storeOAuth(s.OAuth), Timeout: span(s.Timeout), StartTimeout: span(s.StartTimeout),
			Effects: s.Effects, Pin: s.Pin, Limits: s.Limits,
		}
	}
	return kept
}

func restoreMCP(kept map[string]storedMCP) map[string]MCPServer {
	if len(kept) == 0 {
		return nil
	}
	servers := make(map[string]MCPServer, len(kept))
	for name, s := range kept {
		servers[name] = MCPServer{
			Command: s.Command, Env: s.Env, EnvFrom: variablesNamed(s.EnvFrom), URL: s.URL, HeadersEnv: variablesNamed(s.HeadersEnv),
			Insecure: s.Insecure, OAuth: restoreOAuth(s.OAuth), Timeout: time.Duration(s.Timeout), StartTimeout: time.Duration(s.StartTimeout),
			Effects: s.Effects, Pin: s.Pin, Limits: s.Limits,
		}
	}
	return servers
}

func variableNames(variables map[string]Variable) map[string]string {
	if len(variables) == 0 {
		return nil
	}
	names := make(map[string]string, len(variables))
	for name, v := range variables {
		names[name] = v.Name
	}
	return names
}

func variablesNamed(names map[string]string) map[string]Variable {
	if len(names) == 0 {
		return nil
	}
	variables := make(map[string]Variable, len(names))
	for name, variable := range names {
		variables[name] = Variable{Name: variable}
	}
	return variables
}
