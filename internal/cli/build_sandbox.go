package cli

import (
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/tool/program"
)

// buildSandbox is what a program is confined by; nil: by nothing.
func buildSandbox(c *config.Config, p config.Program) *program.Sandbox {
	var base config.Sandbox
	if c.Sandbox != nil {
		base = *c.Sandbox
	}
	s := p.Sandbox.Over(base)
	if s.Enabled != nil && !*s.Enabled {
		return nil
	}
	l := s.Limits
	return &program.Sandbox{
		Require: program.Confinement(s.Require), Network: s.Network != nil && *s.Network, Read: s.Read, Write: s.Write,
		Limits: program.Limits{
			CPU: l.CPU, Memory: int64(l.MemoryMB) << 20, FileSize: int64(l.FileSizeMB) << 20,
			Processes: l.Processes, OpenFiles: l.OpenFiles,
		},
	}
}
