package transport

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// Bounds and defaults of the settings.
const (
	MinTokens          = 128
	MaxTokens          = 16384
	DefaultTokens      = 4096
	DefaultTokensCap   = 16384
	DefaultResponseCap = 1_000_000
	maxResponseCap     = 1 << 30
	maxTokensCap       = 1_000_000
)

// Wire is what is fixed of a provider's wire.
type Wire struct {
	Provider  string      // "openai"
	Env       string      // prefix of its environment variables: "OPENAI"
	Host      string      // the provider's own
	Base      string      // base URL at that host
	Path      string      // of requests, below a base URL
	KeyHeader string      // which header carries the key
	KeyPrefix string      // what stands before the key in it
	Header    http.Header // of every request, besides what all wires send
	// Classify says what an error answer means, as in Client.
	Classify func(status int, body []byte) *model.Error
}

// Settings are what a configuration says of a model, whatever its wire.
type Settings struct {
	BaseURL      string
	Key          string
	Name         string
	Profile      kernel.Profile
	Stream       bool
	MaxTokens    int
	MaxTokensCap int
	ResponseCap  int
	HTTPClient   *http.Client // nil: one of the model's own
	Now          func() time.Time
}

// WithDefaults returns the settings with those that are zero filled in.
func (s Settings) WithDefaults(w *Wire) Settings {
	s.BaseURL = cmp.Or(s.BaseURL, w.Base)
	s.Profile = cmp.Or(s.Profile, kernel.Strict)
	s.MaxTokens = cmp.Or(s.MaxTokens, DefaultTokens)
	s.MaxTokensCap = cmp.Or(s.MaxTokensCap, DefaultTokensCap)
	s.ResponseCap = cmp.Or(s.ResponseCap, DefaultResponseCap)
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// Check reports the first setting that cannot work, as CONFIGURATION. Defaults
// were filled in. No message holds a value, since a value may be a key.
func (s *Settings) Check(w *Wire) error {
	u, err := url.Parse(s.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return bad("the model's base URL is not an http or https URL", w.Env+"_BASE_URL")
	}
	if u.User != nil || u.Fragment != "" {
		return bad("the model's base URL must not hold credentials or a fragment", w.Env+"_BASE_URL")
	}
	if s.Key == "" && !loopback(u.Hostname()) {
		return bad("the model's key is missing", w.Env+"_API_KEY")
	}
	if strings.IndexFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return bad("the model's key holds a space, a line end or a character outside ASCII", w.Env+"_API_KEY")
	}
	if strings.TrimSpace(s.Name) == "" {
		return bad("the model's name is missing", w.Env+"_MODEL")
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

// Cleartext tells whether the key would travel unencrypted to another host.
func (s *Settings) Cleartext() bool {
	u, err := url.Parse(s.BaseURL)
	return err == nil && s.Key != "" && u.Scheme == "http" && !loopback(u.Hostname())
}

// requestURL appends path to the path of a base URL that passed Check, before
// its query.
func requestURL(base, path string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	// A base that already ends in the path's first part is taken to mean it:
	// https://host/v1 is what people write on either wire.
	if first, rest, ok := strings.Cut(path, "/"); ok && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/"+first) {
		path = rest
	}
	return u.JoinPath(path).String()
}

// Official tells whether base is at the provider's own host.
func (w *Wire) Official(base string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.EqualFold(u.Hostname(), w.Host)
}

// maker names who made private reasoning: the provider at its own host, and
// otherwise the provider's wire at the host that speaks it. Reasoning goes
// back to its maker alone, and two compatible servers are two makers.
func (w *Wire) maker(base string) string {
	u, err := url.Parse(base)
	if err != nil || w.Official(base) {
		return w.Provider
	}
	return w.Provider + "@" + strings.ToLower(u.Hostname())
}
