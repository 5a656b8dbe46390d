package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// storedVersion is that of the form in which configurations are kept.
const storedVersion = 1

// stored is a configuration as it is kept with a run. Its keys are those of the
// file.
type stored struct {
	Version      int                      `json:"version"`
	File         string                   `json:"file,omitempty"`
	Dir          string                   `json:"dir"`
	Model        storedModel              `json:"model"`
	Instructions string                   `json:"instructions,omitempty"`
	Workspace    string                   `json:"workspace"`
	Tools        []string                 `json:"tools,omitempty"`
	Programs     map[string]storedProgram `json:"programs,omitempty"`
	Sandbox      *storedSandbox           `json:"sandbox,omitempty"`
	MCP          map[string]storedMCP     `json:"mcp,omitempty"`
	Policy       []storedRule             `json:"policy,omitempty"`
	PolicyDir    string                   `json:"policy_dir,omitempty"`
	Limits       storedLimits             `json:"limits"`
	Verify       *storedVerify            `json:"verify,omitempty"`
	Engine       storedEngine             `json:"engine"`
	Memory       *storedMemory            `json:"memory,omitempty"`
	Skills       []string                 `json:"skills,omitempty"`
	Hooks        *storedHooks             `json:"hooks,omitempty"`
	Unknown      kernel.OnUnknown         `json:"unknown,omitempty"`
	Context      *storedContext           `json:"context,omitempty"`
}

type storedModel struct {
	Provider    string         `json:"provider,omitempty"`
	Name        string         `json:"name,omitempty"`
	BaseURL     string         `json:"base_url,omitempty"`
	SecretQuery bool           `json:"secret_query,omitempty"`
	Profile     kernel.Profile `json:"profile,omitempty"`
	Stream      bool           `json:"stream"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
}

type storedProgram struct {
	Argv    []string           `json:"argv"`
	Effect  kernel.EffectClass `json:"effect,omitempty"`
	Timeout span               `json:"timeout,omitempty"`
	Sandbox *storedSandbox     `json:"sandbox,omitempty"`
}

type storedRule struct {
	Allow     string            `json:"allow,omitempty"`
	Ask       string            `json:"ask,omitempty"`
	Deny      string            `json:"deny,omitempty"`
	When      string            `json:"when,omitempty"`
	Risk      kernel.Risk       `json:"risk,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Expires   span              `json:"expires,omitempty"`
	OnExpiry  kernel.OnExpiry   `json:"on_expiry,omitempty"`
	Grant     span              `json:"grant,omitempty"`
	Approvers *kernel.Approvers `json:"approvers,omitempty"`
}

type storedLimits struct {
	Turns          int             `json:"turns"`
	Calls          int             `json:"calls"`
	Deadline       span            `json:"deadline"`
	RequestTimeout span            `json:"request_timeout"`
	Repeat         int             `json:"repeat"`
	Tokens         int64           `json:"tokens"`
	Cost           int64           `json:"cost,omitempty"`
	LastTurn       kernel.LastTurn `json:"last_turn,omitempty"`
	Retry          storedRetry     `json:"retry"`
}

type storedRetry struct {
	Attempts int  `json:"attempts"`
	PerRun   int  `json:"per_run"`
	Wait     span `json:"wait"`
}

type storedVerify struct {
	Program      string   `json:"program"`
	Args         []string `json:"args,omitempty"`
	ExitCode     int      `json:"exit_code"`
	Stdout       *string  `json:"stdout,omitempty"`
	When         string   `json:"when"`
	OnUnverified string   `json:"on_unverified"`
}

type storedEngine struct {
	Lease span `json:"lease"`
}

// span is a duration in the form of the file, such as 30s.
type span time.Duration

// MarshalText writes 30s.
func (s span) MarshalText() ([]byte, error) { return []byte(short(time.Duration(s))), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	*s = span(d)
	return err
}

