package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// A login is kept in a file that only its owner may read, for one server at one
// address, and is not taken from a file that others may read.
func TestLoginsAreKeptForTheirOwner(t *testing.T) {
	store := logins{filepath.Join(t.TempDir(), "holdfast", "mcp")}
	if l, err := store.Load("web", "https://a.example"); l != nil || err != nil {
		t.Fatalf("%v %v", l, err)
	}
	want := &mcp.Login{Token: &oauth2.Token{AccessToken: "t0p-s3cret"}, Client: oauth2.Config{ClientID: "c"}}
	for range 2 { // the second one takes the place of the first
		if err := store.Save("web", "https://a.example", want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Load("web", "https://a.example")
	if err != nil || got.Token.AccessToken != "t0p-s3cret" || got.Client.ClientID != "c" {
		t.Fatalf("%v %v", got, err)
	}
	if l, err := store.Load("web", "https://b.example"); l != nil || err != nil {
		t.Errorf("another address has the login too: %v %v", l, err)
	}
	files, err := os.ReadDir(store.dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	path := store.path("web", "https://a.example")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load("web", "https://a.example"); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("%v", err)
	}
}

// authority is an authorization server that takes nothing on trust, and a server of
// tools that wants its tokens.
type authority struct {
	web   *httptest.Server
	tools http.Handler

	mu        sync.Mutex
	clients   map[string]string     // the secrets of clients that were registered beforehand
	redirects map[string]string     // of clients
	codes     map[string]url.Values // what was asked for, by code; each is good once
	refreshes map[string]bool       // each is good once
	access    map[string]bool
	issued    []string // all that is secret
	lifetime  int      // seconds, of an access token
	deny      bool     // the person grants nothing
	faults    []string // what clients did wrong
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet", Description: "greets"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + in.Name}}}, nil, nil
	})
	a := &authority{
		tools:   sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}),
		clients: map[string]string{}, redirects: map[string]string{}, codes: map[string]url.Values{}, refreshes: map[string]bool{}, access: map[string]bool{}, lifetime: 3600,
	}
	a.web = httptest.NewServer(a)
	t.Cleanup(func() {
		a.web.CloseClientConnections()
		a.web.Close()
	})
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.letsIn(r) {
		a.tools.ServeHTTP(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	base := a.web.URL
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		respond(w, 200, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}, "scopes_supported": []string{"tools"}})
	case "/.well-known/oauth-authorization-server":
		respond(w, 200, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"}, "authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		a.register(w, r)
	case "/authorize":
		a.authorize(w, r)
	case "/token":
		a.grant(w, r)
	case "/mcp":
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`)
		respond(w, 401, map[string]any{"error": "invalid_token"})
	default:
		http.NotFound(w, r)
	}
}

func (a *authority) letsIn(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return r.URL.Path == "/mcp" && a.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *authority) fault(w http.ResponseWriter, what string) {
	a.faults = append(a.faults, what)
	respond(w, 400, map[string]any{"error": "invalid_request"})
}

// secret is another one.
func (a *authority) secret(kind string) string {
	s := kind + "-" + rand.Text()
	a.issued = append(a.issued, s)
	return s
}

func (a *authority) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Redirects) != 1 || !strings.HasPrefix(asked.Redirects[0], "http://127.0.0.1:") {
		a.fault(w, "the registration")
		return
	}
	id := "client-" + rand.Text()
	a.redirects[id] = asked.Redirects[0]
	respond(w, 201, map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": "none"})
}

func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back := a.redirects[q.Get("client_id")]
	if back == "" || back != q.Get("redirect_uri") || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("code_challenge") == "" || q.Get("state") == "" || q.Get("resource") != a.web.URL+"/mcp" || q.Get("scope") != "tools" {
		a.fault(w, "the authorization request")
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {a.web.URL}}
	if a.deny {
		answer.Set("error", "access_denied")
	} else {
		code := a.secret("code")
		a.codes[code] = q
		answer.Set("code", code)
	}
	http.Redirect(w, r, back+"?"+answer.Encode(), http.StatusFound)
}

func (a *authority) grant(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		a.fault(w, "the token request")
		return
	}
	f := r.PostForm
	client := f.Get("client_id")
	if id, given, ok := r.BasicAuth(); ok {
		client = id
		if a.clients[id] != given {
			a.fault(w, "the secret")
			return
		}
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		asked, there := a.codes[f.Get("code")]
		delete(a.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !there || asked.Get("client_id") != client || asked.Get("redirect_uri") != f.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
			a.fault(w, "the code")
			return
		}
	case "refresh_token":
		if !a.refreshes[f.Get("refresh_token")] {
			respond(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		delete(a.refreshes, f.Get("refresh_token"))
	default:
		a.fault(w, "the grant")
		return
	}
	access, refresh := a.secret("access"), a.secret("refresh")
	a.access[access], a.refreshes[refresh] = true, true
	respond(w, 200, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": a.lifetime, "refresh_token": refresh})
}

// change changes the server while nobody speaks to it.
func (a *authority) change(how func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	how()
}

// login runs holdfast mcp login with a browser whose person goes where it is sent.
func (a *authority) login(t *testing.T, dir string, env ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := process(t, dir, "mcp", "login", "web")
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if page := strings.TrimSpace(lines.Text()); strings.HasPrefix(page, a.web.URL) {
			a.visit(t, page)
		}
	}
	err = cmd.Wait()
	return out.String(), said.String(), err
}

// visit is the browser. Before it comes back somebody else does, who knows nothing
// of what was asked for.
func (a *authority) visit(t *testing.T, page string) {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	get(t, u.Query().Get("redirect_uri")+"?code=forged&state=guessed")
	if body := get(t, page); body != "You can close this page and go back to the terminal.\n" {
		t.Errorf("the browser shows %q", body)
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// greet calls the tool of the server.
func greet(t *testing.T, dir string, env ...string) (string, error) {
	t.Helper()
	cmd := process(t, dir, "mcp", "call", "web", "greet", `{"name":"Ann"}`)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The whole way of a login, from the registration of the client to the refreshing of
// its token and the end of that, with no token in anything that is printed.
func TestMCPLogin(t *testing.T) {
	a := newAuthority(t)
	dir := project(t, map[string]string{"holdfast.yaml": fmt.Sprintf("mcp:\n  web: {url: %q}\n", a.web.URL+"/mcp")})
	var printed strings.Builder
	expect := func(want string, failed bool, got string, err error) {
		t.Helper()
		printed.WriteString(got)
		if !strings.Contains(got, want) || (err != nil) != failed {
			t.Fatalf("%v: %s", err, got)
		}
	}
	try := func(want string, failed bool) {
		t.Helper()
		got, err := greet(t, dir)
		expect(want, failed, got, err)
	}
	try("holdfast mcp login web", true)
	a.change(func() { a.deny = true })
	out, said, err := a.login(t, dir)
	expect("access was not granted: access_denied", true, out+said, err)
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, ".config", "holdfast", "mcp", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if kept := files(); len(kept) != 0 {
		t.Errorf("%q are kept", kept)
	}
	a.change(func() { a.deny, a.lifetime = false, 1 })
	out, said, err = a.login(t, dir)
	expect("logged in to web", false, out+said, err)
	kept := files()
	if len(kept) != 1 {
		t.Fatalf("%q are kept", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for range 2 { // each token is over at once, and each refresh token good once
		try("hello Ann", false)
	}
	a.change(func() { clear(a.refreshes) })
	try("its login has expired: holdfast mcp login web", true)
	a.change(func() { a.lifetime = 3600 })
	out, said, err = a.login(t, dir)
	expect("logged in to web", false, out+said, err)
	try("hello Ann", false)
	if len(a.faults) > 0 || len(a.issued) < 9 {
		t.Errorf("%q, %d were issued", a.faults, len(a.issued))
	}
	for _, secret := range a.issued {
		if strings.Contains(printed.String(), secret) {
			t.Errorf("%s was printed", secret)
		}
	}
}

// A client that was registered beforehand, at the one address that was registered
// with it, with a secret that is kept in no file.
func TestMCPLoginOfAKnownClient(t *testing.T) {
	a := newAuthority(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	redirect := "http://" + free.Addr().String() + "/back/here"
	a.clients["known"], a.redirects["known"], a.lifetime = "s3cret-of-the-client", redirect, 1
	dir := project(t, map[string]string{"holdfast.yaml": fmt.Sprintf(
		"mcp:\n  web: {url: %q, oauth: {client_id: known, client_secret_env: WEB_SECRET, issuer: %q, redirect: %q}}\n", a.web.URL+"/mcp", a.web.URL, redirect)})
	out, said, err := a.login(t, dir, "WEB_SECRET=s3cret-of-the-client")
	if err == nil || !strings.Contains(said, "nothing can listen at "+free.Addr().String()) {
		t.Errorf("%v: %s%s", err, out, said)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	if out, said, err = a.login(t, dir, "WEB_SECRET=s3cret-of-the-client"); err != nil {
		t.Fatalf("%v: %s%s", err, out, said)
	}
	if got, err := greet(t, dir, "WEB_SECRET=s3cret-of-the-client"); err != nil || !strings.Contains(got, "hello Ann") {
		t.Errorf("%v: %s", err, got)
	}
	if found, err := exec.CommandContext(t.Context(), "grep", "-r", "s3cret-of-the-client", dir).Output(); err == nil {
		t.Errorf("the secret is in %.200q", found)
	}
	if len(a.faults) > 0 {
		t.Errorf("%q", a.faults)
	}
}

// A script sees by the exit code that a server is not ready, and prints all of them.
func TestMCPListFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for also, code := range map[string]int{"": 0, "\n  broken: {command: [/none/such], start_timeout: 20s}": 1} {
		dir := project(t, map[string]string{"holdfast.yaml": fmt.Sprintf("mcp:\n  docs: {command: [%q, %s], start_timeout: 20s}%s\n", self, demoDocsName, also)})
		cmd := process(t, dir, "mcp", "ls", "--json")
		out, err := cmd.Output()
		var all []mcp.Summary
		if bad := json.Unmarshal(out, &all); bad != nil {
			t.Fatalf("%v: %s", bad, out)
		}
		if cmd.ProcessState.ExitCode() != code || all[len(all)-1].State != mcp.Ready || len(all) != code+1 {
			t.Errorf("%v: %s", err, out)
		}
	}
}
