package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
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
