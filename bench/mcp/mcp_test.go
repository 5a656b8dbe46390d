// Package mcp measures what a call to an MCP server costs over the SDK's own
// client.
package mcp

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

const arguments = `{"message":"hello"}`

// command is server-everything, as .ci/run installs it.
func command(t testing.TB) []string {
	t.Helper()
	dir, err := filepath.Abs("../../.tools/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{filepath.Join(dir, "node", "bin", "node"), filepath.Join(dir, "@modelcontextprotocol", "server-everything", "dist", "index.js"), "stdio"}
	for _, path := range argv[:2] {
		if _, err := os.Stat(path); err != nil {
			t.Fatal("the server is missing: run .ci/run tools")
		}
	}
	return argv
}

// contestants call the tool echo, each on a server of its own.
func contestants(t testing.TB) map[string]func() string {
	t.Helper()
	return map[string]func() string{"sdk": bySDK(t), "tool": byTool(t)}
}

// bySDK calls with the SDK's client and its own transport.
func bySDK(t testing.TB) func() string {
	t.Helper()
	argv := command(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command(argv[0], argv[1:]...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return func() string {
		r, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*sdk.TextContent).Text
	}
}

// byTool calls as an engine does: arguments checked, through the border.
func byTool(t testing.TB) func() string {
	t.Helper()
	servers, err := mcp.New(mcp.Config{Servers: map[string]mcp.Server{"all": {Command: command(t)}}, Wait: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	set, warnings := servers.Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	const name = "mcp__all__echo"
	return func() string {
		if err := set.Check(name, []byte(arguments)); err != nil {
			t.Fatal(err)
		}
		b, _ := set.Bind(name, set.EffectOf(name, json.RawMessage(arguments)))
		return tool.Border{}.Execute(context.Background(), b, tool.Call{Arguments: json.RawMessage(arguments)}).Text
	}
}

func TestContestants(t *testing.T) {
	for name, call := range contestants(t) {
		if got := call(); got != "Echo: hello" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// calls are those of each side in a round, so that a round is longer than what a
// busy machine takes away at once.
const calls = 50

// BenchmarkCall takes rounds of calls of each, in another order each time, and
// reports the medians of a call and of the rounds' ratios.
func BenchmarkCall(b *testing.B) {
	all := contestants(b)
	for range 200 { // node compiles what is called often
		all["sdk"]()
		all["tool"]()
	}
	names := []string{"sdk", "tool"}
	took := map[string][]float64{}
	var ratios []float64
	for b.Loop() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			begun := time.Now()
			for range calls {
				all[name]()
			}
			took[name] = append(took[name], float64(time.Since(begun).Microseconds())/calls)
		}
		n := len(took["sdk"]) - 1
		ratios = append(ratios, took["tool"][n]/took["sdk"][n])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(ratios), "ratio")
	for name, values := range took {
		b.ReportMetric(measure.Median(values), name+"-us")
	}
}
