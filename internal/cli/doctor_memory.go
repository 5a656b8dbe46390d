package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

// checkMemory says what of the memory would go with a request, and what has to
// be decided. It looks at every entry, and shows none.
func checkMemory(ctx context.Context, c *config.Config) []check {
	if c.Memory == nil {
		return nil
	}
	var checks []check
	if remembers(c) {
		checks = append(checks, checkEntries(ctx, c))
	}
	if !c.Memory.AgentsMD {
		return checks
	}
	path, text, err := memory.AgentsFile{Workspace: c.Workspace}.Read(ctx)
	switch {
	case err != nil:
		return append(checks, broken("agents_md", err))
	case path != "":
		return append(checks, check{Name: "agents_md", Status: checkOK, Detail: fmt.Sprintf("%s goes with each request, %d bytes that nobody confirmed", path, len(text))})
	}
	return append(checks, check{Name: "agents_md", Status: checkOK, Detail: "there is no AGENTS.md"})
}

func checkEntries(ctx context.Context, c *config.Config) check {
	m, err := openMemory(c)
	if err != nil {
		return broken("memory", err)
	}
	all, err := m.List(ctx)
	if err != nil {
		return broken("memory", err)
	}
	var counting, open, odd int
	for i := range all {
		switch e := &all[i]; {
		case e.Problem != "":
			odd++
		case e.State == memory.Confirmed:
			counting++
		case e.State == memory.Proposed:
			open++
		}
	}
	out := check{Name: "memory", Status: checkOK, Detail: fmt.Sprintf("%d confirmed, %d proposed", counting, open)}
	if odd > 0 {
		out.Status, out.Detail = checkNote, fmt.Sprintf("%s; files that do not count as they are: %d", out.Detail, odd)
		out.Hint = "holdfast memory ls says why"
	}
	if slices.ContainsFunc([]string{c.Memory.User, c.Memory.State}, func(dir string) bool { return dir != "" && within(c.Workspace, dir) }) &&
		slices.Contains(c.Tools, config.RunProgram) {
		out.Status, out.Detail = checkNote, out.Detail+"; programs that run_program starts can confirm, since the decisions lie in the workspace"
		out.Hint = "name a folder outside of it with memory.user or memory.state"
	}
	return out
}

// within reports whether an absolute path is a folder or lies in it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
