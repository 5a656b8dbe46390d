//go:build linux || darwin

package mcp_test

import (
	"fmt"
	"os"
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// An agent with the tools of two servers. What the documentation server finds
// may be used without asking; each call to the other one waits for a person.
func ExampleNew() {
	servers, err := mcp.New(mcp.Config{
		Servers: map[string]mcp.Server{
			"docs": {
				Command: []string{"node", "server.js"},
				Env:     map[string]string{"A": "1"},
				Effects: map[string]kernel.EffectClass{"search": kernel.Read},
				Limits:  &mcp.Limits{Blocks: 4, Chars: 2000},
			},
			"web": {
				URL:        "https://mcp.example.com/mcp",
				HeadersEnv: map[string]string{"Authorization": "DOCS_TOKEN"},
				Timeout:    10 * time.Second,
			},
		},
		Getenv: os.Getenv,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer servers.Close() // ends the servers

	rules, err := policy.NewRules([]policy.Rule{
		{Answer: kernel.Allow, Tool: "mcp__docs__search"},
		{Answer: kernel.Ask, Tool: "mcp__web__*"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := &engine.Agent{
		Model:   nil, // your model
		Sources: []tool.Source{servers},
		Policy:  rules,
	}
	fmt.Println(len(agent.Sources), "source, whose servers start when a run prepares its first request")
	// Output: 1 source, whose servers start when a run prepares its first request
}
