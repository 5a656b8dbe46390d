package cli

import (
	"fmt"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/policy/command"
)

// buildHooks makes the hooks that c names. It starts none.
func buildHooks(c *config.Config) policy.Hooks {
	var hooks policy.Hooks
	names := map[string]int{}
	for i := range c.Hooks.Before {
		h := &c.Hooks.Before[i]
		hooks.Before = append(hooks.Before, policy.BeforeHook{Name: hookName(h, names), Tool: h.Tool, Timeout: h.Timeout, Hook: hookProgram(h, c.Dir)})
	}
	names = map[string]int{}
	for i := range c.Hooks.After {
		h := &c.Hooks.After[i]
		hooks.After = append(hooks.After, policy.AfterHook{Name: hookName(h, names), Tool: h.Tool, Timeout: h.Timeout, Hook: hookProgram(h, c.Dir)})
	}
	return hooks
}

func hookProgram(h *config.Hook, dir string) *command.Hook {
	return &command.Hook{Argv: h.Command, Dir: dir}
}

// hookName is a name for people: the program's, and its number where it stands
// there again.
func hookName(h *config.Hook, names map[string]int) string {
	name := preview(h.Command[0])
	names[name]++
	if n := names[name]; n > 1 {
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}
