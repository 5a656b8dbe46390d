//go:build linux || darwin

package memory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/prompt/memory"
)

// Whoever works in a project may put a link where its memory was, also after that
// was opened: nothing is read, made or written where the link leads.
func TestProjectFolderThatBecomesALink(t *testing.T) {
	for name, leads := range map[string]string{"to a folder": "there", "to nothing": "nowhere"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			project, outside := filepath.Join(dir, "memory"), filepath.Join(dir, leads)
			m, err := memory.Open(memory.Config{Project: project, User: filepath.Join(dir, "user")})
			if err != nil {
				t.Fatal(err)
			}
			if leads == "there" {
				if err := os.Mkdir(outside, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(outside, "diary.md"), []byte("private"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(outside, project); err != nil {
				t.Fatal(err)
			}
			if e, err := m.Propose(t.Context(), memory.Proposal{Scope: memory.Project, Text: "tea"}); err == nil {
				t.Errorf("proposed %+v", e)
			}
			if found, err := m.List(t.Context()); err == nil {
				t.Errorf("listed %+v", found)
			}
			files, err := os.ReadDir(outside)
			if len(files) > 1 || leads == "nowhere" && err == nil {
				t.Errorf("written: %v", files)
			}
		})
	}
}
