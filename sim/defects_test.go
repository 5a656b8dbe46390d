//go:build !race

package sim

import (
	"errors"
	"testing"
)

// A check that cannot fail proves nothing: each of the defects is found, by the
// check of the guarantee that it breaks.
func TestDefectsAreFound(t *testing.T) {
	for _, d := range Defects() {
		t.Run(d.Name, func(t *testing.T) {
			s := simulator(t)
			first := uint64(0)
			for seed := uint64(1); seed <= 2000; seed++ {
				r := s.Run(seed, Options{Defect: d.Name})
				var v *Violation
				if !errors.As(r.Broken, &v) {
					continue
				}
				if first == 0 {
					first = seed
				}
				if v.Invariant == d.Check {
					t.Logf("breaks %q: first seen at seed %d, by its own check at seed %d, step %d: %s: %.90s", d.Breaks, first, seed, r.Steps, v.Invariant, v.What)
					return
				}
			}
			t.Errorf("no check of %s finds it in 2000 seeds: %s", d.Check, d.Breaks)
		})
	}
}

// Without a defect, the same seeds break nothing: TestSeeds. An unknown name is
// no defect.
func TestUnknownDefect(t *testing.T) {
	if r := simulator(t).Run(1, Options{Defect: "none of them"}); r.Broken != nil {
		t.Error(r.Broken)
	}
}
