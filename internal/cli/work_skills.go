package cli

import (
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// equipped is an agent with the skills of a configuration as they were at one time.
type equipped struct {
	agent    *engine.Agent
	state    string           // of the skills
	catalogs []*skill.Catalog // earlier ones too: runs may go on with them
}

// current returns the agent with the skills as they are on disk now: a process that
// lives for long takes up runs long after it has begun, and each reads its skills
// when it is taken up. While they do not change the agent is the same.
func (x *made) current() (*engine.Agent, error) {
	if x.config == nil || len(x.config.Skills) == 0 {
		return x.agent, nil
	}
	catalog, err := skill.Open(x.config.Skills...)
	if err != nil {
		return nil, err
	}
	state := catalog.Digest() + "\n" + strings.Join(catalog.Warnings(), "\n")
	if x.skills.agent != nil && x.skills.state == state {
		return x.skills.agent, catalog.Close()
	}
	agent := *x.agent
	if err := equip(&agent, catalog); err != nil {
		_ = catalog.Close() // only descriptors of directories
		return nil, err
	}
	x.skills.agent, x.skills.state = &agent, state
	x.skills.catalogs = append(x.skills.catalogs, catalog)
	return &agent, nil
}

// end releases the agent and its skills.
func (x *made) end() {
	for _, catalog := range x.skills.catalogs {
		_ = catalog.Close() // only descriptors of directories
	}
	x.release()
}
