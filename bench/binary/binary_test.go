// Package binary measures the program as it is shipped: its size, and how long
// it takes to start.
package binary_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/measure"
)

// release is how a release is built. Its objects are not those of an everyday
// build, so that the test below does without.
var release = []string{"-trimpath", "-ldflags=-s -w"}

func build(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "holdfast")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", out, "./cmd/holdfast")...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// version runs `holdfast version` and returns how long it took, from the start
// of the process to its end.
func version(t testing.TB, exe string) time.Duration {
	t.Helper()
	begun := time.Now()
	text, err := exec.Command(exe, "version").CombinedOutput()
	took := time.Since(begun)
	if err != nil || !strings.HasPrefix(string(text), "holdfast ") {
		t.Fatalf("holdfast version: %v\n%s", err, text)
	}
	return took
}

func TestVersionRuns(t *testing.T) {
	exe := build(t)
	version(t, exe)
	if inits := trace(t, exe); len(inits) == 0 {
		t.Error("the trace of the initialisation is empty")
	}
}

// BenchmarkVersion starts `holdfast version` 20 times an iteration, and says
// what the initialisation of its packages takes.
func BenchmarkVersion(b *testing.B) {
	exe := build(b, release...)
	info, err := os.Stat(exe)
	if err != nil {
		b.Fatal(err)
	}
	version(b, exe) // warm: the file is in memory
	var took []float64
	for b.Loop() {
		for range 20 {
			took = append(took, float64(version(b, exe).Microseconds())/1000)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(took), "ms/start")
	b.ReportMetric(slices.Max(took), "ms/slowest")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	all := trace(b, exe)
	var sum float64
	for _, p := range all {
		sum += p.ms
	}
	b.ReportMetric(sum, "ms/init")
	for _, p := range all[:min(5, len(all))] {
		b.Logf("init %.2f ms, %d bytes: %s", p.ms, p.bytes, p.name)
	}
}

type initialised struct {
	name  string
	ms    float64
	bytes int
}

// trace returns what each package's initialisation took, longest first.
func trace(t testing.TB, exe string) (out []initialised) {
	t.Helper()
	cmd := exec.Command(exe, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(&stderr); lines.Scan(); {
		// init NAME @0.1 ms, 0.05 ms clock, 1234 bytes, 12 allocs
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(f[4], 64)
		if err != nil {
			t.Fatal(fmt.Errorf("%q: %w", lines.Text(), err))
		}
		bytes, err := strconv.Atoi(f[7])
		if err != nil {
			t.Fatal(fmt.Errorf("%q: %w", lines.Text(), err))
		}
		out = append(out, initialised{f[1], ms, bytes})
	}
	slices.SortFunc(out, func(a, b initialised) int {
		if a.ms > b.ms {
			return -1
		}
		return 1
	})
	return out
}
