//go:build linux || darwin

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Status is how a server, or a tool of one, stands.
type Status struct {
	Name   string             `json:"name"` // what models call the tool; empty of a server
	Server string             `json:"server"`
	Tool   string             `json:"tool"` // its name at the server; empty of a server
	State  State              `json:"state"`
	Reason string             `json:"reason"` // why it is not ready; of a server with its exit code and the end of its standard error
	Effect kernel.EffectClass `json:"effect,omitempty"`
	Hash   string             `json:"hash,omitempty"` // of the tool's definition, for Server.Pin
}

// Settle starts the servers where nobody has, and waits until each is up or has
// failed once, or until ctx ends.
func (s *Servers) Settle(ctx context.Context) {
	s.Start()
	for _, one := range s.servers {
		select {
		case <-one.settled:
		case <-ctx.Done():
			return
		}
	}
}

// Tools says how each tool stands, and each server that is not ready.
func (s *Servers) Tools() []Status {
	all := []Status{}
	for _, one := range s.servers {
		own, tools := one.status()
		if own.State != Ready {
			all = append(all, own)
			continue
		}
		all = append(all, tools...)
	}
	return all
}

// Summary is how a server stands.
type Summary struct {
	Server string   `json:"server"`
	State  State    `json:"state"`
	Reason string   `json:"reason"`
	Tools  int      `json:"tools"` // that can be called
	Aside  int      `json:"set_aside"`
	Notes  []string `json:"notes,omitempty"`
}

// Summaries says how each server stands.
func (s *Servers) Summaries() []Summary {
	all := make([]Summary, 0, len(s.servers))
	for _, one := range s.servers {
		own, tools := one.status()
		sum := Summary{Server: own.Server, State: own.State, Reason: own.Reason}
		for _, t := range tools {
			if t.State == Ready {
				sum.Tools++
			} else {
				sum.Aside++
			}
		}
		one.mu.Lock()
		sum.Notes = append(sum.Notes, one.notes...)
		one.mu.Unlock()
		all = append(all, sum)
	}
	return all
}

func (s *server) status() (own Status, tools []Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = Status{Server: s.name, State: s.state, Reason: s.reason}
	if s.state != Ready {
		return own, nil
	}
	for _, r := range s.tools {
		st := Status{Name: r.spec.Name, Server: s.name, Tool: r.original, State: Ready, Effect: r.spec.Effect, Hash: r.hash}
		if r.aside != "" {
			st.State, st.Reason = SetAside, r.aside
		}
		tools = append(tools, st)
	}
	return own, tools
}

// Call calls a tool of a server by its own name there, for an operator: without
// a policy, and within the bounds of any tool. It waits for the server to be up, as
// Settle does. UNKNOWN_TOOL and INVALID_ARGUMENT are of a call that was not sent.
func (s *Servers) Call(ctx context.Context, server, original string, args json.RawMessage) (tool.Outcome, error) {
	s.Settle(ctx)
	r, err := s.find(server, original)
	if err != nil {
		return tool.Outcome{}, err
	}
	set, err := tool.NewSet(r)
	if err != nil {
		return tool.Outcome{}, err
	}
	if err := set.Check(r.spec.Name, args); err != nil {
		return tool.Outcome{}, err
	}
	binding, _ := set.Bind(r.spec.Name, r.spec.Effect)
	return tool.Border{}.Execute(ctx, binding, tool.Call{Arguments: args}), nil
}

func (s *Servers) find(name, original string) (*remote, error) {
	i := slices.IndexFunc(s.servers, func(one *server) bool { return one.name == name })
	if i < 0 {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("no mcp server is named %.80q", name), Hint: "see holdfast mcp ls"}
	}
	one := s.servers[i]
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.state != Ready {
		return nil, &kernel.Error{Code: tool.CodeFailed, Message: "the mcp server " + name + " is not up: " + one.reason}
	}
	i = slices.IndexFunc(one.tools, func(r *remote) bool { return r.original == original })
	switch {
	case i < 0:
		return nil, &kernel.Error{Code: kernel.CodeUnknownTool, Message: fmt.Sprintf("the mcp server %s has no tool %.80q", name, original), Hint: "see holdfast mcp tools"}
	case one.tools[i].aside != "":
		return nil, &kernel.Error{Code: kernel.CodeUnknownTool, Message: one.tools[i].label() + " is set aside: " + one.tools[i].aside}
	}
	return one.tools[i], nil
}
