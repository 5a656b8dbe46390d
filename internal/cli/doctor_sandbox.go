package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/internal/sandbox"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// checkSandbox says what confines programs on this machine, and what would hold
// each of those that are configured.
func checkSandbox(ctx context.Context, c *config.Config, journal string) []check {
	machine := sandbox.Look(ctx)
	out := check{Name: "sandbox", Status: checkOK, Detail: "this machine has " + machine.String()}
	if machine.NoBwrap != nil {
		out.Status = checkNote
		out.Hint = "bubblewrap holds back more than Landlock: install it (the package is bubblewrap), if it may use user namespaces here"
		if tmp, ok := errors.AsType[*sandbox.TemporaryError](machine.NoBwrap); ok {
			out.Detail, out.Hint = "nothing can be tried: "+tmp.Error(), "set TMPDIR to a folder that can be written to"
		}
	}
	checks := []check{out}
	if len(c.Programs) == 0 {
		return checks
	}
	protected, err := hostFiles(c, journal)
	if err != nil {
		return append(checks, broken("sandbox", err))
	}
	tl, err := newPrograms(c, protected)
	if err != nil {
		return append(checks, broken("sandbox", err))
	}
	confiner, _ := tl.(program.Confiner)
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		held, err := confiner.Confinement(name)
		if e, ok := errors.AsType[*tool.Error](err); ok && e.Code == kernel.CodeNotFound {
			continue // the check of the program has said so
		}
		checks = append(checks, checkConfinement(name, held, err))
	}
	return checks
}

func checkConfinement(name, held string, err error) check {
	out := check{Name: "sandbox of " + name, Status: checkOK, Detail: held}
	switch {
	case err != nil:
		out.Status, out.Detail = checkBroken, err.Error()
	case held == string(program.Unconfined) || strings.HasPrefix(held, string(program.Unconfined)+":"):
		out.Status = checkNote
		out.Hint = "it reaches every file that you can, the configuration and the journal too: allow it only if you trust it with them"
	case strings.Contains(held, "without"):
		out.Status = checkNote
		out.Hint = "give the workspace a folder of its own (workspace: ./work), apart from the configuration and the journal, or require bwrap"
	}
	return out
}
