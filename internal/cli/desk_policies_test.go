package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// Row 103: an import into a desk that an application searches by vectors too says
// that it made none, and one into any other desk does not.
func TestImportSaysWhatHasNoVector(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "desk.db")
	application, err := sqlite.Create(t.Context(), file, sqlite.Options{Embedder: hashed.Embedder{}})
	if err != nil {
		t.Fatal(err)
	}
	defer application.Close()
	notice := func(name string, wanted bool) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte("# "+name+"\n\ntext\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := process(t, dir, "desk", "policies", "import", "--tenant", "acme", "--version", "1", "--id", name, name+".md").Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderrOf(err))
		}
		var list []deskImport
		if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 || (list[0].Notice != nil) != wanted {
			t.Errorf("%v: %s", err, out)
		}
	}
	notice("P1", false)
	if _, err := application.EmbedPolicies(t.Context()); err != nil {
		t.Fatal(err)
	}
	notice("P2", true)
	notice("P2", false) // it changes nothing
}

// Report A45: files are counted before any is read, and their text while they are.
func TestImportIsBounded(t *testing.T) {
	dir := t.TempDir()
	long := []string{"a", "b", "c"}
	for i, id := range long {
		long[i] = filepath.Join(dir, id+".txt")
		text := "---\nid: " + id + "\ntitle: long\n---\n" + strings.Repeat("报", desk.MaxPolicyBody)
		if err := os.WriteFile(long[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing := filepath.Join(dir, "missing.md")
	for name, files := range map[string][]string{"too many": slices.Repeat([]string{missing}, desk.MaxImport+1), "too long": append(long, missing)} {
		_, _, err := parseFiles(t.Context(), files, retrieval.Front{Tenant: "acme", Version: "1"})
		if kernel.CodeOf(err) != kernel.CodeInvalidArgument || !strings.Contains(err.Error(), "8 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
