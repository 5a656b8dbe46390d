package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Runs of one configuration share an agent, however many there are. One that
// cannot be made is tried again, and one that keeps no configuration is not
// made of another.
func TestAgentsOfRuns(t *testing.T) {
	dir := project(t, map[string]string{"holdfast.yaml": "model: {provider: script, name: play.yaml}\ntools: [multiply]\n"})
	c, err := config.Read(filepath.Join(dir, "holdfast.yaml"), toolNames())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	made := &agents{env: func(string) string { return "" }, journal: filepath.Join(dir, "journal.db")}
	defer made.release()
	stored := &engine.Stored{Question: engine.Question{Config: kept}}
	if _, _, err := made.of(t.Context(), stored); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Fatalf("an agent without its script: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "play.yaml"), []byte("steps: [{text: Done.}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, own, err := made.of(t.Context(), stored)
	if err != nil || own.Model.Name != filepath.Join(dir, "play.yaml") {
		t.Fatalf("%v: %+v", err, own)
	}
	if again, _, err := made.of(t.Context(), stored); err != nil || again != first {
		t.Errorf("another agent of the same configuration, %v", err)
	}
	if _, _, err := made.of(t.Context(), &engine.Stored{}); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("an agent of no configuration: %v", err)
	}
}

// A process that lives for long gives a run the skills as they are when it takes the
// run over, and leaves those that it has begun what they have.
func TestAgentsReadSkillsAnew(t *testing.T) {
	dir := project(t, map[string]string{"holdfast.yaml": "model: {provider: script, name: play.yaml}\nskills: [skills]\n", "play.yaml": "steps: [{text: Done.}]\n"})
	place := filepath.Join(dir, "skills", "check")
	if err := os.MkdirAll(place, 0o750); err != nil {
		t.Fatal(err)
	}
	lay := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay("SKILL.md", "---\nname: check\ndescription: Checks.\n---\nOld.\n")
	lay("ref.md", "old reference")
	c, err := config.Read(filepath.Join(dir, "holdfast.yaml"), toolNames())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	made := &agents{env: func(string) string { return "" }, journal: filepath.Join(dir, "journal.db")}
	defer made.release()
	take := func() *engine.Agent {
		t.Helper()
		a, _, err := made.of(t.Context(), &engine.Stored{Question: engine.Question{Config: kept}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	read := func(a *engine.Agent, name, args string) string {
		t.Helper()
		b, there := a.Tools.Bind(name, kernel.Read)
		if !there {
			t.Fatalf("there is no %s", name)
		}
		return tool.Border{}.Execute(t.Context(), b, tool.Call{ID: "c", Run: "r", Arguments: []byte(args)}).Text
	}
	const body, reference = `{"name":"check"}`, `{"name":"check","path":"ref.md"}`
	first := take()
	if take() != first {
		t.Error("another agent, though nothing has changed")
	}
	lay("SKILL.md", "---\nname: check\ndescription: Checks.\n---\nNew.\n")
	lay("ref.md", "new reference")
	second := take()
	for text, want := range map[string]string{
		read(first, "load_skill", body): "Old.", read(first, "read_skill_file", reference): "CONFLICT",
		read(second, "load_skill", body): "New.", read(second, "read_skill_file", reference): "new reference",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%.300s, want %q", text, want)
		}
	}
	if len(first.Attach) != 1 || len(second.Attach) != 1 || take() != second {
		t.Errorf("%d and %d lists are attached", len(first.Attach), len(second.Attach))
	}
	if err := os.RemoveAll(filepath.Join(dir, "skills")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := made.of(t.Context(), &engine.Stored{Question: engine.Question{Config: kept}}); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("an agent without its folder: %v", err)
	}
}
