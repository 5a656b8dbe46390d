package config

import (
	"fmt"
	"slices"
)

// The tools that skills bring with them. Rules name them as they name any other
// tool; the section tools does not list them.
const (
	LoadSkill     = "load_skill"
	ReadSkillFile = "read_skill_file"
)

// maxSkillFolders bounds the folders of skills.
const maxSkillFolders = 16

// decodeSkills reads the folders that skills lie in, which are looked at when
// an agent is built of them.
func (c *Config) decodeSkills(doc *document) error {
	if doc.nodes["skills"] == nil {
		return nil
	}
	return doc.at("skills").list(func(item value) error {
		dir, err := c.place(item)
		switch {
		case err != nil:
			return err
		case slices.Contains(c.Skills, dir):
			return item.fail("name each folder once", "the folder %.200q is listed twice", dir)
		case len(c.Skills) == maxSkillFolders:
			return item.fail("put skills into fewer folders", "there are over %d folders", maxSkillFolders)
		case inside(dir, c.Workspace):
			return item.fail("name a folder for the skills alone, such as ./skills", "the workspace lies in it, and the file tools would reach nothing")
		}
		c.Skills = append(c.Skills, dir)
		return nil
	})
}

// ofSkills is the failure of a tool that is listed and comes by itself.
func ofSkills(item value, name string) error {
	return item.fail("take it out, and write skills: [./skills]", "%s", fmt.Sprintf("%s is not listed: it comes with the skills", name))
}

// skillTools are the tools that come with skills.
func skillTools() []string { return []string{LoadSkill, ReadSkillFile} }
