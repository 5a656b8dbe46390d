package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// root is the repository, from this folder.
const root = "../.."

// rule is something that the repository keeps to.
type rule struct {
	name  string // of its tree in testdata, too
	check func(*tree) []string
}

func rules() []rule {
	return []rule{
		{"directions", directions},
		{"kernel-imports", kernelImports},
		{"catch-all-names", catchAllNames},
		{"init-functions", initFunctions},
		{"package-variables", packageVariables},
		{"context-values", contextValues},
		{"package-comments", packageComments},
		{"file-length", fileLength},
		{"unfinished-work", unfinishedWork},
		{"sleeps", sleeps},
		{"cgo", cgo},
		{"testing-in-product", testingInProduct},
		{"process-environment", processEnvironment},
		{"doc-paths", docPaths},
		{"doc-commands", docCommands},
		{"doc-example", docExample},
		{"doc-go", docGo},
		{"doc-settings", docSettings},
		{"doc-errors", docErrors},
		{"doc-configuration", docConfiguration},
		{"doc-environment", docEnvironment},
		{"doc-dependencies", docDependencies},
		{"doc-architecture", docArchitecture},
	}
}

func TestRules(t *testing.T) {
	here, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, finding := range r.check(here) {
				t.Error(finding)
			}
		})
	}
}

// TestEachRuleCanFail compares what a rule finds in its tree with the findings
// that the tree's file `want` lists, one a line. A line ... at its end admits
// more.
func TestEachRuleCanFail(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			bad := readArchive(t, r.name)
			want := strings.Split(strings.TrimSpace(bad.text("want")), "\n")
			if want[0] == "" {
				t.Fatal("the tree breaks no rule: its file want is empty or missing")
			}
			got := r.check(bad)
			if n := len(want) - 1; want[n] == "..." {
				want = want[:n]
				got = slices.DeleteFunc(got, func(g string) bool { return !slices.Contains(want, g) })
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// readArchive loads the small tree of a rule.
func readArchive(t *testing.T, name string) *tree {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	loaded, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// Every tree in testdata belongs to a rule.
func TestNoTreeIsForgotten(t *testing.T) {
	files, err := fs.Glob(os.DirFS("testdata"), "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".txtar")
		if !slices.ContainsFunc(rules(), func(r rule) bool { return r.name == name }) {
			t.Errorf("testdata/%s belongs to no rule", file)
		}
	}
}
