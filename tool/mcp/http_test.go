//go:build linux || darwin

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// webServer is a real server over HTTP, which lets in whom allow says.
func webServer(t *testing.T, allow func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	web, _ := changingServer(t, allow)
	return web
}

// changingServer is one whose tools may change.
func changingServer(t *testing.T, allow func(w http.ResponseWriter, r *http.Request) bool) (*httptest.Server, *sdk.Server) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet", Description: "greets"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + in.Name}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allow(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	return web, server
}

// Report A39, over HTTP: a tool that was
// added is there once the server has said so.
func TestWebServerChanges(t *testing.T) {
	web, server := changingServer(t, func(http.ResponseWriter, *http.Request) bool { return true })
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"web": {URL: web.URL}}})
	if set, warnings := source.Snapshot(t.Context()); len(set.Names()) != 1 || len(warnings) > 0 {
		t.Fatalf("%q %q", set.Names(), warnings)
	}
	sdk.AddTool(server, &sdk.Tool{Name: "more", Description: "is new"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, nil
	})
	eventually(t, func() bool {
		set, _ := source.Snapshot(t.Context())
		return slices.Contains(set.Names(), "mcp__web__more")
	})
}

// A header's value comes from the environment, reaches the server, and is in no
// error.
func TestHeaders(t *testing.T) {
	const secret = "Bearer t0p-s3cret-token"
	var refuse atomic.Bool
	web := webServer(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == secret && !refuse.Load() {
			return true
		}
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusForbidden)
		return false
	})
	c := mcp.Config{
		Servers: map[string]mcp.Server{"web": {URL: web.URL, HeadersEnv: map[string]string{"Authorization": "DOCS_TOKEN"}}},
		Getenv: func(name string) string {
			if name == "DOCS_TOKEN" {
				return secret
			}
			return ""
		},
		Backoff: time.Hour,
	}
	source := open(t, c)
	set, warnings := source.Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	if o := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); o.Text != "hello Ann" {
		t.Errorf("%q", o.Text)
	}
	refuse.Store(true)
	o := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`)
	if !o.IsError || o.Facts.Disposition != kernel.InDoubt || strings.Contains(o.Text, "s3cret") {
		t.Errorf("%+v", o)
	}
	_, warnings = open(t, c).Snapshot(t.Context())
	if len(warnings) != 1 || strings.Contains(warnings[0], "s3cret") {
		t.Errorf("%q", warnings)
	}
	c.Getenv = nil
	if _, warnings = open(t, c).Snapshot(t.Context()); len(warnings) != 1 || !strings.Contains(warnings[0], "the environment has no DOCS_TOKEN") {
		t.Errorf("%q", warnings)
	}
}

// A redirect to another place is not followed: what is configured for one place
// goes to no other.
func TestRedirectsStayHome(t *testing.T) {
	var reached atomic.Bool
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer away.Close()
	home := httptest.NewServer(http.RedirectHandler(away.URL, http.StatusTemporaryRedirect))
	defer home.Close()
	_, warnings := open(t, mcp.Config{Servers: map[string]mcp.Server{"web": {URL: home.URL}}, Backoff: time.Hour}).Snapshot(t.Context())
	if len(warnings) != 1 || reached.Load() {
		t.Errorf("%q, away reached: %v", warnings, reached.Load())
	}
}

// An answer without an end is not read without one: its server is left out, or
// its call is unconfirmed, and nothing but that.
func TestEndlessAnswers(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		for _, only := range []string{"initialize", "tools/call"} {
			web := webServer(t, func(w http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if !bytes.Contains(body, []byte(`"method":"`+only+`"`)) && (only != "initialize" || r.Method != http.MethodPost) {
					return true
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				for chunk := bytes.Repeat([]byte(" "), 1<<20); ; {
					if _, err := w.Write(chunk); err != nil {
						return false
					}
				}
			})
			source := open(t, mcp.Config{Servers: map[string]mcp.Server{"web": {URL: web.URL, StartTimeout: time.Minute}}, Backoff: time.Hour})
			set, warnings := source.Snapshot(t.Context())
			if only == "initialize" {
				if len(set.Names()) > 0 || len(warnings) != 1 {
					t.Errorf("%d: %v, %q", status, set.Names(), warnings)
				}
				continue
			}
			if o := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); !o.IsError || o.Facts.Disposition == kernel.Landed {
				t.Errorf("%d: %+v", status, o)
			}
		}
	}
}

// A server's end over HTTP fails its calls, and others go on.
func TestWebServerEnds(t *testing.T) {
	web := webServer(t, func(http.ResponseWriter, *http.Request) bool { return true })
	child, _ := fixtureServer(t, "plain")
	source := open(t, mcp.Config{Servers: map[string]mcp.Server{"web": {URL: web.URL}, "child": child}, Backoff: time.Hour})
	set, _ := source.Snapshot(t.Context())
	web.CloseClientConnections()
	web.Close()
	if o := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); !o.IsError {
		t.Errorf("%q", o.Text)
	}
	if o := mustCall(t, set, "mcp__child__echo", `{"text":"x"}`); o.Text != "echo x" {
		t.Errorf("%q", o.Text)
	}
}

// memoryTokens keeps logins.
type memoryTokens struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memoryTokens) Load(server, _ string) (*mcp.Login, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[server] == nil {
		return nil, nil
	}
	var l mcp.Login
	return &l, json.Unmarshal(m.kept[server], &l)
}

func (m *memoryTokens) Save(server, _ string, l *mcp.Login) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := json.Marshal(l)
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[server] = b
	return err
}

// oauthServer is an authorization server and a server of tools that wants its tokens.
type oauthServer struct {
	web    *httptest.Server
	mu     sync.Mutex
	tokens []string // that were given
	grants []string // the kinds of grants that were asked for
	forms  []url.Values
	secret string // that a client must prove to have; empty: none
	wanted string // scopes that no token goes as far as; empty: none
}

func newOAuthServer(t *testing.T) *oauthServer {
	t.Helper()
	o := &oauthServer{}
	o.web = webServer(t, o.allow)
	return o
}

// allow answers the requests of the authorization server, and says who else is
// let in.
func (o *oauthServer) allow(w http.ResponseWriter, r *http.Request) bool {
	reply := func(status int, v any) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
		return false
	}
	base := o.web.URL
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource":
		return reply(200, map[string]any{"resource": base, "authorization_servers": []string{base}})
	case "/.well-known/oauth-authorization-server":
		return reply(200, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"grant_types_supported": []string{"authorization_code", "refresh_token", "client_credentials"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
		})
	case "/register":
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "client-1"
		return reply(201, asked)
	case "/token":
		_ = r.ParseForm()
		if id, secret, _ := r.BasicAuth(); o.secret != "" && (id != "known" || secret != o.secret) {
			return reply(401, map[string]any{"error": "invalid_client"})
		}
		return reply(200, o.grant(r))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wanted != "" {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+o.wanted+`"`)
		return reply(403, map[string]any{})
	}
	if slices.Contains(o.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource"`)
	return reply(401, map[string]any{"error": "invalid_token"})
}

