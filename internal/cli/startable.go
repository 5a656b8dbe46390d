package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// checkStartable refuses a configuration that names a program which is not there, as
// doctor looks for it: of those that run_program may start, where that is listed, and
// of hooks that look before a call. A run would pay for turns that come to nothing: each
// call of the program fails, and such a hook that cannot be started refuses the calls
// that it is to look at. One that looks afterwards changes nothing, and only warns.
func checkStartable(c *config.Config) error {
	for _, p := range startedBy(c) {
		if found := checkProgram(p.key, p.file, p.dir, p.key); found.Status == checkBroken {
			return &kernel.Error{
				Code:    kernel.CodeConfiguration,
				Message: fmt.Sprintf("%s: %s: %s", cmp.Or(c.Places[p.key], c.File), p.key, found.Detail),
				Hint:    found.Hint,
			}
		}
	}
	return nil
}

// startable is a program that runs start, by its key in the configuration. A relative
// path begins at dir.
type startable struct{ key, file, dir string }

func startedBy(c *config.Config) []startable {
	var all []startable
	if slices.Contains(c.Tools, config.RunProgram) {
		for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
			all = append(all, startable{"programs." + name, c.Programs[name].Argv[0], c.Workspace})
		}
	}
	for i := range c.Hooks.Before {
		all = append(all, startable{fmt.Sprintf("hooks.before[%d]", i), c.Hooks.Before[i].Command[0], c.Dir})
	}
	return all
}
