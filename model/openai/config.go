package openai

import (
	"net/http"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

func wire() *transport.Wire {
	const host = "api.openai.com"
	return &transport.Wire{
		Provider: "openai", Env: "OPENAI",
		Host: host, Base: "https://" + host + "/v1", Path: "chat/completions",
		KeyHeader: "Authorization", KeyPrefix: "Bearer ",
		Classify: classify,
	}
}

// officialTools are the limits of the official endpoint.
func officialTools() transport.ToolLimits {
	return transport.ToolLimits{
		Endpoint:    "OpenAI",
		Tools:       128,
		Description: 1024,
		Top:         []string{"oneOf", "anyOf", "allOf", "enum", "not"},
		Items:       true,
	}
}

// LimitField is the name of the request's field for the output limit.
type LimitField string

// The names. The zero value is MaxCompletionTokens at the official host, which
// refuses the older name for its newer models, and MaxTokensField at every
// other, since most compatible servers know that name alone.
const (
	MaxCompletionTokens LimitField = "max_completion_tokens"
	MaxTokensField      LimitField = "max_tokens"
)

// Config describes a model behind the Chat Completions wire. The zero value of
// a field is its default; Name, and Key except at a loopback host, have none.
// Printing a Config never shows the key or the URL.
type Config struct {
	BaseURL string `json:"-"` // default https://api.openai.com/v1; may hold a query, no credentials
	Key     string `json:"-"` // visible ASCII
	Name    string

	Profile kernel.Profile // default strict
	Stream  bool           // ask for a streamed answer; either form is understood

	MaxTokens    int // output limit of a request: 128–16,384, default 4,096
	MaxTokensCap int // largest limit after a truncation: MaxTokens–1,000,000, default 16,384
	ResponseCap  int // bytes of an answer: default 1,000,000, at most 1 GiB
	LimitField   LimitField

	// ReplayReasoning sends reasoning_content back to the server that made it,
	// for servers that demand it. Otherwise it is kept and not sent.
	ReplayReasoning bool

	// HTTPClient is used as it is, but for redirects, which are refused. Nil:
	// a client of the model's own, without any proxy of the environment.
	HTTPClient *http.Client     `json:"-"`
	Now        func() time.Time `json:"-"` // for a Retry-After date; default time.Now
}

// Validate reports the first setting that cannot work, as CONFIGURATION with a
// hint that names the environment variable, if there is one.
func (c Config) Validate() error {
	switch c.withDefaults().LimitField {
	case MaxCompletionTokens, MaxTokensField:
	default:
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the limit field must be max_completion_tokens or max_tokens"}
	}
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
func (c Config) String() string { return "openai.Config{" + c.Name + "}" }

// GoString hides the key and the URL from %#v.
func (c Config) GoString() string { return c.String() }

// withDefaults fills in what this wire alone has.
func (c Config) withDefaults() Config {
	if c.LimitField == "" {
		c.LimitField = MaxTokensField
		if s := c.settings(); wire().Official(s.BaseURL) {
			c.LimitField = MaxCompletionTokens
		}
	}
	return c
}

// settings are those that all wires have, with defaults.
func (c Config) settings() transport.Settings {
	s := transport.Settings{
		BaseURL: c.BaseURL, Key: c.Key, Name: c.Name, Profile: c.Profile, Stream: c.Stream,
		MaxTokens: c.MaxTokens, MaxTokensCap: c.MaxTokensCap, ResponseCap: c.ResponseCap,
		HTTPClient: c.HTTPClient, Now: c.Now,
	}
	return s.WithDefaults(wire())
}