func (o *oauthServer) grant(r *http.Request) map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forms = append(o.forms, r.PostForm)
	o.grants = append(o.grants, r.PostForm.Get("grant_type"))
	token := "access-token-" + r.PostForm.Get("grant_type")
	if n := len(o.grants); n > 2 {
		token += strconv.Itoa(n)
	}
	o.tokens = append(o.tokens, token)
	return map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-token-1"}
}

// visit is the person: they grant access at once.
func visit(_ context.Context, page string) (mcp.Returned, error) {
	u, err := url.Parse(page)
	if err != nil {
		return mcp.Returned{}, err
	}
	return mcp.Returned{Code: "code-1", State: u.Query().Get("state")}, nil
}

// A login brings a token that later starts use, refresh and keep.
func TestLogin(t *testing.T) {
	o := newOAuthServer(t)
	c := mcp.Config{Servers: map[string]mcp.Server{"web": {URL: o.web.URL}}, Tokens: &memoryTokens{}, Backoff: time.Hour}
	if _, warnings := open(t, c).Snapshot(t.Context()); len(warnings) != 1 || !strings.Contains(warnings[0], "holdfast mcp login web") {
		t.Fatalf("%q", warnings)
	}
	if err := open(t, c).Login(t.Context(), "web", "http://127.0.0.1:9/callback", visit); err != nil {
		t.Fatal(err)
	}
	set, warnings := open(t, c).Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	if got := mustCall(t, set, "mcp__web__greet", `{"name":"Ann"}`); got.Text != "hello Ann" {
		t.Errorf("%q", got.Text)
	}

	login, err := c.Tokens.Load("web", "")
	if err != nil {
		t.Fatal(err)
	}
	login.Token.Expiry = time.Now().Add(-time.Hour)
	if err := c.Tokens.Save("web", "", login); err != nil {
		t.Fatal(err)
	}
	if _, warnings := open(t, c).Snapshot(t.Context()); len(warnings) > 0 {
		t.Fatal(warnings)
	}
	if login, _ = c.Tokens.Load("web", ""); login.Token.AccessToken != "access-token-refresh_token" {
		t.Error("the token that was refreshed is not kept")
	}
	if want := []string{"authorization_code", "refresh_token"}; !slices.Equal(o.grants, want) {
		t.Errorf("%q", o.grants)
	}
	child, _ := fixtureServer(t, "plain")
	c.Servers = map[string]mcp.Server{"docs": child}
	for _, name := range []string{"docs", "nobody"} {
		if err := open(t, c).Login(t.Context(), name, "http://127.0.0.1:9/callback", visit); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
