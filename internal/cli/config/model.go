package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

func (c *Config) decodeModel(v value) error {
	m := &c.Model
	err := v.mapping(fields{
		"provider":   into(&m.Provider, choice(OpenAI, Anthropic, Script)),
		"name":       into(&m.Name, nonEmpty),
		"base_url":   into(&m.BaseURL, baseURL),
		"profile":    into(&m.Profile, choice(kernel.Strict, kernel.Tolerant)),
		"stream":     into(&m.Stream, value.bool),
		"max_tokens": into(&m.MaxTokens, whole(MinMaxTokens, MaxMaxTokens)),
	})
	if err != nil {
		return err
	}
	if m.Provider == Script {
		if m.Name == "" {
			return v.fail("write name: FILE", "a script model needs the name of its script file")
		}
		m.Name = c.resolve(m.Name)
	}
	return nil
}

// resolve makes a path of the file absolute.
func (c *Config) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

func nonEmpty(v value) (string, error) {
	s, err := v.text()
	if err == nil && s == "" {
		return "", v.fail("give it a value or remove the key", "is empty")
	}
	return s, err
}

func baseURL(v value) (string, error) {
	s, err := v.text()
	if err != nil {
		return "", err
	}
	if problem, hint := checkURL(s, "https://host/v1 for openai, https://host for anthropic"); problem != "" {
		return "", v.fail(hint, "%s", problem)
	}
	if holdsCredential(s) {
		return "", v.fail("keys come from the environment: set OPENAI_BASE_URL or ANTHROPIC_BASE_URL to this URL instead",
			"must not hold a key, and the name of one of its parameters says that it does")
	}
	return s, nil
}

// holdsCredential reports whether a parameter of a checked URL seems to be a
// credential.
func holdsCredential(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	// Query would pass over parameters that it takes for malformed.
	for part := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || credentialName.MatchString(plain) {
			return true
		}
	}
	return false
}

var credentialName = regexp.MustCompile(`(?i)key|token|secret|sig|auth|pass|pwd|code|cred`)

// checkURL returns what is wrong with a base URL, and what to do: form is how
// to write it. It quotes nothing of it, since people put keys into URLs.
func checkURL(s, form string) (problem, hint string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "must be an http or https URL", "write it as " + form
	case u.User != nil:
		return "must not hold a name or a password", "keys come from the environment"
	case u.Fragment != "":
		return "must not have a fragment", "write it as " + form
	}
	return "", ""
}

// Complete fills unset model values from the environment and checks that the
// model can be reached for: provider, name and key are there. Errors are
// CONFIGURATION and hold no value of a key. Of a configuration that was kept
// with a run the key alone is filled, and the query of its base URL where that
// came from the environment before: everything else is as it was.
func (c *Config) Complete(env func(string) string) error {
	m := &c.Model
	c.CompleteMCP(env)
	if c.Kept {
		return c.completeKept(env)
	}
	if m.Provider == "" {
		provider, err := c.providerFrom(env)
		if err != nil {
			return err
		}
		m.Provider = provider
	}
	switch m.Provider {
	case OpenAI:
		return c.complete(env, "OPENAI_")
	case Anthropic:
		if s := env("ANTHROPIC_MAX_TOKENS"); m.MaxTokens == 0 && s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < MinMaxTokens || n > MaxMaxTokens {
				return environment("ANTHROPIC_MAX_TOKENS",
					fmt.Sprintf("must be a whole number from %d to %d", MinMaxTokens, MaxMaxTokens), "correct it or unset it")
			}
			m.MaxTokens = n
		}
		return c.complete(env, "ANTHROPIC_")
	}
	m.setMaxTokens()
	return nil
}

// providerFrom finds the provider whose key is there, when there is one.
func (c *Config) providerFrom(env func(string) string) (string, error) {
	openai, anthropic := env("OPENAI_API_KEY") != "", env("ANTHROPIC_API_KEY") != ""
	switch {
	case openai && !anthropic:
		return OpenAI, nil
	case anthropic && !openai:
		return Anthropic, nil
	case openai:
		return "", c.fail("no provider is set, and the environment has keys of two", "write model: {provider: openai} or {provider: anthropic} into holdfast.yaml, or unset OPENAI_API_KEY or ANTHROPIC_API_KEY")
	}
	return "", c.fail("no model is configured",
		"set OPENAI_API_KEY and OPENAI_MODEL (or ANTHROPIC_API_KEY and ANTHROPIC_MODEL), or write a model section: a server on this machine needs no key; `holdfast demo` needs neither")
}

func (c *Config) complete(env func(string) string, prefix string) error {
	m := &c.Model
	if m.Name == "" {
		m.Name = env(prefix + "MODEL")
	}
	if err := m.completeURL(env, prefix+"BASE_URL"); err != nil {
		return err
	}
	if m.Name == "" {
		return c.fail("the model has no name", "write model: {name: NAME} or set "+prefix+"MODEL")
	}
	m.setMaxTokens()
	return c.takeKey(env, prefix)
}

func (c *Config) takeKey(env func(string) string, prefix string) error {
	m := &c.Model
	key := env(prefix + "API_KEY")
	m.Key = NewSecret(key)
	switch {
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return environment(prefix+"API_KEY", "holds a space, a line break or another character that is in no key", "set it to the key alone, as the provider shows it")
	case !m.Key.Set() && !loopback(m.BaseURL):
		return c.fail("there is no key for the provider "+m.Provider, "set "+prefix+"API_KEY")
	}
	return nil
}

func (c *Config) completeKept(env func(string) string) error {
	m := &c.Model
	if m.Provider == Script {
		return nil
	}
	prefix := strings.ToUpper(m.Provider) + "_"
	if m.SecretQuery {
		now := env(prefix + "BASE_URL")
		if !hasQuery(now) || withoutSecrets(now, true) != m.BaseURL {
			return environment(prefix+"BASE_URL", "is not the one that the run was started with, whose query was not kept since it may hold a key",
				"set it to "+m.BaseURL+" with the query that it had")
		}
		m.BaseURL = now
	}
	return c.takeKey(env, prefix)
}

func (m *Model) completeURL(env func(string) string, name string) error {
	if m.BaseURL != "" {
		return nil
	}
	m.BaseURL = env(name)
	if m.BaseURL == "" {
		return nil
	}
	form := "https://host/v1"
	if m.Provider == Anthropic {
		form = "https://host"
	}
	if problem, hint := checkURL(m.BaseURL, form); problem != "" {
		return environment(name, problem, hint)
	}
	m.SecretQuery = hasQuery(m.BaseURL)
	return nil
}

func hasQuery(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.RawQuery != ""
}

// withoutSecrets returns a base URL without name and password, and without its
// query where that is a secret.
func withoutSecrets(s string, query bool) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return ""
	case u.User == nil && !query:
		return s
	}
	u.User = nil
	if query {
		u.RawQuery = ""
	}
	return u.String()
}

// loopback reports whether a checked base URL stays on this machine, where
// servers often know no keys.
func loopback(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

func (m *Model) setMaxTokens() {
	if m.MaxTokens == 0 {
		m.MaxTokens = DefaultMaxTokens
	}
}

// fail makes an error about the configuration as a whole.
func (c *Config) fail(message, hint string) error {
	if c.File != "" {
		message = c.File + ": " + message
	}
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: hint}
}

func environment(name, problem, hint string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: "environment variable " + name + ": " + problem, Hint: hint}
}
