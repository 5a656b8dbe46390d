//go:build linux || darwin

package mcp

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// OAuth says as which client the host is known to the authorization server of a
// server. Without it the client registers itself with each login.
type OAuth struct {
	// ClientID is that of a client that was registered beforehand, or, where it begins
	// with https://, the address of the document that describes the client. Empty: the
	// client registers itself.
	ClientID string
	// SecretEnv is the variable by which Getenv knows the client's secret. Empty: it
	// has none.
	SecretEnv string
	// Issuer is the authorization server that the client is registered with. With a
	// secret it is required: the server of tools names the place that a secret is
	// sent to, and this is the only one that it is sent to.
	Issuer string
	// Scopes are asked for beside those that the server names.
	Scopes []string
	// Machine gets the token for the client itself, with its secret, and needs no
	// login of a person (the grant client_credentials).
	Machine bool
}

// authTime bounds one request to an authorization server.
const authTime = 30 * time.Second

// maxScopes bounds the scopes of a configuration.
const maxScopes = 64

func (o *OAuth) check() error {
	issuer, err := url.Parse(o.Issuer)
	switch {
	case o.SecretEnv != "" && (o.ClientID == "" || o.document()):
		return plain("a client's secret needs the id that it was registered under")
	case o.SecretEnv != "" && o.Issuer == "":
		return plain("a client's secret needs the issuer that it is for: it is sent nowhere else")
	case o.Issuer != "" && (err != nil || issuer.Host == "" || issuer.User != nil || issuer.Scheme != "https" && !loopback(issuer.Hostname())):
		return plain("its issuer must be an https address")
	case o.Machine && o.SecretEnv == "":
		return plain("the grant client_credentials needs a client's id and secret")
	case o.Machine && len(o.Scopes) > 0:
		return plain("with the grant client_credentials the server names the scopes")
	case len(o.Scopes) > maxScopes || slices.ContainsFunc(o.Scopes, func(s string) bool { return s == "" || strings.ContainsAny(s, " \t\"\\") }):
		return plain("its scopes must be words without quotes")
	}
	return nil
}

// document reports whether the id is the address of a document.
func (o *OAuth) document() bool { return strings.HasPrefix(o.ClientID, "https://") }

// credentials are those of a client that was registered beforehand. nil: it is none.
func (s *server) credentials() (*oauthex.ClientCredentials, error) {
	o := s.config.OAuth
	if o == nil || o.ClientID == "" || o.document() {
		return nil, nil //nolint:nilnil // there are none, as the comment says
	}
	c := &oauthex.ClientCredentials{ClientID: o.ClientID, Issuer: o.Issuer}
	if o.SecretEnv != "" {
		secret, err := s.clientSecret()
		if err != nil {
			return nil, err
		}
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	}
	return c, nil
}

// clientSecret is the configured secret. Empty: none is configured.
func (s *server) clientSecret() (string, error) {
	o := s.config.OAuth
	if o == nil || o.SecretEnv == "" {
		return "", nil
	}
	secret := s.source.config.Getenv(o.SecretEnv)
	if secret == "" {
		return "", plain("the environment has no " + o.SecretEnv + ", which holds its client's secret")
	}
	return secret, nil
}

// authClient speaks to authorization servers.
func authClient() *http.Client { return &http.Client{Timeout: authTime} }

// machine authorises requests with tokens for the client itself. A token that is
// over is not refreshed: the next request is refused, and that gets another one.
type machine struct {
	credentials *oauthex.ClientCredentials

	mu    sync.Mutex
	token *oauth2.Token
}

// TokenSource returns the source of tokens, nil where there is none.
func (m *machine) TokenSource(context.Context) (oauth2.TokenSource, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.token.Valid() {
		return nil, nil //nolint:nilnil // as its contract says
	}
	return oauth2.StaticTokenSource(m.token), nil
}

// Authorize gets a token after a request that was refused.
func (m *machine) Authorize(ctx context.Context, r *http.Request, response *http.Response) error {
	if err := denied(response); err != nil {
		_ = response.Body.Close()
		return err
	}
	// One that is used again would hold on to this request's context.
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: m.credentials, HTTPClient: authClient()})
	if err != nil {
		_ = response.Body.Close()
		return err
	}
	if err := h.Authorize(ctx, r, response); err != nil {
		return unauthorised("no token was to be had: " + err.Error())
	}
	source, err := h.TokenSource(ctx)
	if err != nil || source == nil {
		return unauthorised("no token was to be had")
	}
	token, err := source.Token()
	if err != nil {
		return unauthorised("no token was to be had: " + err.Error())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.token = token
	return nil
}

// unauthorised is the refusal of a request before anything came of it.
type unauthorised string

func (u unauthorised) Error() string { return string(u) }

// denied words a refusal whose cause no login alone removes. nil: it is another one.
func denied(response *http.Response) error {
	if response.StatusCode != http.StatusForbidden {
		return nil
	}
	challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		return plain("it answers 403 Forbidden")
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return unauthorised("the login does not go far enough; it wants the scopes " + oneLine(c.Params["scope"], maxWanted))
		}
	}
	return plain("it answers 403 Forbidden")
}

// maxWanted bounds the scopes that are quoted, in bytes.
const maxWanted = 300

var _ auth.OAuthHandler = (*machine)(nil)
