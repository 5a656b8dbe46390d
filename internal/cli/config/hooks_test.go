package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/policy"
)

// A file may name as many hooks as the engine takes, and no more: otherwise it
// would be whole for doctor, and fail each run.
func TestHooksMost(t *testing.T) {
	for n, whole := range map[int]bool{policy.MaxHooks: true, policy.MaxHooks + 1: false} {
		dir := folder(t, map[string]string{
			"holdfast.yaml": "hooks:\n  before:\n" + strings.Repeat("    - {tool: \"*\", command: [\"true\"]}\n", n),
		})
		_, err := config.Read(filepath.Join(dir, "holdfast.yaml"), tools)
		if (err == nil) != whole {
			t.Errorf("%d hooks: %v", n, err)
		}
	}
}

// A hook that looks at no tool would keep nothing out, and nobody would notice.
func TestHooksRefuse(t *testing.T) {
	for pattern, want := range map[string]string{
		"run_progam":  `holdfast.yaml:3: hooks.before[0]: unknown tool "run_progam"`,
		"write_*file": "",
		"mcp__docs_*": "",
		"load_skill":  "",
		"delete*":     `holdfast.yaml:3: hooks.before[0]: no tool is named like "delete*"`,
		"a/b":         `"a/b" is no tool name and no pattern`,
		"mcp__[d]*":   `"mcp__[d]*" is no tool name and no pattern`,
	} {
		dir := folder(t, map[string]string{"holdfast.yaml": "hooks:\n  before:\n    - {tool: \"" + pattern + "\", command: [\"true\"]}\n"})
		_, err := config.Read(filepath.Join(dir, "holdfast.yaml"), tools)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
