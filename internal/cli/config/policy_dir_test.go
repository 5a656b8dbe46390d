package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// folder writes files, by their paths in a new folder, and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The rules of a folder come behind those of the file, file by file; those of
// suggested.yaml come first, since behind a rule that asks they would never count.
func TestPolicyDir(t *testing.T) {
	dir := folder(t, map[string]string{
		"holdfast.yaml":    "policy:\n  - {allow: multiply}\n",
		"policy/b.yaml":    "# comment\n- {ask: run_program, when: 'args.program == \"main\"', risk: low}\n",
		"policy/a.yml":     "- {deny: write_file}\n- {allow: read_file}\n",
		"policy/notes.txt": "not rules",
		"policy/.c.yaml":   "nor these",
		"policy/d.yaml":    "",

		"policy/suggested.yaml": "- {allow: run_program, when: 'user == \"ann\"'}\n",
		"policy/z.yaml":         "- {ask: write_file}\n",
	})
	c, err := config.Read(filepath.Join(dir, "holdfast.yaml"), tools)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range c.Policy {
		place, _ := filepath.Rel(dir, c.PolicyPlaces[i])
		got = append(got, place+" "+string(r.Answer)+" "+r.Tool+" "+r.When+string(r.Risk))
	}
	want := []string{
		`policy/suggested.yaml:1 allow run_program user == "ann"`,
		"holdfast.yaml:2 allow multiply ", "policy/a.yml:1 deny write_file ", "policy/a.yml:2 allow read_file ",
		`policy/b.yaml:2 ask run_program args.program == "main"` + string(kernel.RiskLow),
		"policy/z.yaml:1 ask write_file ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestPolicyDirRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a folder that is not there": {map[string]string{"holdfast.yaml": "policy_dir: rules\n"}, "rules"},
		"a mapping":                  {map[string]string{"holdfast.yaml": "", "policy/a.yaml": "{allow: multiply}"}, "a.yaml:1"},
		"an unknown tool":            {map[string]string{"holdfast.yaml": "{}", "policy/a.yaml": "\n- {allow: multipl}"}, "a.yaml:2"},
		"a condition that is none":   {map[string]string{"holdfast.yaml": "{}", "policy/a.yaml": "- {allow: multiply, when: 'args.'}"}, "a.yaml:1: policy rule 1: the condition is not one"},
		"an empty condition":         {map[string]string{"holdfast.yaml": "policy: [{allow: multiply, when: ''}]"}, "is empty"},
		"a risk":                     {map[string]string{"holdfast.yaml": "policy: [{allow: multiply, risk: grave}]"}, "grave"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Read(filepath.Join(folder(t, tt.files), "holdfast.yaml"), tools)
			if kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
