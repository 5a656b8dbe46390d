package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 75: memory is off where nothing names it. The decisions on a project lie
// outside of it.
func TestMemory(t *testing.T) {
	t.Setenv("HOME", "/home/eve")
	for text, want := range map[string]*config.Memory{
		"tools: []":                                      nil,
		"memory: {}":                                     {AgentsMD: true},
		"memory: {project: ./memory}":                    {Project: "DIR/memory", State: "/home/eve/.holdfast/memory", AgentsMD: true},
		"memory: {user: ~/.holdfast/memory}":             {User: "/home/eve/.holdfast/memory", State: "/home/eve/.holdfast/memory", AgentsMD: true},
		"memory: {project: m, user: \"~\", state: ../s}": {Project: "DIR/m", User: "/home/eve", State: "DIR/../s", AgentsMD: true},
		"memory: {agents_md: false}":                     {},
	} {
		path := write(t, text)
		c, err := config.Read(path, tools)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want != nil {
			for _, path := range []*string{&want.Project, &want.State} {
				if below, ok := strings.CutPrefix(*path, "DIR/"); ok {
					*path = filepath.Join(c.Dir, below)
				}
			}
		}
		if diff := cmp.Diff(want, c.Memory); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestMemoryRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"memory: ./memory":                       "must be a mapping",
		"memory: {project: \"\"}":                "memory.project: is empty",
		"memory: {user: ~ben/memory}":            "somebody else",
		"memory: {files: x}":                     `unknown key "files"`,
		"memory: {project: m, user: m}":          "the project's own folder",
		"memory: {project: m, state: ./m/s}":     "the project's own folder",
		"memory: {project: m, agents_md: \"a\"}": "true or false",
		"memory: {project: .}":                   "memory.project: the workspace lies in it",
		"memory: {user: /}":                      "memory.user: the workspace lies in it",
		"tools: [propose_memory]":                "no memory is configured",
		"tools: [propose_memory]\nmemory: {}":    "no memory is configured",
	} {
		if _, err := config.Read(write(t, text), tools); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	t.Setenv("HOME", "")
	for _, text := range []string{"memory: {project: m}", "memory: {user: ~/m}"} {
		if _, err := config.Read(write(t, text), tools); err == nil || !strings.Contains(err.Error(), "the home is not known") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
