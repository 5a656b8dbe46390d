package skill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// What makes this program install an archive, and nothing else.
const (
	archiveVariable = "SKILL_TEST_ARCHIVE"
	folderVariable  = "SKILL_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	if archive := os.Getenv(archiveVariable); archive != "" {
		if _, _, err := skill.Install(context.Background(), archive, os.Getenv(folderVariable), skill.InstallOptions{Replace: true}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// front is a SKILL.md of that name with more front matter.
func front(name, more string) string {
	return "---\nname: " + name + "\ndescription: does it\n" + more + "---\nDo it.\n"
}

// lay writes files below a new folder, by their paths.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		place := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, folders ...string) *skill.Catalog {
	t.Helper()
	c, err := skill.Open(folders...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call executes a call as a run does: schema first.
func call(t *testing.T, c *skill.Catalog, name, args string) (tool.Outcome, error) {
	t.Helper()
	set, err := tool.NewSet(c.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(name, []byte(args)); err != nil {
		return tool.Outcome{}, err
	}
	b, there := set.Bind(name, kernel.Read)
	if !there {
		t.Fatalf("there is no %s", name)
	}
	return tool.Border{}.Execute(t.Context(), b, tool.Call{ID: "c1", Run: "r1", Arguments: []byte(args)}), nil
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in %q", part, text)
		}
	}
}
