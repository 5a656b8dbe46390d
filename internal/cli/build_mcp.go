package cli

import (
	"time"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// withMCP gives an agent the tools of the servers that c names. What it returns
// releases the agent and ends the servers.
func withMCP(agent *engine.Agent, c *config.Config, ask elicitor, release func()) (func(), error) {
	if len(c.MCP) == 0 {
		return release, nil
	}
	servers, err := buildMCP(c, ask, 0)
	if err != nil {
		release()
		return nil, err
	}
	agent.Sources = append(agent.Sources, servers)
	return func() {
		_ = servers.Close() // never fails
		release()
	}, nil
}

// buildMCP makes the source of the servers that c names. It starts none. wait bounds
// how long their tools are waited for; 0: as usual.
func buildMCP(c *config.Config, ask elicitor, wait time.Duration) (*mcp.Servers, error) {
	if len(c.MCP) == 0 {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no mcp servers are configured", Hint: "write mcp: {docs: {command: [node, server.js]}}"}
	}
	values := map[string]string{}
	servers := make(map[string]mcp.Server, len(c.MCP))
	for name, s := range c.MCP {
		server := mcp.Server{
			Command: s.Command, Env: s.Env, EnvFrom: namesOf(s.EnvFrom, values), URL: s.URL, HeadersEnv: namesOf(s.HeadersEnv, values),
			Insecure: s.Insecure, Timeout: s.Timeout, StartTimeout: s.StartTimeout, Effects: s.Effects, Pin: s.Pin,
		}
		if l := s.Limits; l != nil {
			server.Limits = &mcp.Limits{Blocks: l.Blocks, Chars: l.Chars, Structured: l.Structured}
		}
		if o := s.OAuth; o != nil {
			server.OAuth = &mcp.OAuth{ClientID: o.ClientID, SecretEnv: o.Secret.Name, Issuer: o.Issuer, Scopes: o.Scopes, Machine: o.Machine}
			values[o.Secret.Name] = o.Secret.Value.Reveal()
		}
		servers[name] = server
	}
	return mcp.New(mcp.Config{
		Servers: servers, Dir: c.Dir, Elicit: ask, Version: readBuild().Version, Tokens: newTokens(), Wait: wait,
		Getenv: func(variable string) string { return values[variable] },
	})
}

// namesOf are the variables' names, by whose they are. It notes the values.
func namesOf(variables map[string]config.Variable, values map[string]string) map[string]string {
	names := make(map[string]string, len(variables))
	for name, v := range variables {
		names[name] = v.Name
		values[v.Name] = v.Value.Reveal()
	}
	return names
}
