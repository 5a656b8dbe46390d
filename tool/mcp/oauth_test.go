//go:build linux || darwin

package mcp_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

const clientSecret = "t0p-s3cret-of-the-client"

// knownClient is a configuration with a client that was registered beforehand.
func knownClient(o *oauthServer, more mcp.OAuth) mcp.Config {
	more.ClientID, more.SecretEnv, more.Issuer = "known", "WEB_SECRET", o.web.URL
	return mcp.Config{
		Servers: map[string]mcp.Server{"web": {URL: o.web.URL, OAuth: &more}}, Tokens: &memoryTokens{}, Backoff: time.Hour,
		Getenv: func(name string) string { return map[string]string{"WEB_SECRET": clientSecret}[name] },
	}
}

// A client that was registered beforehand logs in under its id and with its secret,
// which is kept nowhere and is there for the refreshing, too.
func TestPreregisteredClient(t *testing.T) {
	o := newOAuthServer(t)
	o.secret = clientSecret
	c := knownClient(o, mcp.OAuth{Scopes: []string{"more"}})
	var asked url.Values
	if err := open(t, c).Login(t.Context(), "web", "http://127.0.0.1:9/callback", func(ctx context.Context, page string) (mcp.Returned, error) {
		u, err := url.Parse(page)
		if err == nil {
			asked = u.Query()
		}
		return visit(ctx, page)
	}); err != nil {
		t.Fatal(err)
	}
	if asked.Get("client_id") != "known" || asked.Get("scope") != "more" || asked.Get("code_challenge_method") != "S256" || asked.Get("resource") != o.web.URL {
		t.Errorf("%q", asked)
	}
	login, err := c.Tokens.Load("web", "")
	if err != nil || login.Client.ClientSecret != "" {
		t.Fatalf("the secret is kept: %v", err)
	}
	login.Token.Expiry = time.Now().Add(-time.Hour)
	if err := c.Tokens.Save("web", "", login); err != nil {
		t.Fatal(err)
	}
	if _, warnings := open(t, c).Snapshot(t.Context()); len(warnings) > 0 || !slices.Equal(o.grants, []string{"authorization_code", "refresh_token"}) {
		t.Errorf("%q, %q", warnings, o.grants)
	}
	if login, _ = c.Tokens.Load("web", ""); login.Client.ClientSecret != "" || login.Token.AccessToken != "access-token-refresh_token" {
		t.Error("the secret is kept after a refresh, or its token is not")
	}
}

