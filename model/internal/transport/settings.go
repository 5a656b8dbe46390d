package transport

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// Bounds and defaults of the settings that the adapters share.
const (
	MinTokens          = 128
	MaxTokens          = 16384
	DefaultTokens      = 4096
	DefaultTokensCap   = 16384
	DefaultResponseCap = 1_000_000
	maxResponseCap     = 1 << 30
	maxTokensCap       = 1_000_000
)

// Settings are what the adapters' configurations have in common, defaults
// applied.
type Settings struct {
	Env          string // prefix of the environment variables: "OPENAI"
	BaseURL      string
	Key          string
	Name         string
	Profile      kernel.Profile
	MaxTokens    int
	MaxTokensCap int
	ResponseCap  int
}

// Check reports the first setting that cannot work, as CONFIGURATION. No
// message holds a value, since a value may be a key.
func (s *Settings) Check() error {
	u, err := url.Parse(s.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return bad("the model's base URL is not an http or https URL", s.Env+"_BASE_URL")
	}
	if u.User != nil || u.Fragment != "" {
		return bad("the model's base URL must not hold credentials or a fragment", s.Env+"_BASE_URL")
	}
	if s.Key == "" && !loopback(u.Hostname()) {
		return bad("the model's key is missing", s.Env+"_API_KEY")
	}
	if strings.IndexFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return bad("the model's key holds a space, a line end or a character outside ASCII", s.Env+"_API_KEY")
	}
	if strings.TrimSpace(s.Name) == "" {
		return bad("the model's name is missing", s.Env+"_MODEL")
	}
	ranges := []struct {
		name          string
		value, lo, hi int
	}{
		{"max_tokens", s.MaxTokens, MinTokens, MaxTokens},
		{"max_tokens_cap", s.MaxTokensCap, s.MaxTokens, maxTokensCap},
		{"response_cap", s.ResponseCap, 1, maxResponseCap},
	}
	for _, r := range ranges {
		if r.value < r.lo || r.value > r.hi {
			return &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("%s must be from %d to %d", r.name, r.lo, r.hi)}
		}
	}
	if s.Profile != kernel.Strict && s.Profile != kernel.Tolerant {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the model's profile must be strict or tolerant"}
	}
	return nil
}

func bad(message, env string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: "set " + env}
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Endpoint appends path to the path of a base URL that passed Check, before
// its query.
func Endpoint(base, path string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.JoinPath(path).String()
}

// Official tells whether base is at the host of the wire's own provider.
func Official(base, officialHost string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.EqualFold(u.Hostname(), officialHost)
}

// Maker names who made private reasoning: the provider at its own host, and
// otherwise the provider's wire at the host that speaks it. Reasoning goes
// back to its maker alone, and two compatible servers are two makers.
func Maker(provider, base, officialHost string) string {
	u, err := url.Parse(base)
	if err != nil || Official(base, officialHost) {
		return provider
	}
	return provider + "@" + strings.ToLower(u.Hostname())
}
