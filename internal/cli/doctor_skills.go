package cli

import (
	"fmt"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// checkSkills says how many skills there are, and which are left out.
func checkSkills(c *config.Config) []check {
	if len(c.Skills) == 0 {
		return nil
	}
	catalog, err := skill.Open(c.Skills...)
	if err != nil {
		return []check{broken("skills", err)}
	}
	defer catalog.Close()
	if _, err := catalog.List(); err != nil {
		return []check{broken("skills", err)}
	}
	out := check{Name: "skills", Status: checkOK}
	aside := len(catalog.Warnings())
	out.Detail = fmt.Sprintf("%d can be loaded", len(catalog.Entries())-aside)
	if aside > 0 {
		out.Status, out.Detail = checkNote, fmt.Sprintf("%s; left out: %d", out.Detail, aside)
		out.Hint = "holdfast skills ls says why"
	}
	return []check{out}
}
