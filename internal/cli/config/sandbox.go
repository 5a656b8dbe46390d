package config

import (
	"strings"
	"time"
)

// Sandbox says what programs may reach and use up. A field that is unset in
// that of a program is taken from the file's own, and else has its default. See
// Over.
type Sandbox struct {
	Enabled *bool    // nil: true
	Require string   // none, landlock or bwrap; empty: none
	Network *bool    // nil: false
	Read    []string // absolute; nil: unset
	Write   []string // absolute; nil: unset
	Limits  SandboxLimits
}

// SandboxLimits bound what a program uses up. 0: unset.
type SandboxLimits struct {
	CPU        time.Duration
	MemoryMB   int
	FileSizeMB int
	Processes  int
	OpenFiles  int
}

// The bounds of the limits of a sandbox.
const (
	maxMB        = 1 << 30
	minMemoryMB  = 16
	minOpenFiles = 16
)

// decodeSandbox returns a reader of a sandbox into s.
func (c *Config) decodeSandbox(s *Sandbox) func(value) error {
	l := &s.Limits
	return func(v value) error {
		return v.mapping(fields{
			"enabled": optional(&s.Enabled, value.bool),
			"require": into(&s.Require, choice("none", "landlock", "bwrap")),
			"network": optional(&s.Network, value.bool),
			"read":    c.decodePaths(&s.Read),
			"write":   c.decodePaths(&s.Write),
			"limits": func(v value) error {
				return v.mapping(fields{
					"cpu":          into(&l.CPU, duration(time.Second, maxProgramTimeout)),
					"memory_mb":    into(&l.MemoryMB, whole(minMemoryMB, maxMB)),
					"file_size_mb": into(&l.FileSizeMB, whole(1, maxMB)),
					"processes":    into(&l.Processes, whole(1, maxCount)),
					"open_files":   into(&l.OpenFiles, whole(minOpenFiles, maxCount)),
				})
			},
		})
	}
}

// optional reads a value that is told from one that is unset.
func optional[T any](dst **T, read func(value) (T, error)) func(value) error {
	return func(v value) error {
		*dst = new(T)
		return into(*dst, read)(v)
	}
}

// decodePaths reads a list of paths, relative to the file.
func (c *Config) decodePaths(dst *[]string) func(value) error {
	return func(v value) error {
		*dst = []string{} // what is empty on purpose is set
		return v.list(func(item value) error {
			path, err := nonEmpty(item)
			if err == nil && strings.ContainsRune(path, 0) {
				err = item.fail("take it out: no path can hold it", "must not hold a NUL character")
			}
			*dst = append(*dst, c.resolve(path))
			return err
		})
	}
}

// Over returns the sandbox of a program: its own, completed by base.
func (s *Sandbox) Over(base Sandbox) Sandbox {
	if s == nil {
		return base
	}
	out := *s
	if out.Enabled == nil {
		out.Enabled = base.Enabled
	}
	if out.Network == nil {
		out.Network = base.Network
	}
	if out.Require == "" {
		out.Require = base.Require
	}
	if out.Read == nil {
		out.Read = base.Read
	}
	if out.Write == nil {
		out.Write = base.Write
	}
	l, b := &out.Limits, base.Limits
	for _, field := range []struct {
		own  *int
		base int
	}{{&l.MemoryMB, b.MemoryMB}, {&l.FileSizeMB, b.FileSizeMB}, {&l.Processes, b.Processes}, {&l.OpenFiles, b.OpenFiles}} {
		if *field.own == 0 {
			*field.own = field.base
		}
	}
	if l.CPU == 0 {
		l.CPU = b.CPU
	}
	return out
}

// storedSandbox is a sandbox as it is kept with a run.
type storedSandbox struct {
	Enabled *bool               `json:"enabled,omitempty"`
	Require string              `json:"require,omitempty"`
	Network *bool               `json:"network,omitempty"`
	Read    []string            `json:"read,omitzero"`
	Write   []string            `json:"write,omitzero"`
	Limits  storedSandboxLimits `json:"limits,omitzero"`
}

type storedSandboxLimits struct {
	CPU        span `json:"cpu,omitempty"`
	MemoryMB   int  `json:"memory_mb,omitempty"`
	FileSizeMB int  `json:"file_size_mb,omitempty"`
	Processes  int  `json:"processes,omitempty"`
	OpenFiles  int  `json:"open_files,omitempty"`
}

func storeSandbox(s *Sandbox) *storedSandbox {
	if s == nil {
		return nil
	}
	l := s.Limits
	return &storedSandbox{
		Enabled: s.Enabled, Require: s.Require, Network: s.Network, Read: s.Read, Write: s.Write,
		Limits: storedSandboxLimits{
			CPU: span(l.CPU), MemoryMB: l.MemoryMB, FileSizeMB: l.FileSizeMB, Processes: l.Processes, OpenFiles: l.OpenFiles,
		},
	}
}

func (s *storedSandbox) sandbox() *Sandbox {
	if s == nil {
		return nil
	}
	l := s.Limits
	return &Sandbox{
		Enabled: s.Enabled, Require: s.Require, Network: s.Network, Read: s.Read, Write: s.Write,
		Limits: SandboxLimits{
			CPU: time.Duration(l.CPU), MemoryMB: l.MemoryMB, FileSizeMB: l.FileSizeMB, Processes: l.Processes, OpenFiles: l.OpenFiles,
		},
	}
}

// withDefaults is the sandbox of the file in which nothing that has a default
// is unset.
func (s *storedSandbox) withDefaults() *storedSandbox {
	out := storedSandbox{}
	if s != nil {
		out = *s
	}
	if out.Enabled == nil {
		out.Enabled = new(true)
	}
	if out.Network == nil {
		out.Network = new(false)
	}
	if out.Require == "" {
		out.Require = "none"
	}
	if len(out.Read) == 0 {
		out.Read = nil
	}
	if len(out.Write) == 0 {
		out.Write = nil
	}
	return &out
}
