//go:build linux || darwin

package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/holdfast-run/holdfast/kernel"
)

// Visit sends a person to a page, where they log in and grant access, and
// returns what their browser was sent back with.
type Visit func(ctx context.Context, page string) (Returned, error)

// Returned is what a browser was sent back with, as it stood in the address. Refused
// is the error, of one that brings no code.
type Returned struct{ Code, State, Issuer, Refused string }

// Login logs in to a server with a URL, by OAuth, and saves what that brings
// in Config.Tokens. redirect is the address that browsers are sent back to. INVALID_ARGUMENT: there is
// no such server, or it wants no login. It prints nothing, and its errors hold no
// token.
func (s *Servers) Login(ctx context.Context, name, redirect string, visit Visit) error {
	i := slices.IndexFunc(s.servers, func(one *server) bool { return one.name == name })
	switch {
	case i < 0:
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "no such mcp server is configured", Hint: "see holdfast mcp ls"}
	case s.servers[i].config.URL == "":
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the mcp server " + name + " has no url, and needs no login", Hint: "give it what it needs by env_from"}
	case s.servers[i].config.OAuth != nil && s.servers[i].config.OAuth.Machine:
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the mcp server " + name + " gives its tokens to the client itself, and needs no login"}
	case s.config.Tokens == nil:
		return configuration("there is no place to keep a login", "")
	}
	return s.servers[i].login(ctx, redirect, visit)
}

func (s *server) login(ctx context.Context, redirect string, visit Visit) error {
	brought := &catch{}
	handler, err := s.loginHandler(redirect, visit, brought)
	if err != nil {
		return s.loginFailed(err)
	}
	client, err := newClient(s.config.URL, http.Header{})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	session, err := s.client().Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: s.config.URL, HTTPClient: client, OAuthHandler: handler, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return s.loginFailed(err)
	}
	_, listed := session.ListTools(ctx, nil) // some want a login for this alone
	_ = session.Close()
	login := brought.login()
	switch {
	case login != nil:
		if o := s.config.OAuth; o != nil && o.SecretEnv != "" {
			login.Client.ClientSecret = "" // it stays where it is
		}
		return s.source.config.Tokens.Save(s.name, s.config.URL, login)
	case listed != nil:
		return s.loginFailed(listed)
	}
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the mcp server " + s.name + " is up and wants no login"}
}

// loginHandler goes the way of a login: the client as it is configured, or one that
// registers itself.
func (s *server) loginHandler(redirect string, visit Visit, brought *catch) (*auth.AuthorizationCodeHandler, error) {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         redirect,
		RequestRefreshToken: true,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			back, err := visit(ctx, a.URL)
			if err == nil && back.Refused != "" {
				err = plain("access was not granted: " + oneLine(back.Refused, maxRefused))
			}
			return &auth.AuthorizationResult{Code: back.Code, State: back.State, Iss: back.Issuer}, err
		},
		NewTokenSource: brought.source,
		Client:         authClient(),
	}
	var err error
	if c.PreregisteredClient, err = s.credentials(); err != nil {
		return nil, err
	}
	if o := s.config.OAuth; o != nil {
		if o.document() {
			c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientID}
		}
		c.ScopeFilter = func(named []string) []string { return withScopes(named, o.Scopes) }
	}
	if c.PreregisteredClient == nil {
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: clientName, RedirectURIs: []string{redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
			TokenEndpointAuthMethod: "none",
		}}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// maxRefused bounds what is quoted of a refusal, in bytes.
const maxRefused = 300

// withScopes adds the scopes that are not there.
func withScopes(named, more []string) []string {
	all := slices.Clone(named)
	for _, scope := range more {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

func (s *server) loginFailed(err error) error {
	if e, ok := errors.AsType[*kernel.Error](err); ok {
		return e
	}
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the login to the mcp server " + s.name + " has failed: " + s.redact(err.Error())}
}

// catch keeps what a login brought, and what that has become by refreshing: an old
// refresh token may be good for nothing.
type catch struct {
	mu     sync.Mutex
	kept   *Login
	tokens oauth2.TokenSource
}

func (c *catch) source(ctx context.Context, client *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.tokens = &Login{Token: token, Client: *client}, client.TokenSource(ctx, token)
	return c, nil
}

// Token returns a valid token.
func (c *catch) Token() (*oauth2.Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token, err := c.tokens.Token()
	if err == nil {
		c.kept.Token = token
	}
	return token, err
}

func (c *catch) login() *Login {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept
}
