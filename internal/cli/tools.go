package cli

import (
	"io"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/files"
	"github.com/holdfast-run/holdfast/tool/multiply"
	"github.com/holdfast-run/holdfast/tool/program"
)

// toolNames are the tools that a configuration may list, sorted.
func toolNames() []string {
	return []string{"list_files", "multiply", config.ProposeMemory, "read_file", config.RunProgram, "write_file"}
}

// buildTools makes the tools that c lists, in that order. Those for files do
// not reach the protected paths. release closes what they hold open, and kills
// the programs that run.
func buildTools(c *config.Config, protected ...string) (set *tool.Set, release func(), err error) {
	w, err := files.Open(c.Workspace, files.Options{Protect: protected})
	if err != nil {
		return nil, nil, err
	}
	available, err := availableTools(c, w, protected)
	closeAll := func() { // release is nil by the time that an error is returned
		if runs, ok := available[config.RunProgram].(io.Closer); ok {
			_ = runs.Close() // never fails
		}
		_ = w.Close() // only a descriptor of a directory
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	listed := make([]tool.Tool, 0, len(c.Tools))
	for _, name := range c.Tools {
		listed = append(listed, available[name])
	}
	if set, err = tool.NewSet(listed...); err != nil {
		return nil, nil, err
	}
	return set, closeAll, nil
}

func availableTools(c *config.Config, w *files.Workspace, protected []string) (map[string]tool.Tool, error) {
	all := append(w.Tools(), multiply.New())
	if len(c.Programs) > 0 {
		run, err := newPrograms(c, protected)
		if err != nil {
			return nil, err
		}
		all = append(all, run)
	}
	if m, err := memoryTool(c); err != nil {
		return nil, err
	} else if m != nil {
		all = append(all, m)
	}
	available := make(map[string]tool.Tool, len(all))
	for _, t := range all {
		available[t.Spec().Name] = t
	}
	return available, nil
}

func newPrograms(c *config.Config, protected []string) (tool.Tool, error) {
	return program.New(program.Config{Programs: programs(c), MaxOutput: config.MaxStdout, Dir: c.Workspace, Protect: protected})
}

func programs(c *config.Config) map[string]program.Entry {
	entries := make(map[string]program.Entry, len(c.Programs))
	for name, p := range c.Programs {
		entries[name] = program.Entry{Argv: p.Argv, Effect: p.Effect, Timeout: p.Timeout, Sandbox: buildSandbox(c, p)}
	}
	return entries
}
