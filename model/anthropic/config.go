package anthropic

import (
	"net/http"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

func wire() *transport.Wire {
	const host = "api.anthropic.com"
	return &transport.Wire{
		Provider: "anthropic", Env: "ANTHROPIC",
		Host: host, Base: "https://" + host, Path: "v1/messages",
		KeyHeader: "X-Api-Key",
		Header:    http.Header{"Anthropic-Version": {"2023-06-01"}}, // the protocol that this package speaks
		Classify:  classify,
	}
}

// officialTools are the limits of the official endpoint.
func officialTools() transport.ToolLimits {
	return transport.ToolLimits{Endpoint: "Anthropic", Top: []string{"oneOf", "anyOf", "allOf"}}
}

// Config describes a model behind the Messages wire. The zero value of a field
// is its default; Name, and Key except at a loopback host, have none. Printing
// a Config never shows the key or the URL.
type Config struct {
	BaseURL string `json:"-"` // with or without /v1; default https://api.anthropic.com; may hold a query, no credentials
	Key     string `json:"-"` // visible ASCII
	Name    string

	// Profile is strict by default. A tolerant one takes thinking without a
	// signature, as compatible servers send it, for unsigned reasoning.
	Profile kernel.Profile
	Stream  bool // ask for a streamed answer; either form is understood

	MaxTokens    int // output limit of a request: 128–16,384, default 4,096
	MaxTokensCap int // largest limit after a truncation: MaxTokens–1,000,000, default 16,384
	ResponseCap  int // bytes of an answer: default 1,000,000, at most 1 GiB

	// HTTPClient is used as it is, but for redirects, which are refused. Nil:
	// a client of the model's own, without any proxy of the environment.
	HTTPClient *http.Client     `json:"-"`
	Now        func() time.Time `json:"-"` // for a Retry-After date; default time.Now
}

// Validate reports the first setting that cannot work, as CONFIGURATION with a
// hint that names the environment variable, if there is one.
func (c Config) Validate() error {
	s := c.settings()
	return s.Check(wire())
}

// Cleartext tells whether the key would travel unencrypted to another host. That
// is no fault, since a network may be trusted, but worth a warning.
func (c Config) Cleartext() bool {
	s := c.settings()
	return s.Cleartext()
}

// String hides the key and the URL from every form of printing.
func (c Config) String() string { return "anthropic.Config{" + c.Name + "}" }

// GoString hides the key and the URL from %#v.
func (c Config) GoString() string { return c.String() }

// settings are those that all wires have, with defaults.
func (c Config) settings() transport.Settings {
	s := transport.Settings{
		BaseURL: c.BaseURL, Key: c.Key, Name: c.Name, Profile: c.Profile, Stream: c.Stream,
		MaxTokens: c.MaxTokens, MaxTokensCap: c.MaxTokensCap, ResponseCap: c.ResponseCap,
		HTTPClient: c.HTTPClient, Now: c.Now,
	}
	return s.WithDefaults(wire())
}