// Stored returns the configuration as it is kept with a run: canonical JSON,
// with absolute paths, of everything that decides how the run goes on. It holds
// no secret: not the key, not a name or a password in the base URL, and not
// the URL's query where that came from the environment. It holds no file
// either: a script and a program are what they are when they are used. A
// configuration that is not complete (see Complete), and a path that is not
// valid UTF-8, are CONFIGURATION.
func (c *Config) Stored() ([]byte, error) {
	if c.Model.Provider == "" {
		return nil, c.fail("no model is configured", "name a provider")
	}
	s := c.stored()
	for _, path := range append([]string{s.File, s.Dir, s.Workspace, s.Model.Name, s.PolicyDir}, append(s.Memory.paths(), s.Skills...)...) {
		if !utf8.ValidString(path) {
			return nil, c.fail(fmt.Sprintf("the path %q cannot be kept with a run: it is not valid UTF-8", path), "rename it")
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, &kernel.Error{Code: kernel.CodeInternal, Message: "the configuration has no JSON form", Err: err}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (c *Config) stored() *stored {
	m := &c.Model
	s := &stored{
		Version: storedVersion, File: c.File, Dir: c.Dir, Workspace: c.Workspace,
		Model: storedModel{
			Provider: m.Provider, Name: m.Name, BaseURL: withoutSecrets(m.BaseURL, m.SecretQuery), SecretQuery: m.SecretQuery,
			Profile: m.Profile, Stream: m.Stream, MaxTokens: m.MaxTokens,
		},
		Instructions: c.Instructions, Tools: c.Tools, Sandbox: storeSandbox(c.Sandbox),
		Limits: storedLimits{
			Turns: c.Limits.Turns, Calls: c.Limits.Calls, Deadline: span(c.Limits.Deadline), RequestTimeout: span(c.RequestTimeout),
			Repeat: c.Limits.Repeat, Tokens: c.Limits.Tokens, Cost: c.Limits.Cost, LastTurn: c.Limits.LastTurn,
			Retry: storedRetry{Attempts: c.Retry.Attempts, PerRun: c.Retry.PerRun, Wait: span(c.Retry.Wait)},
		},
		Verify: storeVerify(c.Verify), Engine: storedEngine{Lease: span(c.Engine.Lease)}, Unknown: c.Unknown,
		Memory:    storeMemory(c.Memory),
		Skills:    c.Skills,
		Hooks:     storeHooks(&c.Hooks),
		Context:   storeContext(&c.Context),
		PolicyDir: c.PolicyDir,
	}
	if c.File != "" && !filepath.IsAbs(c.File) {
		s.File = filepath.Join(c.Dir, filepath.Base(c.File)) // its folder is Dir
	}
	if len(c.Programs) > 0 {
		s.Programs = make(map[string]storedProgram, len(c.Programs))
	}
	for name, p := range c.Programs {
		s.Programs[name] = storedProgram{Argv: p.Argv, Effect: p.Effect, Timeout: span(p.Timeout), Sandbox: storeSandbox(p.Sandbox)}
	}
	s.MCP = storeMCP(c.MCP)
	for _, r := range c.Policy {
		s.Policy = append(s.Policy, storeRule(&r))
	}
	return s
}

func storeRule(r *policy.Rule) storedRule {
	s := storedRule{When: r.When, Risk: r.Risk, Reason: r.Reason, Expires: span(r.Expires), OnExpiry: r.OnExpiry, Grant: span(r.Grant)}
	switch r.Answer {
	case kernel.Allow:
		s.Allow = r.Tool
	case kernel.Ask:
		s.Ask = r.Tool
	case kernel.Deny:
		s.Deny = r.Tool
	}
	if a := r.Approvers; a.NotAsker || a.Quorum != 0 || len(a.From)+len(a.Escalate) > 0 {
		s.Approvers = &a
	}
	return s
}

func storeVerify(v *Verify) *storedVerify {
	if v == nil {
		return nil
	}
	s := &storedVerify{Program: v.Program, Args: v.Args, ExitCode: v.ExitCode, Stdout: v.Stdout, When: whenAnswer, OnUnverified: thenStop}
	if v.EachTurn {
		s.When = whenEachTurn
	}
	if v.Continue {
		s.OnUnverified = thenContinue
	}
	return s
}

func (s *storedVerify) check() *Verify {
	if s == nil {
		return nil
	}
	return &Verify{
		Program: s.Program, Args: s.Args, ExitCode: s.ExitCode, Stdout: s.Stdout,
		EachTurn: s.When == whenEachTurn, Continue: s.OnUnverified == thenContinue,
	}
}

// FromStored returns the configuration that Stored made b of. It is complete
// but for its secrets, which Complete fills. A newer form is VERSION, and bytes
// that are no configuration are CONFIGURATION. What is outside the configuration,
// such as the workspace, is not looked at.
func FromStored(b []byte) (*Config, error) {
	var form struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return nil, unreadableStored("it is not JSON", err)
	}
	if form.Version > storedVersion {
		return nil, &kernel.Error{
			Code:    kernel.CodeVersion,
			Message: fmt.Sprintf("the configuration kept with the run has the form %d, and this program knows %d", form.Version, storedVersion),
			Hint:    "go on with the run in the newer version that started it",
		}
	}
	var s stored
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, unreadableStored("it has another form", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, unreadableStored("something follows it", nil)
	}
	return s.config()
}

func (s *stored) config() (*Config, error) {
	m, l := &s.Model, &s.Limits
	c := &Config{
		File: s.File, Dir: s.Dir, Workspace: s.Workspace,
		Model: Model{
			Provider: m.Provider, Name: m.Name, BaseURL: m.BaseURL, SecretQuery: m.SecretQuery,
			Profile: m.Profile, Stream: m.Stream, MaxTokens: m.MaxTokens,
		},
		Instructions: s.Instructions, Tools: s.Tools, Sandbox: s.Sandbox.sandbox(),
		Limits: kernel.Limits{
			Turns: l.Turns, Calls: l.Calls, Deadline: time.Duration(l.Deadline),
			Repeat: l.Repeat, Tokens: l.Tokens, Cost: l.Cost, LastTurn: l.LastTurn,
		},
		Retry:          kernel.Retry{Attempts: l.Retry.Attempts, PerRun: l.Retry.PerRun, Wait: time.Duration(l.Retry.Wait)},
		RequestTimeout: time.Duration(l.RequestTimeout),
		Verify:         s.Verify.check(), Engine: Engine{Lease: time.Duration(s.Engine.Lease)}, Unknown: s.Unknown, Kept: true,
		Memory:    s.Memory.memory(),
		Skills:    s.Skills,
		Hooks:     s.Hooks.hooks(),
		Context:   s.Context.context(),
		PolicyDir: s.PolicyDir,
	}
	if len(s.Programs) > 0 {
		c.Programs = make(map[string]Program, len(s.Programs))
	}
	for name, p := range s.Programs {
		c.Programs[name] = Program{Argv: p.Argv, Effect: p.Effect, Timeout: time.Duration(p.Timeout), Sandbox: p.Sandbox.sandbox()}
	}
	c.MCP = restoreMCP(s.MCP)
	for i := range s.Policy {
		rule, err := s.Policy[i].rule()
		if err != nil {
			return nil, unreadableStored(fmt.Sprintf("policy rule %d: %s", i+1, err.Message), err)
		}
		c.Policy = append(c.Policy, rule)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return c, nil
}

func (s *storedRule) rule() (policy.Rule, *kernel.Error) {
	r := policy.Rule{
		When: s.When, Risk: s.Risk, Reason: s.Reason, Expires: time.Duration(s.Expires), OnExpiry: s.OnExpiry, Grant: time.Duration(s.Grant),
	}
	for answer, tool := range map[kernel.Answer]string{kernel.Allow: s.Allow, kernel.Ask: s.Ask, kernel.Deny: s.Deny} {
		switch {
		case tool == "":
		case r.Tool != "":
			return r, &kernel.Error{Code: kernel.CodeConfiguration, Message: "it has several answers"}
		default:
			r.Answer, r.Tool = answer, tool
		}
	}
	if s.Approvers != nil {
		r.Approvers = *s.Approvers
	}
	return r, r.Validate()
}

// check judges what nobody else will before it is used.
func (s *stored) check() error {
	relative := func(path string) bool { return !filepath.IsAbs(path) }
	lease := time.Duration(s.Engine.Lease)
	switch {
	case s.Version != storedVersion:
		return unreadableStored("it names no form", nil)
	case relative(s.Dir), relative(s.Workspace), s.File != "" && relative(s.File), s.PolicyDir != "" && relative(s.PolicyDir), slices.ContainsFunc(append(s.Memory.paths(), s.Skills...), relative):
		return unreadableStored("a path is not absolute", nil)
	case !slices.Contains([]string{OpenAI, Anthropic, Script}, s.Model.Provider):
		return unreadableStored(fmt.Sprintf("the provider %.80q is not known", s.Model.Provider), nil)
	case lease < minLease || lease > maxLease:
		return unreadableStored("engine.lease is out of range", nil)
	}
	return nil
}

func unreadableStored(why string, err error) error {
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: "the configuration kept with the run cannot be read: " + why,
		Hint:    "a run of another program goes on in that one; else look whether the journal is whole: holdfast runs verify",
		Err:     err,
	}
}
