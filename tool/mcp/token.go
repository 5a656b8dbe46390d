//go:build linux || darwin

package mcp

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
)

// keeper authorises with the token that a login brought, which it refreshes and
// keeps. It never starts a login: that is for a person.
type keeper struct {
	server *server

	mu    sync.Mutex
	login *Login // nil: there is none
}

// TokenSource returns the source of tokens, nil where there is none.
func (k *keeper) TokenSource(context.Context) (oauth2.TokenSource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.login == nil || k.login.Token == nil {
		return nil, nil //nolint:nilnil // as its contract says
	}
	return k, nil
}

// Authorize says what a person has to do about a request that was refused.
func (k *keeper) Authorize(_ context.Context, _ *http.Request, response *http.Response) error {
	defer response.Body.Close()
	err := denied(response)
	if short, ok := errors.AsType[unauthorised](err); ok {
		return unauthorised(short.Error() + ": name them under oauth.scopes, and then " + k.command())
	}
	if err != nil {
		return err
	}
	return unauthorised("it wants a login: " + k.command())
}

func (k *keeper) command() string { return "holdfast mcp login " + k.server.name }

// Token returns a valid token: the one that it has, one that another process has
// brought meanwhile, or a new one.
func (k *keeper) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.login.Token.Valid() || k.adopt() {
		return k.login.Token, nil
	}
	s := k.server
	token, err := k.refresh()
	switch {
	case err != nil && k.adopt(): // two have asked, and the other one was first
		return k.login.Token, nil
	case err != nil:
		return nil, unauthorised("its login has expired: " + k.command())
	}
	again := *k.login
	again.Token = token
	k.login = &again
	// A token that cannot be kept is good until this process ends.
	_ = s.source.config.Tokens.Save(s.name, s.config.URL, &again)
	return token, nil
}

// adopt takes what is kept, and reports whether that is valid.
func (k *keeper) adopt() bool {
	s := k.server
	if kept, err := s.source.config.Tokens.Load(s.name, s.config.URL); err == nil && kept != nil && kept.Token != nil {
		k.login = kept
	}
	return k.login.Token.Valid()
}

// refresh asks the authorization server for another token.
func (k *keeper) refresh() (*oauth2.Token, error) {
	client := k.login.Client
	secret, err := k.server.clientSecret()
	if err != nil {
		return nil, err
	}
	if secret != "" {
		client.ClientSecret = secret // it is not kept with the login
	}
	ctx, cancel := context.WithTimeout(k.server.source.ctx, authTime)
	defer cancel()
	return client.TokenSource(ctx, k.login.Token).Token()
}
