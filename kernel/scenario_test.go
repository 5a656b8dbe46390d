package kernel

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/*.txt; headers and events stay")

// TestScenarios plays every file of testdata. README.md there explains the
// language.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Fatalf("%d scenario files; at least 40 are required", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(b)
	if !strings.HasPrefix(want, "# ") {
		t.Error("a scenario begins with a header that says why the behaviour matters")
	}
	got, err := play(want)
	if err != nil {
		t.Fatal(err)
	}
	if got == want {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("differs from its expectation (-update rewrites it):\n%s", firstDifference(want, got))
}

// play runs a scenario and returns its text with what really happened under
// each line. Lines that begin with two blanks are expectations.
func play(text string) (string, error) {
	var out strings.Builder
	p := newPlayer()
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		results, err := p.line(line)
		if err != nil {
			return "", fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
		for _, r := range results {
			out.WriteString("  " + r + "\n")
		}
	}
	return out.String(), nil
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	around := func(lines []string) string {
		return strings.Join(lines[min(max(0, i-2), len(lines)):min(i+4, len(lines))], "\n")
	}
	return fmt.Sprintf("at line %d\n--- want\n%s\n--- got\n%s", i+1, around(w), around(g))
}
