package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What differs from one demonstration to the next.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`run_[0-9A-Z]{26}`), "RUN"},
	{regexp.MustCompile(`eff_[0-9a-f]{32}`), "EFFECT"},
	{regexp.MustCompile(`ntc_[0-9A-Z]{26}`), "NOTICE"},
	{regexp.MustCompile(`\d+ bytes`), "N bytes"},
	{regexp.MustCompile(`bytes\) in [0-9.]+(µs|ms|s):`), "bytes) in T:"},
	{regexp.MustCompile(`"sandbox":"[^"]*"`), `"sandbox":"HELD"`},
	{regexp.MustCompile(`policy [0-9a-f]{12}`), "policy HASH"},
	{regexp.MustCompile(`about \d+ tokens`), "about N tokens"},
}

// The demonstration's words are product: a change of them is a change that
// someone can explain. Written anew with UPDATE_GOLDEN=1.
func TestDemoGolden(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	bin := t.TempDir() // a PATH without Python, so that the text is the same everywhere
	if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, t.TempDir(), "demo")
	cmd.Env = append(cmd.Env, "PATH="+bin)
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, v := range varying {
		got = v.pattern.ReplaceAll(got, []byte(v.with))
	}
	golden := filepath.Join("testdata", "demo.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
