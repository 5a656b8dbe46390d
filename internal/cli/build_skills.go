package cli

import (
	"context"
	"slices"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	request "github.com/holdfast-run/holdfast/prompt"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// withSkills gives an agent the skills of the folders that c names. What it
// returns releases the agent and the folders.
func withSkills(agent *engine.Agent, c *config.Config, release func()) (func(), error) {
	if len(c.Skills) == 0 {
		return release, nil
	}
	catalog, err := skill.Open(c.Skills...)
	if err != nil {
		release()
		return nil, err
	}
	closeAll := func() {
		_ = catalog.Close() // only descriptors of directories
		release()
	}
	if err := equip(agent, catalog); err != nil {
		closeAll()
		return nil, err
	}
	return closeAll, nil
}

// equip gives an agent the skills of a catalog.
func equip(agent *engine.Agent, catalog *skill.Catalog) error {
	own, err := tool.NewSet(catalog.Tools()...)
	if err != nil {
		return err
	}
	// The names are taken by no other tool, and the few tools are within the bound.
	agent.Tools, _ = tool.Join(agent.Tools, own)
	agent.Attach = append(slices.Clip(agent.Attach), skillList{catalog})
	return nil
}

// skillList attaches the list of the skills, and tells people what is left out.
type skillList struct{ catalog *skill.Catalog }

// Attach never fails but for a list that is too long.
func (l skillList) Attach(_ context.Context, r request.AttachRequest) ([]request.Attachment, error) {
	if r.Warn != nil {
		for _, text := range l.catalog.Warnings() {
			r.Warn(text)
		}
	}
	text, err := l.catalog.List()
	if err != nil || text == "" {
		return nil, err
	}
	return []request.Attachment{{Kind: "skills", ID: "skills " + l.catalog.Digest()[:12], Text: text}}, nil
}

// offered are the tools that a configuration offers by name.
func offered(c *config.Config) []string {
	if len(c.Skills) == 0 {
		return c.Tools
	}
	return slices.Concat(c.Tools, []string{config.LoadSkill, config.ReadSkillFile})
}