// A client's secret goes to the authorization server that it is for, whatever the
// server of tools names, and is in no error.
func TestSecretsGoToTheirIssuer(t *testing.T) {
	o := newOAuthServer(t)
	for _, machine := range []bool{false, true} {
		c := knownClient(o, mcp.OAuth{Machine: machine})
		c.Servers["web"].OAuth.Issuer = "https://auth.example.com"
		s := open(t, c)
		_, warnings := s.Snapshot(t.Context())
		said := strings.Join(warnings, " ")
		if !machine {
			err := s.Login(t.Context(), "web", "http://127.0.0.1:9/callback", visit)
			if kernel.CodeOf(err) != kernel.CodeConfiguration {
				t.Fatal(err)
			}
			said = err.Error()
		}
		if !strings.Contains(said, "does not match") || strings.Contains(said, clientSecret) || len(o.forms) > 0 {
			t.Errorf("machine %v: %q, %v", machine, said, o.forms)
		}
	}
	for want, bad := range map[string]mcp.OAuth{
		"needs the issuer": {ClientID: "known", SecretEnv: "S"}, "needs the id": {SecretEnv: "S", Issuer: "https://a.example"},
		"https address": {ClientID: "known", Issuer: "http://a.example"}, "needs a client's id and secret": {ClientID: "known", Machine: true},
		"without quotes": {Scopes: []string{"a b"}}, "names the scopes": {ClientID: "known", SecretEnv: "S", Issuer: "https://a.example", Machine: true, Scopes: []string{"a"}},
	} {
		if _, err := mcp.New(mcp.Config{Servers: map[string]mcp.Server{"web": {URL: "https://a.example", OAuth: &bad}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A client with a secret of its own needs no person, and gets another token when
// the one that it has does not count any more.
func TestMachineClient(t *testing.T) {
	o := newOAuthServer(t)
	o.secret = clientSecret
	c := knownClient(o, mcp.OAuth{Machine: true})
	s := open(t, c)
	set, warnings := s.Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	for range 2 {
		if got := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); got.Text != "hello Ann" {
			t.Errorf("%q", got.Text)
		}
		o.mu.Lock()
		o.tokens = nil
		o.mu.Unlock()
	}
	if !slices.Equal(o.grants, []string{"client_credentials", "client_credentials"}) {
		t.Errorf("%q", o.grants)
	}
	if err := s.Login(t.Context(), "web", "http://127.0.0.1:9/callback", visit); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("%v", err)
	}
	c.Getenv = nil
	if _, warnings := open(t, c).Snapshot(t.Context()); len(warnings) != 1 || !strings.Contains(warnings[0], "the environment has no WEB_SECRET") {
		t.Errorf("%q", warnings)
	}
}

// A call that is refused for want of a login was not carried out, and says what a
// person has to do.
func TestCallsThatWantALogin(t *testing.T) {
	o := newOAuthServer(t)
	c := mcp.Config{Servers: map[string]mcp.Server{"web": {URL: o.web.URL}}, Tokens: &memoryTokens{}, Backoff: time.Hour}
	if err := open(t, c).Login(t.Context(), "web", "http://127.0.0.1:9/callback", visit); err != nil {
		t.Fatal(err)
	}
	set, warnings := open(t, c).Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	for wanted, want := range map[string]string{"files:write files:read": "it wants the scopes files:write files:read: name them under oauth.scopes, and then holdfast mcp login web", "": "it wants a login: holdfast mcp login web"} {
		o.mu.Lock()
		o.wanted, o.tokens = wanted, nil
		o.mu.Unlock()
		got := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`)
		if got.Facts.Disposition != kernel.DidNotHappen || !strings.Contains(got.Text, want) {
			t.Errorf("%q %+v", got.Text, got.Facts)
		}
	}
	// Access that is not granted brings nothing.
	err := open(t, c).Login(t.Context(), "web", "http://127.0.0.1:9/callback", func(context.Context, string) (mcp.Returned, error) {
		return mcp.Returned{Refused: "access_denied"}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "access was not granted: access_denied") || len(o.grants) != 1 {
		t.Errorf("%v, %q", err, o.grants)
	}
}

// A token that another process has brought meanwhile is taken: before another one is
// asked for, and where that is refused because the other process was first.
func TestTokenOfAnotherProcess(t *testing.T) {
	for old := range int32(3) {
		o := newOAuthServer(t)
		o.tokens = []string{"new"}
		c := mcp.Config{Servers: map[string]mcp.Server{"web": {URL: o.web.URL}}, Tokens: &otherProcess{old: old}, Backoff: time.Hour}
		set, warnings := open(t, c).Snapshot(t.Context())
		if len(warnings) > 0 {
			t.Fatalf("read as over %d times: %q", old, warnings)
		}
		if got := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); got.Text != "hello Ann" || len(o.grants) > 0 {
			t.Errorf("%q, %q", got.Text, o.grants)
		}
	}
}

// otherProcess is a store in which a token is over when it is read so often, and then
// another one is there. What its client asks for is refused.
type otherProcess struct {
	memoryTokens

	old   int32
	reads atomic.Int32
}

func (p *otherProcess) Load(_, _ string) (*mcp.Login, error) {
	if p.reads.Add(1) <= p.old {
		return &mcp.Login{Token: &oauth2.Token{AccessToken: "old", RefreshToken: "r", Expiry: time.Now().Add(-time.Hour)}}, nil
	}
	return &mcp.Login{Token: &oauth2.Token{AccessToken: "new", RefreshToken: "r", Expiry: time.Now().Add(time.Hour)}}, nil
}
