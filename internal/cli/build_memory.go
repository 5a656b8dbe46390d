package cli

import (
	"context"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/prompt/memory"
	"github.com/holdfast-run/holdfast/tool"
	propose "github.com/holdfast-run/holdfast/tool/memory"
)

// attachMemory lets the confirmed memory, and the notes of the workspace, go with
// each request of the agent.
func attachMemory(agent *engine.Agent, c *config.Config) error {
	if remembers(c) {
		m, err := openMemory(c)
		if err != nil {
			return err
		}
		agent.Attach = append(agent.Attach, m)
	}
	if c.Memory != nil && c.Memory.AgentsMD {
		agent.Attach = append(agent.Attach, memory.AgentsFile{Workspace: c.Workspace})
	}
	return nil
}

// remembers reports whether there is memory of some scope.
func remembers(c *config.Config) bool {
	return c.Memory != nil && c.Memory.Project+c.Memory.User != ""
}

func openMemory(c *config.Config) (*memory.Memory, error) {
	m := c.Memory
	return memory.Open(memory.Config{Project: m.Project, Root: m.ProjectRoot(c.Dir, c.Workspace), User: m.User, State: m.State})
}

// memoryFolders are the folders that belong to the host.
func memoryFolders(c *config.Config) []string {
	var named []string
	if c.Memory != nil {
		for _, dir := range []string{c.Memory.Project, c.Memory.User, c.Memory.State} {
			if dir != "" {
				named = append(named, dir)
			}
		}
	}
	return named
}

// memoryTool is propose_memory for the scopes that there are; nil: for none.
func memoryTool(c *config.Config) (tool.Tool, error) {
	if !remembers(c) {
		return nil, nil //nolint:nilnil // no memory is no failure
	}
	m, err := openMemory(c)
	if err != nil {
		return nil, err
	}
	var scopes []string
	for _, s := range []memory.Scope{memory.Project, memory.User} {
		if m.Has(s) {
			scopes = append(scopes, string(s))
		}
	}
	return propose.New(proposals{m}, scopes...)
}

// proposals keeps what a model proposes.
type proposals struct{ memory *memory.Memory }

// Propose notes the model as the author, and the call as the source.
func (p proposals) Propose(ctx context.Context, in propose.Proposal) (propose.Receipt, error) {
	e, err := p.memory.Propose(ctx, memory.Proposal{
		Scope: memory.Scope(in.Scope), Owner: memory.Owner{Tenant: in.Tenant, User: in.User}, Text: in.Text,
		Author: "model", Source: previewIn("run "+in.Run+", call "+in.Call, maxSource),
	})
	return propose.Receipt{ID: e.ID, State: string(e.State)}, err
}

// maxSource bounds what a call is called by in memory, in bytes: both ids come
// from elsewhere.
const maxSource = 200
