package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 35: skills are off where nothing names a folder, and rules name their
// tools like any other.
func TestSkills(t *testing.T) {
	t.Setenv("HOME", "/home/eve")
	for text, want := range map[string][]string{
		"tools: []":                      nil,
		"skills: []":                     nil,
		"skills: [./skills, ~/skills/x]": {"DIR/skills", "/home/eve/skills/x"},
		"skills: [a]\npolicy: [{allow: load_skill}, {ask: read_skill_file}, {deny: \"*_skill\"}]": {"DIR/a"},
	} {
		c, err := config.Read(write(t, text), tools)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range want {
			if below, ok := strings.CutPrefix(want[i], "DIR/"); ok {
				want[i] = filepath.Join(c.Dir, below)
			}
		}
		if diff := cmp.Diff(want, c.Skills); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestSkillsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"skills: ./skills":               "must be a list",
		"skills: [\"\"]":                 "is empty",
		"skills: [~ben/skills]":          "somebody else",
		"skills: [a, ./a]":               "is listed twice",
		"skills: [.]":                    "the workspace lies in it",
		"tools: [load_skill]":            "comes with the skills",
		"policy: [{allow: load_skills}]": "unknown tool",
		"skills: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]": "over 16 folders",
	} {
		if _, err := config.Read(write(t, text), tools); kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
