// Package sandbox measures what it takes to start a program under each
// confinement.
package sandbox

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// contestants run true(1), each in its way.
func contestants(t testing.TB) map[string]func() error {
	t.Helper()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]func() error{
		"bare": func() error { return exec.CommandContext(context.Background(), path).Run() },
	}
	for name, box := range map[string]*program.Sandbox{
		"tool":     nil,
		"landlock": {Require: program.Landlock},
		"bwrap":    {Require: program.Bubblewrap},
	} {
		run, err := program.New(program.Config{Dir: t.TempDir(), Programs: map[string]program.Entry{"main": {Argv: []string{path}}}, Sandbox: box})
		if err != nil {
			t.Fatal(err)
		}
		if held, err := run.(program.Confiner).Confinement("main"); err != nil {
			t.Logf("not measured: %v", err)
			continue
		} else {
			t.Logf("%s: %s", name, held)
		}
		all[name] = func() error {
			r, err := run.Run(context.Background(), tool.Call{Arguments: json.RawMessage(`{"program":"main"}`)})
			if err == nil && (r.Disposition != kernel.Landed || !strings.Contains(r.Text, `"exit_code":0`)) {
				t.Fatalf("%+v", r)
			}
			return err
		}
	}
	return all
}

func TestContestants(t *testing.T) {
	for name, start := range contestants(t) {
		if err := start(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkStart starts each once a round, in another order each time.
func BenchmarkStart(b *testing.B) {
	all := contestants(b)
	names := make([]string, 0, len(all))
	for name, start := range all {
		names = append(names, name)
		if err := start(); err != nil { // the tool looks at the machine once
			b.Fatal(err)
		}
	}
	took := map[string][]float64{}
	for b.Loop() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			begun := time.Now()
			if err := all[name](); err != nil {
				b.Fatal(err)
			}
			took[name] = append(took[name], float64(time.Since(begun).Microseconds())/1000)
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, values := range took {
		b.ReportMetric(measure.Median(values), name+"-ms")
	}
}
