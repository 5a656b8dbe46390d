//go:build npm && (linux || darwin)

package mcp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// npm is where .ci/run installs what comes from npm.
func npm(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../.tools/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node", "bin", "node")); err != nil {
		t.Fatal("the servers from npm are missing: run .ci/run tools")
	}
	return dir
}

func npmServer(t *testing.T, name string, args ...string) mcp.Server {
	t.Helper()
	dir := npm(t)
	return mcp.Server{Command: append([]string{
		filepath.Join(dir, "node", "bin", "node"), filepath.Join(dir, "@modelcontextprotocol", "server-"+name, "dist", "index.js"),
	}, args...)}
}

func npmTools(t *testing.T, c mcp.Config) *tool.Set {
	t.Helper()
	for name, s := range c.Servers {
		s.StartTimeout = 30 * time.Second
		c.Servers[name] = s
	}
	set, warnings := open(t, c).Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return set
}

// Row 114: the reference server that exercises the whole protocol.
func TestServerEverything(t *testing.T) {
	set := npmTools(t, mcp.Config{Servers: map[string]mcp.Server{"all": npmServer(t, "everything", "stdio")}})
	if o := mustCall(t, set, "mcp__all__echo", `{"message":"hello"}`); o.Text != "Echo: hello" {
		t.Errorf("%q", o.Text)
	}
	if o := mustCall(t, set, "mcp__all__get-sum", `{"a":19,"b":23}`); !strings.Contains(o.Text, "42") {
		t.Errorf("%q", o.Text)
	}
	if _, err := call(t.Context(), t, set, "mcp__all__get-sum", `{"a":"19","b":23}`); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("%v", err)
	}
	if o := mustCall(t, set, "mcp__all__get-tiny-image", `{}`); !strings.Contains(o.Text, "image/png, which is not shown]") {
		t.Errorf("%q", o.Text)
	}
	o := mustCall(t, set, "mcp__all__get-structured-content", `{"location":"Chicago"}`)
	if !strings.Contains(string(o.Data), `"temperature"`) || strings.Count(o.Text, "temperature") != 1 {
		t.Errorf("%q, facts %s", o.Text, o.Data)
	}
	if o := mustCall(t, set, "mcp__all__get-env", `{}`); strings.Contains(o.Text, "GOCACHE") {
		t.Errorf("the environment is the host's: %.300q", o.Text)
	}
	// No capability is offered that is not there, so that these are not either.
	for _, name := range set.Names() {
		if strings.Contains(name, "sampling") || strings.Contains(name, "elicitation") || strings.Contains(name, "roots") {
			t.Errorf("%s is offered", name)
		}
	}
}

// The server for files works within its folder, and says so where it does not.
func TestServerFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("forty-two"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := npmTools(t, mcp.Config{Servers: map[string]mcp.Server{"fs": npmServer(t, "filesystem", dir)}})
	if o := mustCall(t, set, "mcp__fs__read_text_file", `{"path":"`+dir+`/note.txt"}`); o.Text != "forty-two" && !strings.HasPrefix(o.Text, "forty-two\n") {
		t.Errorf("%q", o.Text)
	}
	if o := mustCall(t, set, "mcp__fs__write_file", `{"path":"`+dir+`/new.txt","content":"x"}`); o.IsError || o.Facts.Disposition != kernel.Landed {
		t.Errorf("%+v", o)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
	if o := mustCall(t, set, "mcp__fs__read_text_file", `{"path":"/etc/hostname"}`); !o.IsError {
		t.Errorf("%q", o.Text)
	}
	if spec, _ := set.Spec("mcp__fs__write_file"); spec.Risk != kernel.RiskHigh || spec.Effect != kernel.Once {
		t.Errorf("%+v", spec)
	}
}

// The server for memory, whose tools have nested arguments.
func TestServerMemory(t *testing.T) {
	s := npmServer(t, "memory")
	s.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	set := npmTools(t, mcp.Config{Servers: map[string]mcp.Server{"memory": s}})
	o := mustCall(t, set, "mcp__memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}`)
	if o.IsError {
		t.Fatal(o.Text)
	}
	if o := mustCall(t, set, "mcp__memory__search_nodes", `{"query":"tea"}`); !strings.Contains(o.Text, "Ann") {
		t.Errorf("%q", o.Text)
	}
	if _, err := call(t.Context(), t, set, "mcp__memory__create_entities", `{"entities":[{"name":"Ann"}]}`); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
		t.Errorf("%v", err)
	}
	if !slices.Contains(set.Names(), "mcp__memory__read_graph") {
		t.Errorf("%q", set.Names())
	}
}
