package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

const servers = `model: {provider: script, name: play.yaml}
mcp:
  docs: {command: [node, server.js], env: {A: "1"}, env_from: {TOKEN: DOCS_TOKEN}, timeout: 30s, start_timeout: 10s, effects: {search: read}, limits: {blocks: 4, chars: 2000}}
  web:  {url: "https://mcp.example.com/mcp", headers_env: {Authorization: DOCS_TOKEN}, pin: {find: abc}, oauth: {client_id: known, client_secret_env: WEB_SECRET, issuer: "https://auth.example.com", redirect: "http://localhost:8976/back", scopes: [a, b]}}
`

func readServers(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"holdfast.yaml": text, "play.yaml": "steps: [{text: hello}]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Read(filepath.Join(dir, "holdfast.yaml"), nil)
}

// What is kept with a run are the names of variables, and never their values; and
// what is kept comes back.
func TestServersAreKeptWithoutSecrets(t *testing.T) {
	c, err := readServers(t, servers)
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"DOCS_TOKEN": "t0p-s3cret", "WEB_SECRET": "s3cret-too"}[name]
	}
	if err := c.Complete(env); err != nil {
		t.Fatal(err)
	}
	docs := c.MCP["docs"]
	if docs.EnvFrom["TOKEN"].Value.Reveal() != "t0p-s3cret" || docs.Timeout != 30*time.Second || docs.Effects["search"] != kernel.Read || docs.Limits.Chars != 2000 {
		t.Errorf("%+v", docs)
	}
	if o := c.MCP["web"].OAuth; o.Secret.Value.Reveal() != "s3cret-too" || o.Redirect != "http://localhost:8976/back" || len(o.Scopes) != 2 || o.Machine {
		t.Errorf("%+v", o)
	}
	b, err := c.Stored()
	if err != nil || strings.Contains(string(b), "s3cret") {
		t.Fatalf("%s %v", b, err)
	}
	again, err := config.FromStored(b)
	if err != nil {
		t.Fatal(err)
	}
	if again.MCP["docs"].EnvFrom["TOKEN"].Value.Set() {
		t.Error("a value was kept")
	}
	if err := again.Complete(env); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.MCP, again.MCP, opaque); diff != "" {
		t.Error(diff)
	}
}

func TestDiffOfServers(t *testing.T) {
	old, err := readServers(t, servers)
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[[2]string]string{
		{"timeout: 30s,", "timeout: 5s,"}:                        "mcp.docs.timeout: 30s -> 5s",
		{"timeout: 30s,", ""}:                                    "",
		{"server.js", "other.js"}:                                "mcp.docs.command: [node, server.js] -> [node, other.js]",
		{"Authorization: DOCS_TOKEN", "Authorization: WEB"}:      "mcp.web.headers_env.Authorization: DOCS_TOKEN -> WEB",
		{"effects: {search: read}", "effects: {search: once}"}:   "mcp.docs.effects.search: read -> once",
		{"pin: {find: abc}", "pin: {find: abc}, insecure: true"}: "mcp.web.insecure: (unset) -> true",
		{"client_id: known", "client_id: other"}:                 "mcp.web.oauth.client_id: known -> other",
	} {
		now, err := readServers(t, strings.Replace(servers, change[0], change[1], 1))
		if err != nil {
			t.Fatal(err)
		}
		now.Dir, now.File, now.Workspace, now.Model = old.Dir, old.File, old.Workspace, old.Model
		if got := strings.Join(config.Diff(old, now), "\n"); got != want {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
}

func TestServersAreRefused(t *testing.T) {
	for section, want := range map[string]string{
		`{a__b: {command: [x]}}`:                                            "cannot be named like this",
		`{a: {command: []}}`:                                                "names no program",
		`{a: {timeout: 3s}}`:                                                "neither a command nor a url",
		`{a: {url: "ftp://x"}}`:                                             "is not an address",
		`{a: {url: "https://x", env: {A: "1"}}}`:                            "are for servers with a command",
		`{a: {command: [x], headers_env: {A: B}}}`:                          "are for servers with a url",
		`{a: {command: [x], effects: {t: reconcilable}}}`:                   "is not known here",
		`{a: {command: [x], timeout: 2h}}`:                                  "must be from",
		`{a: {command: [x], limits: {blocks: 0}}}`:                          "must be a whole number",
		`{a: {command: [x], env: {"A B": "1"}}}`:                            "cannot be named like this",
		`{a: {command: [x], oauth: {client_id: c}}}`:                        "are for servers with a url",
		`{a: {url: "https://x", oauth: {client_secret_env: "t0k en"}}}`:     "cannot be the name of a variable",
		`{a: {url: "https://x", oauth: {redirect: "http://a.example:1/"}}}`: "is no address of this machine",
		`{a: {url: "https://x", oauth: {grant: password}}}`:                 "is not known here",
		`{a: {url: "https://x", oauth: {grant: client_credentials, redirect: "http://127.0.0.1:1/"}}}`: "no browser comes back",
		`{a: {url: "https://x", headers_env: {Authorization: "Bearer t0k"}}}`:                          "cannot be the name of a variable",
	} {
		_, err := readServers(t, "mcp: "+section+"\n")
		if kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "t0k") {
			t.Errorf("%s: %v", section, err)
		}
	}
}
