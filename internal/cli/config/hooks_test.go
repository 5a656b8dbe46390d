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
