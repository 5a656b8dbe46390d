//go:build npm && (linux || darwin)

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/tool/mcp"
)

const clientMode = "conformance client"

// asClient plays the client that the suite tests, where the mode says so.
func asClient(mode string) (code int, is bool) {
	if mode != clientMode {
		return 0, false
	}
	return conform(), true
}

// conform is the client that the conformance suite tests: this program, with the
// address of its server as the last argument.
func conform() int {
	scenario, address := os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1]
	c := mcp.Config{
		Servers: map[string]mcp.Server{"suite": {URL: address, Timeout: 10 * time.Second}},
		Wait:    10 * time.Second,
		Elicit: func(context.Context, mcp.Question) (mcp.Answer, error) {
			return mcp.Answer{Accept: true, Content: map[string]any{}}, nil
		},
		Tokens: &memoryTokens{},
	}
	ctx := context.Background()
	if err := configure(ctx, scenario, address, &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := conformTo(ctx, scenario, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// configure adds what a person would configure for a scenario: the client that it
// speaks of, and the authorization server that the client's secret is for.
func configure(ctx context.Context, scenario, address string, c *mcp.Config) error {
	server := c.Servers["suite"]
	var known struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return err
		}
	}
	switch scenario {
	case "auth/basic-cimd":
		server.OAuth = &mcp.OAuth{ClientID: "https://conformance-test.local/client-metadata.json"}
	case "auth/pre-registration", "auth/client-credentials-basic":
		issuer, err := issuerOf(ctx, address)
		if err != nil {
			return err
		}
		server.OAuth = &mcp.OAuth{ClientID: known.ID, SecretEnv: "SECRET", Issuer: issuer, Machine: scenario != "auth/pre-registration"}
		c.Getenv = func(string) string { return known.Secret }
	}
	c.Servers["suite"] = server
	return nil
}

// issuerOf is the authorization server of a server.
func issuerOf(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(address, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1), http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var named struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(response.Body).Decode(&named); err != nil || len(named.Servers) != 1 {
		return "", fmt.Errorf("%v: %q", err, named.Servers)
	}
	return named.Servers[0], nil
}

var wantedScopes = regexp.MustCompile(`it wants the scopes (.+): name them`)

// conformTo does what a person and a run do. Where a call says that it wants more
// scopes, the person names them, logs in again and has the call made again.
func conformTo(ctx context.Context, scenario string, c mcp.Config) error {
	for range 3 {
		wanted, err := attempt(ctx, scenario, c)
		if wanted == "" || err != nil {
			return err
		}
		server := c.Servers["suite"]
		server.OAuth = &mcp.OAuth{Scopes: strings.Fields(wanted)}
		c.Servers["suite"] = server
	}
	return errors.New("it wants more and more scopes")
}

func attempt(ctx context.Context, scenario string, c mcp.Config) (wanted string, err error) {
	s, err := mcp.New(c)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if o := c.Servers["suite"].OAuth; strings.HasPrefix(scenario, "auth/") && (o == nil || !o.Machine) {
		if err := s.Login(ctx, "suite", "http://127.0.0.1:3999/callback", browse); err != nil {
			return "", err
		}
	}
	s.Settle(ctx)
	for _, t := range s.Tools() {
		switch {
		case t.State == mcp.Failed:
			return "", fmt.Errorf("%s", t.Reason)
		case t.State != mcp.Ready:
			continue
		}
		args := `{}`
		if t.Tool == "add_numbers" {
			args = `{"a":5,"b":3}`
		}
		o, err := s.Call(ctx, "suite", t.Tool, []byte(args))
		if err != nil {
			return "", err
		}
		if m := wantedScopes.FindStringSubmatch(o.Text); o.IsError && m != nil {
			return m[1], nil
		}
		if o.IsError {
			return "", fmt.Errorf("%s: %s", t.Tool, o.Text)
		}
	}
	return "", nil
}

// browse is a browser whose person grants everything.
func browse(ctx context.Context, page string) (mcp.Returned, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
	if err != nil {
		return mcp.Returned{}, err
	}
	response, err := client.Do(r)
	if err != nil {
		return mcp.Returned{}, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil {
		return mcp.Returned{}, err
	}
	q := back.Query()
	return mcp.Returned{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}, nil
}

var scenarioLine = regexp.MustCompile(`(?m)^ {2}- (\S+) \[`)

// The client scenarios of the official conformance suite: docs/mcp.md lists those
// that pass and those that fail.
func TestConformance(t *testing.T) {
	dir := npm(t)
	node, suite := filepath.Join(dir, "node", "bin", "node"), filepath.Join(dir, "@modelcontextprotocol", "conformance", "dist", "index.js")
	listed, err := exec.CommandContext(t.Context(), node, suite, "list", "--client").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range scenarioLine.FindAllStringSubmatch(string(listed), -1) {
		all = append(all, m[1])
	}
	if len(all) < 20 {
		t.Fatalf("the suite lists %q", all)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	results := make([]string, len(all))
	slots := make(chan struct{}, 3)
	var wait sync.WaitGroup
	for i, scenario := range all {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = row(scenario, "passed")
			tries := 1
			if strings.Contains(string(documented), results[i]) {
				tries = 3 // some measure times, which a busy machine does not keep
			}
			for try := 1; ; try++ {
				cmd := exec.CommandContext(t.Context(), node, suite, "client", "--command", self, "--scenario", scenario)
				cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), modeVariable+"="+clientMode)
				out, err := cmd.CombinedOutput()
				if err == nil {
					return
				}
				if try == tries {
					results[i] = row(scenario, "failed")
					t.Logf("%s:\n%s", scenario, last(string(out), 2000))
					return
				}
			}
		})
	}
	wait.Wait()
	slices.Sort(results)
	compareWithDocs(t, "| scenario | result |\n| --- | --- |\n"+strings.Join(results, "\n")+"\n")
}

func row(scenario, result string) string { return "| `" + scenario + "` | " + result + " |" }

func last(s string, n int) string { return s[max(0, len(s)-n):] }

func compareWithDocs(t *testing.T, table string) {
	t.Helper()
	const docs, begin, end = "../../docs/mcp.md", "<!-- conformance: begin -->\n", "<!-- conformance: end -->\n"
	raw, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	present, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/mcp.md has no place for the list")
	}
	if present == table {
		return
	}
	if os.Getenv("UPDATE_CONFORMANCE") == "" {
		t.Fatalf("docs/mcp.md says otherwise; UPDATE_CONFORMANCE=1 writes it anew:\n%s", table)
	}
	if err := os.WriteFile(docs, []byte(before+begin+table+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
