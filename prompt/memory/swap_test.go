//go:build linux || darwin

package memory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
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

// Nor on the way there: a link in a folder that the memory lies in is followed
// inside of the project, and never out of it, whenever it was made.
func TestLinkOnTheWayToTheProjectsMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		leads string // from the project's folder
		fine  bool
	}{"inside": {"elsewhere", true}, "out": {"../outside", false}, "up": {"..", false}, "to nothing": {"../nowhere", false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			project := filepath.Join(dir, "project")
			for _, folder := range []string{"project/elsewhere/memory", "outside/memory", "memory"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, folder, "diary.md"), []byte("private"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m, err := memory.Open(memory.Config{Project: filepath.Join(project, "notes", "memory"), Root: project, User: filepath.Join(dir, "user")})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(tt.leads, filepath.Join(project, "notes")); err != nil {
				t.Fatal(err)
			}
			all, listed := m.List(t.Context())
			e, proposed := m.Propose(t.Context(), memory.Proposal{Scope: memory.Project, Text: "tea"})
			if tt.fine {
				if listed != nil || proposed != nil || len(all) != 1 {
					t.Errorf("%+v, %v; %+v, %v", all, listed, e, proposed)
				}
				return
			}
			if len(all) != 0 || proposed == nil {
				t.Errorf("listed %+v, %v; proposed %+v", all, listed, e)
			}
			if tt.leads != "../nowhere" && (kernel.CodeOf(listed) != kernel.CodeConfiguration || kernel.CodeOf(proposed) != kernel.CodeConfiguration) {
				t.Errorf("%v; %v", listed, proposed)
			}
			for _, folder := range []string{"outside/memory", "memory"} {
				if files, err := os.ReadDir(filepath.Join(dir, folder)); err != nil || len(files) != 1 {
					t.Errorf("%s: %v, %v", folder, files, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "nowhere")); err == nil {
				t.Error("a folder was made outside")
			}
		})
	}
}
