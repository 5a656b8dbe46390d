package openai

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

const maxResponseCap = 1 << 30

// Config describes an endpoint. The zero value of a field is its default; Model,
// Dimensions, and Key except at a loopback host, have none. Printing a Config
// shows neither the key nor the URL.
type Config struct {
	BaseURL    string // default https://api.openai.com/v1; holds no credentials
	Key        string // visible ASCII
	Model      string // names the vectors: those of two models are never compared
	Dimensions int    // 1 to desk.MaxDimensions
	// AskDimensions sends the number of dimensions along, for a model that can make
	// vectors of several lengths. Many compatible servers refuse the field.
	AskDimensions bool
	Timeout       time.Duration // of one request, to the last byte of its answer: default 15 s, at most 10 minutes
	ResponseCap   int64         // bytes of an answer: default 16 MiB, at most 1 GiB

	// HTTPClient is used as it is, but for redirects, which are refused. nil: a
	// client of the embedder's own, without any proxy of the environment.
	HTTPClient *http.Client
}

// String hides the key and the URL from every form of printing.
func (c Config) String() string { return "openai.Config{" + c.Model + "}" }

// GoString hides the key and the URL from %#v.
func (c Config) GoString() string { return c.String() }

// Validate reports the first setting that cannot work, as CONFIGURATION. No
// message holds a value, since a value may be a key.
func (c Config) Validate() error {
	c = c.withDefaults()
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return wrong("the embedder's base URL is not an http or https URL")
	case u.User != nil || u.Fragment != "":
		return wrong("the embedder's base URL must not hold credentials or a fragment")
	case c.Key == "" && !loopback(u.Hostname()):
		return wrong("the embedder's key is missing")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong("the embedder's key holds a space, a line end or a character outside ASCII")
	case !kernel.IsName(c.Model):
		return wrong("the embedder's model is missing, or is no name")
	case c.Dimensions < 1 || c.Dimensions > desk.MaxDimensions:
		return wrong(fmt.Sprintf("the embedder's dimensions are from 1 to %d", desk.MaxDimensions))
	case c.Timeout < 0 || c.Timeout > 10*time.Minute:
		return wrong("the embedder's timeout is at most 10 minutes")
	case c.ResponseCap < 0 || c.ResponseCap > maxResponseCap:
		return wrong("the embedder's response cap is at most 1 GiB")
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(c.BaseURL, "https://api.openai.com/v1")
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.ResponseCap = cmp.Or(c.ResponseCap, 16<<20)
	return c
}

func wrong(message string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: message, Hint: "see the comment of openai.Config"}
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
