package config

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ProposeMemory is the tool that proposes memory: two sections depend on its
// name.
const ProposeMemory = "propose_memory"

// hostMemory is where memory lies on this host where nothing sets it, below the
// home.
const hostMemory = ".holdfast/memory"

// Memory says where memory lies, as absolute paths, and whether the workspace's
// AGENTS.md goes with requests.
type Memory struct {
	Project  string // empty: the project has none
	User     string // empty: users have none
	State    string // of the host: who confirmed what of the project
	AgentsMD bool
}

// ProjectRoot is the first of the folders which the project's memory lies in: no
// link on the way from there leads out of it. Empty: it lies in none of them.
func (m *Memory) ProjectRoot(folders ...string) string {
	for _, dir := range folders {
		if m.Project != "" && dir != "" && filepath.IsAbs(dir) && m.Project != filepath.Clean(dir) && inside(filepath.Clean(dir), m.Project) {
			return filepath.Clean(dir)
		}
	}
	return ""
}

func (c *Config) decodeMemory(v value) error {
	m := &Memory{AgentsMD: true}
	place := func(v value) (string, error) { return c.place(v) }
	err := v.mapping(fields{
		"project":   into(&m.Project, place),
		"user":      into(&m.User, place),
		"state":     into(&m.State, place),
		"agents_md": into(&m.AgentsMD, value.bool),
	})
	if err != nil {
		return err
	}
	if m.State = cmp.Or(m.State, m.User); m.State == "" && m.Project != "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return v.fail("name a folder of the host's with user or state", "nothing says where the decisions on a project's memory are kept: the home is not known")
		}
		m.State = filepath.Join(home, hostMemory)
	}
	if m.Project != "" && (inside(m.Project, m.User) || inside(m.Project, m.State)) {
		return v.fail("keep what the host decided outside of the project: leave user and state out, or name another folder", "the decisions would lie in the project's own folder, where whoever writes the project confirms memory")
	}
	c.Memory = m
	return nil
}

// inside reports whether a clean path is a folder or lies in it.
func inside(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// place reads a folder, which need not exist. ~ is the home of whoever runs
// the program.
func (c *Config) place(v value) (string, error) {
	dir, err := nonEmpty(v)
	if err != nil {
		return "", err
	}
	below, home := strings.CutPrefix(dir, "~")
	switch {
	case !home:
		return filepath.Clean(c.resolve(dir)), nil
	case below != "" && below[0] != '/':
		return "", v.fail("write ~/ and a folder, or the whole path", "%.80q is the home of somebody else", dir)
	}
	root, err := os.UserHomeDir()
	if err != nil {
		return "", v.fail("write the whole path", "the home is not known")
	}
	return filepath.Join(root, below), nil
}

// checkMemory compares the section with the tools and the workspace: what is
// below a folder of the memory is out of the file tools' reach.
func (c *Config) checkMemory(doc *document) error {
	if m := c.Memory; m != nil {
		for _, f := range []struct{ key, path string }{{"project", m.Project}, {"user", m.User}, {"state", m.State}} {
			if f.path != "" && inside(f.path, c.Workspace) {
				return doc.at("memory."+f.key).fail("name a folder for the memory alone, such as ./memory", "the workspace lies in it, and the file tools would reach nothing")
			}
		}
	}
	if !slices.Contains(c.Tools, ProposeMemory) || c.Memory != nil && c.Memory.Project+c.Memory.User != "" {
		return nil
	}
	return doc.at("tools").fail("add memory: {project: ./memory}, or take "+ProposeMemory+" out",
		"%s is listed, but no memory is configured", ProposeMemory)
}

type storedMemory struct {
	Project  string `json:"project,omitempty"`
	User     string `json:"user,omitempty"`
	State    string `json:"state,omitempty"`
	AgentsMD bool   `json:"agents_md"`
}

func storeMemory(m *Memory) *storedMemory {
	if m == nil {
		return nil
	}
	return &storedMemory{m.Project, m.User, m.State, m.AgentsMD}
}

func (s *storedMemory) memory() *Memory {
	if s == nil {
		return nil
	}
	return &Memory{s.Project, s.User, s.State, s.AgentsMD}
}

// paths are those that have to be absolute, and valid UTF-8.
func (s *storedMemory) paths() []string {
	var named []string
	if s != nil {
		for _, path := range []string{s.Project, s.User, s.State} {
			if path != "" {
				named = append(named, path)
			}
		}
	}
	return named
}
